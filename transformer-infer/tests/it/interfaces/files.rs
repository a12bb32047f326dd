//! Files, by both interfaces.

use serde_json::{Value, json};
use transformer_infer::serve::{Limits, ServeOptions};

use super::server::{Reply, TestServer, shared_server};

const FIELDS: [(&str, &str); 2] = [("source", "en"), ("target", "de")];

/// Translates a file by LibreTranslate's interface, and fetches it.
fn translated(name: &str, content: &str) -> Reply {
    let server = shared_server();
    let reply = server
        .post_file("/translate_file", &FIELDS, (name, content.as_bytes()))
        .ok();
    let url = reply["translatedFileUrl"].as_str().expect("it is a string");
    let path = url.strip_prefix(&format!("http://{}", server.address));
    server.get(path.expect("the address is that of the server"))
}

#[test]
fn files_of_all_kinds_are_translated_in_their_format() {
    let cases = [
        (
            "a.txt",
            "One dog.\n\nTwo <cats>.\n",
            "ONE DOG.\n\nTWO <CATS>.\n",
        ),
        ("a.html", "<p>a <b>c</b></p>", "<p>A <b>C</b></p>"),
        ("a.md", "# a\n\n- b *c*\n", "# A\n\n- B *C*\n"),
        (
            "a.srt",
            "1\n00:00:01,000 --> 00:00:02,000\na\n",
            "1\n00:00:01,000 --> 00:00:02,000\nA\n",
        ),
        ("a.JSON", "{\"key\": \"a\"}", "{\"key\": \"A\"}"),
        (
            "a.po",
            "msgid \"a\"\nmsgstr \"\"\n",
            "msgid \"a\"\nmsgstr \"A\"\n",
        ),
    ];
    for (name, content, expected) in cases {
        let reply = translated(name, content);
        assert_eq!(String::from_utf8_lossy(&reply.body), expected, "{name}");
    }
}

#[test]
fn translation_memories_are_filled_in_the_language_of_the_request() {
    let variant =
        |code: &str, text: &str| format!("<tuv xml:lang=\"{code}\"><seg>{text}</seg></tuv>");
    let memory = |variants: &[String]| {
        let variants = variants.concat();
        format!("<tmx><header srclang=\"en\"/><body><tu>{variants}</tu></body></tmx>")
    };
    let others = [variant("en", "a"), variant("fr", "b")];
    let reply = translated("a.tmx", &memory(&others));
    let [en, fr] = others;
    assert_eq!(
        String::from_utf8_lossy(&reply.body),
        memory(&[en, variant("de", "A"), fr])
    );
}

#[test]
fn files_with_translations_beside_their_sources_are_refused_through_a_third_language() {
    let options = ServeOptions {
        pivot: Some("en".parse().expect("it is a code")),
        ..ServeOptions::default()
    };
    let server = TestServer::of_pairs(&[("de", "en"), ("en", "fr")], options);
    let fields = [("source", "de"), ("target", "fr")];
    let expected = "the file has translations beside their sources, and cannot be translated through a third language; \
                    choose a model for its languages";
    for (name, content) in [
        ("a.po", "msgid \"a\"\nmsgstr \"\"\n"),
        (
            "a.xlf",
            "<xliff><trans-unit><source>a</source></trans-unit></xliff>",
        ),
        (
            "a.ts",
            "<TS><message><source>a</source><translation/></message></TS>",
        ),
        (
            "a.tmx",
            "<tmx><header srclang=\"de\"/><tu><tuv xml:lang=\"de\"><seg>a</seg></tuv></tu></tmx>",
        ),
    ] {
        let reply = server.post_file("/translate_file", &fields, (name, content.as_bytes()));
        assert_eq!(reply.status, 400, "{name}");
        assert_eq!(reply.json()["error"], expected, "{name}");
    }
    let resources = "<root><data><value>a</value></data></root>";
    let file = ("a.resx", resources.as_bytes());
    server.post_file("/translate_file", &fields, file).ok();
}

#[test]
fn a_translated_file_is_saved_and_not_shown() {
    let reply = translated("../a 'b'.html", "<script>alert(1)</script>");
    assert_eq!(reply.headers["content-type"], "application/octet-stream");
    assert_eq!(
        reply.headers["content-disposition"],
        "attachment; filename=\"a__b__de.html\""
    );
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
}

