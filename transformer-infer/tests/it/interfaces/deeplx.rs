//! The interface of DeepLX. The requests are those of deeplx-tr 0.1.0a1 and of bob-plugin-deeplx.

use serde_json::json;

use super::server::{KEY, TestServer, shared_server};

const PATH: &str = "/deeplx/translate";

#[test]
fn a_text_is_translated_with_alternatives() {
    let request = json!({ "text": "A dog.", "source_lang": "EN", "target_lang": "DE" });
    let reply = shared_server().post(PATH, &request).ok();
    assert_eq!(
        (&reply["code"], &reply["data"]),
        (&json!(200), &json!("A DOG."))
    );
    assert_eq!([&reply["source_lang"], &reply["target_lang"]], ["EN", "DE"]);
    let alternatives = reply["alternatives"].as_array().expect("there is a list");
    assert!((1..=3).contains(&alternatives.len()), "{reply}");
    assert!(reply["id"].as_u64().is_some_and(|id| id > 0) && reply["method"] == "Free");
}

#[test]
fn the_source_language_is_detected() {
    for source in ["", "auto"] {
        let text = "Where is the next railway station, please?";
        let request = json!({ "text": text, "source_lang": source, "target_lang": "de" });
        let reply = shared_server().post(PATH, &request).ok();
        assert_eq!(
            (&reply["source_lang"], &reply["data"]),
            (&json!("EN"), &json!(text.to_uppercase()))
        );
    }
}

#[test]
fn a_body_is_json_whatever_its_type() {
    let request = json!({ "text": "A dog.", "source_lang": "EN", "target_lang": "DE" }).to_string();
    for headers in [&[][..], &[("Content-Type", "text/plain")]] {
        let reply = shared_server().send("POST", PATH, headers, request.as_bytes());
        assert_eq!(reply.ok()["data"], "A DOG.");
    }
}

#[test]
fn a_token_is_no_key_of_the_other_interfaces() {
    let server = TestServer::with_key();
    let request = json!({ "q": "A dog.", "source": "en", "target": "de" });
    for path in ["/translate", "/language/translate/v2"] {
        assert_eq!(
            server
                .post(&format!("{path}?key={KEY}&api_key={KEY}"), &request)
                .status,
            200
        );
        assert_ne!(
            server.post(&format!("{path}?token={KEY}"), &request).status,
            200
        );
    }
}

#[test]
fn tags_stay() {
    for kind in ["html", "xml"] {
        let request = json!({
            "text": "A <b>dog</b>.", "source_lang": "EN", "target_lang": "DE", "tag_handling": kind,
        });
        assert_eq!(
            shared_server().post(PATH, &request).ok()["data"],
            "A <b>DOG</b>."
        );
    }
}

#[test]
fn refusals_have_deeplxs_form() {
    let cases = [
        json!({ "text": "a" }),
        json!({ "text": "a", "target_lang": "ZZ" }),
        json!({ "text": "a", "target_lang": "DE", "tag_handling": "pdf" }),
    ];
    for request in cases {
        let reply = shared_server().post(PATH, &request);
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (400, &json!(400)),
            "{request}"
        );
        assert!(reply.json()["message"].is_string(), "{request}");
    }
    let no_text = shared_server().post(PATH, &json!({ "text": "", "target_lang": "DE" }));
    assert_eq!(
        (no_text.status, &no_text.json()["code"]),
        (404, &json!(404))
    );
    let server = TestServer::with_key();
    let request = json!({ "text": "A dog.", "source_lang": "EN", "target_lang": "DE" });
    let refused = server.post(PATH, &request);
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (401, &json!(401))
    );
    assert_eq!(
        server.post(&format!("{PATH}?token=wrong"), &request).status,
        401
    );
    assert_eq!(
        server.post(&format!("{PATH}?token={KEY}"), &request).status,
        200
    );
}
