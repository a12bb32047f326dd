//! Requests that are not UTF-8.

use serde_json::json;

use super::server::{Reply, shared_server};

/// Sends a form in a character encoding.
fn form_in(charset: &str, body: &str) -> Reply {
    let kind = format!("application/x-www-form-urlencoded; charset={charset}");
    let headers = [("Content-Type", kind.as_str())];
    shared_server().send("POST", "/translate", &headers, body.as_bytes())
}

#[test]
fn a_form_in_another_encoding_is_refused_unless_it_is_ascii() {
    for charset in ["utf-8", "\"UTF-8\""] {
        let reply = form_in(charset, "q=%C3%A4&source=en&target=de").ok();
        assert_eq!(reply["translatedText"], "Ä");
    }
    for charset in ["ISO-8859-1", "Shift_JIS", "\"\""] {
        let reply = form_in(charset, "q=a&source=en&target=de").ok();
        assert_eq!(reply["translatedText"], "A", "{charset}");
    }
    for (charset, body) in [
        ("ISO-8859-1", "q=%E4&source=en&target=de"),
        ("ISO-8859-1", "q=%C3%A4&source=en&target=de"),
        ("utf-16", "q=a&source=en&target=de"),
        ("UTF-7", "q=%2BAOQ-&source=en&target=de"),
    ] {
        let reply = form_in(charset, body);
        let error = reply.json()["error"].to_string();
        assert_eq!(reply.status, 400, "{error}");
        let charset = charset.to_ascii_lowercase();
        assert!(
            error.contains(&format!("text in `{charset}`, expected UTF-8")),
            "{error}"
        );
    }
}

#[test]
fn parameters_that_are_not_utf_8_are_refused() {
    let server = shared_server();
    let not_utf_8 =
        json!({ "error": "the request has text that is not UTF-8; encode it as UTF-8" });
    let form = server.post_form("/translate", "q=%E4&source=en&target=de");
    assert_eq!((form.status, form.json()), (400, not_utf_8.clone()));
    let address = server.post_form("/translate?q=%E4&source=en&target=de", "");
    assert_eq!((address.status, address.json()), (400, not_utf_8.clone()));
    let part = |head: &str, text: &[u8]| {
        let start = format!("--b\r\nContent-Disposition: form-data; name=\"q\"{head}\r\n\r\n");
        let body = [start.as_bytes(), text, b"\r\n--b--\r\n"].concat();
        let headers = [("Content-Type", "multipart/form-data; boundary=b")];
        server.send("POST", "/translate?source=en&target=de", &headers, &body)
    };
    assert_eq!(part("", "ä".as_bytes()).ok()["translatedText"], "Ä");
    assert_eq!(part("", b"\xe4").json(), not_utf_8);
    let with_mark = part("", "\u{feff}ä".as_bytes()).ok();
    assert_eq!(with_mark["translatedText"], "Ä");
    for file in ["", "; filename=\"a.txt\""] {
        let head = format!("{file}\r\nContent-Type: text/plain; charset=windows-1252");
        let error = part(&head, b"\xe4").json()["error"].to_string();
        assert!(
            error.contains("text in `windows-1252`, expected UTF-8"),
            "{error}"
        );
    }
}