#[test]
fn wrong_uploads_are_refused() {
    let server = shared_server();
    let error = |fields: &[(&str, &str)], name: &str, content: &[u8]| {
        let reply = server.post_file("/translate_file", fields, (name, content));
        assert_eq!(reply.status, 400, "{name}: {reply:?}");
        reply.json()["error"].to_string()
    };
    assert!(error(&FIELDS, "a.pdf", b"a").contains("file format not supported"));
    assert!(error(&FIELDS, "a", b"a").contains("file format not supported"));
    assert!(error(&FIELDS, "a.txt", b"a\xff").contains("UTF-8"));
    assert!(error(&FIELDS, "a.json", b"{\"a\": ").contains("the file, line 1"));
    assert!(error(&FIELDS[..1], "a.txt", b"a").contains("missing target parameter"));
    let unknown = [("source", "en"), ("target", "zz")];
    assert!(error(&unknown, "a.txt", b"a").contains("zz is not supported"));
    let reply = server.post_form("/translate_file", "source=en&target=de");
    assert_eq!(
        reply.json(),
        json!({ "error": "Invalid request: missing file parameter" })
    );
}

#[test]
fn the_language_of_a_file_is_detected() {
    let fields = [("source", "auto"), ("target", "de")];
    let file = ("a.txt", "Where is the next station, please?".as_bytes());
    let reply = shared_server()
        .post_file("/translate_file", &fields, file)
        .ok();
    assert!(reply["translatedFileUrl"].is_string(), "{reply}");
}

#[test]
fn the_language_of_a_file_is_that_of_its_texts() {
    let server = TestServer::of_pairs(&[("de", "en"), ("en", "de")], ServeOptions::default());
    let english = "The colors of the page and of all of its parts. ".repeat(100);
    let utf_16 = |text: String| text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let files = |text: &str| -> [(&str, Vec<u8>); 4] {
        let page = format!("<style>/* {english} */</style><p>{text}</p>");
        let table = format!("note,name\n{english},\"{text}\"\n");
        [
            ("a.html", page.into()),
            ("a.csv", table.into()),
            ("a.json", format!("{{\"{english}\": \"{text}\"}}").into()),
            ("a.txt", utf_16(format!("\u{feff}{text}"))),
        ]
    };
    let fields = [("source", "auto"), ("target", "en"), ("columns", "name")];
    let text = "Wo ist denn hier der nächste Bahnhof, bitte?";
    let expected = files(&text.to_uppercase());
    for ((name, content), (_, expected)) in files(text).into_iter().zip(expected) {
        let file = (name, content.as_slice());
        let reply = server.post_file("/translate_file", &fields, file).ok();
        let url = reply["translatedFileUrl"].as_str().unwrap_or_default();
        let path = url.strip_prefix(&format!("http://{}", server.address));
        let translated = server.get(path.expect("the address is that of the server"));
        assert_eq!(translated.body, expected, "{name}");
    }
}

#[test]
fn a_file_without_text_to_translate_needs_no_language() {
    let server = TestServer::of_pairs(&[("de", "en"), ("en", "de")], ServeOptions::default());
    let catalog = b"msgid \"A dog\"\nmsgstr \"Ein Hund\"\n";
    let fields = [("source", "auto"), ("target", "de")];
    let reply = server.post_file("/translate_file", &fields, ("a.po", catalog));
    let url = reply.ok()["translatedFileUrl"].to_string();
    let path = url.trim_matches('"').split_once("/download_file");
    let path = path.expect("it is an address").1;
    assert_eq!(server.get(&format!("/download_file{path}")).body, catalog);
}

#[test]
fn columns_of_tables_are_translated() {
    let server = shared_server();
    let file: (&str, &[u8]) = ("a.csv", b"id,name,note\n1,dog,\"a, b\"\n");
    let fields = [("source", "en"), ("target", "de"), ("columns", "name,3")];
    let reply = server.post_file("/translate_file", &fields, file).ok();
    let url = reply["translatedFileUrl"].to_string();
    let path = url.trim_matches('"').split_once("/download_file");
    let path = path.expect("it is an address").1;
    let body = server.get(&format!("/download_file{path}")).body;
    assert_eq!(
        String::from_utf8_lossy(&body),
        "id,name,note\n1,DOG,\"A, B\"\n"
    );
    let reply = server.post_file("/translate_file", &FIELDS, file);
    assert_eq!(reply.status, 400);
    let error = reply.json()["error"].to_string();
    assert!(error.contains("columns"), "{error}");
}

#[test]
fn the_folder_of_a_proxy_is_in_the_address_of_a_file() {
    let body = "--b\r\nContent-Disposition: form-data; name=source\r\n\r\nen\r\n--b\r\nContent-Disposition: form-data; \
        name=target\r\n\r\nde\r\n--b\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\na\r\n--b--\r\n";
    let headers = [
        ("Content-Type", "multipart/form-data; boundary=b"),
        ("X-Forwarded-Prefix", "/apps/translate/"),
    ];
    let reply = shared_server().send("POST", "/translate_file", &headers, body.as_bytes());
    let url = reply.ok()["translatedFileUrl"].to_string();
    assert!(url.contains("/apps/translate/download_file/"), "{url}");
}

/// As the `MultipartFormDataContent` of .NET writes the name `über.html`.
#[test]
fn a_file_may_have_an_encoded_name() {
    let path = "/translate_file?source=en&target=de";
    let headers = [("Content-Type", "multipart/form-data; boundary=b")];
    for name in [
        "filename=\"=?utf-8?B?w7xiZXIuaHRtbA==?=\"; filename*=utf-8''%C3%BCber.html",
        "filename*=UTF-8''%C3%BCber.html",
    ] {
        let head = format!("Content-Disposition: form-data; name=file; {name}");
        let body = format!("--b\r\n{head}\r\n\r\n<p>a</p>\r\n--b--\r\n");
        let reply = shared_server().send("POST", path, &headers, body.as_bytes());
        let url = reply.ok()["translatedFileUrl"].to_string();
        assert!(url.contains("._ber_de.html"), "{url}");
    }
}

#[test]
fn a_document_in_the_target_language_fails() {
    let server = shared_server();
    let fields = [("source_lang", "DE"), ("target_lang", "DE")];
    let handle = server
        .post_file("/v2/document", &fields, ("a.txt", b"ein hund"))
        .ok();
    let status = final_status(server, &handle);
    assert_eq!(
        status["error_message"],
        "Source and target language are equal."
    );
}

#[test]
fn a_file_has_no_more_characters_than_a_text() {
    let server = TestServer::start_with(ServeOptions {
        limits: Limits {
            max_chars: 5,
            ..Limits::default()
        },
        ..ServeOptions::default()
    });
    let status = |file: &[u8]| {
        let reply = server.post_file("/translate_file", &FIELDS, ("a.txt", file));
        reply.status
    };
    assert_eq!(status(b"abcdef"), 400);
    assert_eq!(status(b"\xff\xfea\0b\0c\0"), 200);
}

#[test]
fn files_that_nobody_stored_are_not_found() {
    for path in [
        "/download_file/a.txt",
        "/download_file/..%2F..%2Fetc%2Fpasswd",
        "/download_file/..",
        "/download_file/%FF",
    ] {
        let reply = shared_server().get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.json(), json!({ "error": "not found" }), "{path}");
    }
}

#[test]
fn the_replies_about_a_file_count_its_doubtful_translations() {
    // The model writes large letters, which are not those of Russian.
    let server = TestServer::of_pairs(&[("en", "ru")], ServeOptions::default());
    let header = |reply: &Reply| reply.headers.get("x-doubtful-translations").cloned();
    let file: (&str, &[u8]) = ("a.txt", b"white dogs\n\n12 %\n\nred cats\n");
    let fields = [("source", "en"), ("target", "ru")];
    let reply = server.post_file("/translate_file", &fields, file);
    assert_eq!(header(&reply).as_deref(), Some("2; script"));
    let url = reply.ok()["translatedFileUrl"].to_string();
    let path = url.trim_matches('"').split_once("download_file");
    let path = path.expect("it is an address").1;
    let reply = server.get(&format!("/download_file{path}"));
    assert_eq!(reply.body, b"WHITE DOGS\n\n12 %\n\nRED CATS\n");
    assert_eq!(header(&reply).as_deref(), Some("2; script"));

    let fields = [("source_lang", "EN"), ("target_lang", "RU")];
    let handle = server.post_file("/v2/document", &fields, file).ok();
    final_status(&server, &handle);
    let id = handle["document_id"].as_str().expect("it is a string");
    let key = json!({ "document_key": handle["document_key"] });
    for path in ["", "/result"] {
        let reply = server.post(&format!("/v2/document/{id}{path}"), &key);
        assert_eq!(header(&reply).as_deref(), Some("2; script"), "{path}");
    }
}

/// Uploads a document by DeepL's interface, and waits until it is translated or refused.
fn document(server: &TestServer, name: &str, content: &[u8]) -> (Value, Value) {
    let fields = [("source_lang", "EN"), ("target_lang", "DE")];
    let handle = server
        .post_file("/v2/document", &fields, (name, content))
        .ok();
    let status = final_status(server, &handle);
    (handle, status)
}

/// Waits until a document is translated or refused.
fn final_status(server: &TestServer, handle: &Value) -> Value {
    let path = format!(
        "/v2/document/{}",
        handle["document_id"].as_str().expect("it is a string")
    );
    loop {
        let status = server
            .post(&path, &json!({ "document_key": handle["document_key"] }))
            .ok();
        if status["status"] != "translating" {
            return status;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_document_is_uploaded_asked_for_and_fetched() {
    let server = shared_server();
    let (handle, status) = document(server, "a.html", b"<p>a <b>c</b></p>");
    assert_eq!(status["status"], "done");
    assert_eq!(status["billed_characters"], 17);
    let id = handle["document_id"].as_str().expect("it is a string");
    let key = json!({ "document_key": handle["document_key"] });
    let reply = server.post(&format!("/v2/document/{id}/result"), &key);
    assert_eq!(reply.body, b"<p>A <b>C</b></p>");
}

#[test]
fn every_document_that_is_accepted_is_translated_however_much_waits() {
    let server = TestServer::start_with(ServeOptions {
        limits: Limits {
            max_queue_tokens: 50,
            ..Limits::default()
        },
        ..ServeOptions::default()
    });
    let fields = [("source_lang", "EN"), ("target_lang", "DE")];
    let content = "a dog is here.\n".repeat(40);
    let upload = |_| {
        let file = ("a.txt", content.as_bytes());
        server.post_file("/v2/document", &fields, file).ok()
    };
    let handles: Vec<Value> = (0..16).map(upload).collect();
    for handle in &handles {
        assert_eq!(final_status(&server, handle)["status"], "done");
    }
}

#[test]
fn a_document_has_the_name_of_its_field() {
    let server = shared_server();
    for name in ["", "a.txt"] {
        let fields = [
            ("target_lang", "DE"),
            ("source_lang", "EN"),
            ("filename", "b.html"),
        ];
        let file = (name, &b"<p>a <b>c</b></p>"[..]);
        let handle = server.post_file("/v2/document", &fields, file).ok();
        assert_eq!(final_status(server, &handle)["status"], "done");
        let id = handle["document_id"].as_str().expect("it is a string");
        let key = json!({ "document_key": handle["document_key"] });
        let reply = server.post(&format!("/v2/document/{id}/result"), &key);
        assert_eq!(reply.body, b"<p>A <b>C</b></p>");
        let disposition = &reply.headers["content-disposition"];
        assert_eq!(disposition, "attachment; filename=\"b_de.html\"");
    }
}

#[test]
fn a_document_that_cannot_be_translated_says_why() {
    let (_, status) = document(shared_server(), "a.json", b"{\"a\": ");
    assert_eq!(status["status"], "error");
    let message = status["error_message"].to_string();
    assert!(message.contains("the file, line 1"), "{message}");
}

#[test]
fn a_document_needs_its_key() {
    let server = shared_server();
    let (handle, _) = document(server, "a.txt", b"a");
    let path = format!(
        "/v2/document/{}",
        handle["document_id"].as_str().expect("it is a string")
    );
    assert_eq!(server.post(&path, &json!({})).status, 404);
    assert_eq!(
        server
            .post(&path, &json!({ "document_key": "wrong" }))
            .status,
        404
    );
}

#[test]
fn a_document_keeps_its_format() {
    let fields = [("target_lang", "DE"), ("output_format", "pdf")];
    let reply = shared_server().post_file("/v2/document", &fields, ("a.txt", b"a dog is here"));
    assert_eq!(reply.status, 400);
    assert!(
        reply.json()["message"]
            .to_string()
            .contains("output_format"),
        "{reply:?}"
    );
}
