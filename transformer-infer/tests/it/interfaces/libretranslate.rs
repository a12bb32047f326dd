//! LibreTranslate's interface.

use serde_json::json;
use transformer_infer::serve::{Limits, ServeOptions};

use super::server::{KEY, TestServer, shared_server};

#[test]
fn a_text_is_translated_to_a_text() {
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": "A dog.", "source": "en", "target": "de",
        }),
    );
    assert_eq!(reply.ok(), json!({ "translatedText": "A DOG." }));
}

#[test]
fn an_array_is_translated_to_an_array() {
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": ["A dog.", "Two cats. Three mice."], "source": "en", "target": "de",
        }),
    );
    assert_eq!(
        reply.ok(),
        json!({ "translatedText": ["A DOG.", "TWO CATS. THREE MICE."] })
    );
}

#[test]
fn line_ends_and_spaces_between_sentences_stay() {
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": "  One.  Two.\n\n three\t", "source": "en", "target": "de",
        }),
    );
    assert_eq!(reply.ok()["translatedText"], "  ONE.  TWO.\n\n THREE\t");
}

#[test]
fn a_form_means_what_json_means() {
    let form = "q=A+dog+%26+a+caf%C3%A9%0D%0Atwo&source=en&target=de&format=text&api_key=";
    let reply = shared_server().post_form("/translate", form);
    assert_eq!(reply.ok()["translatedText"], "A DOG & A CAFÉ\nTWO");
}

/// As Flask's `request.values`, by which LibreTranslate 1.9.6 reads forms.
#[test]
fn of_a_repeated_field_the_first_counts_and_the_address_before_the_form() {
    let form = "q=A+dog.&q=A+cat.&source=en&source=zz&target=de&alternatives=0&alternatives=x";
    let reply = shared_server().post_form("/translate", form);
    assert_eq!(reply.ok(), json!({ "translatedText": "A DOG." }));
    let reply = shared_server().post_form("/translate?q=A+cow.&q=A+pig.", form);
    assert_eq!(reply.ok(), json!({ "translatedText": "A COW." }));
    let reply = shared_server().post_form("/translate", "q%5B%5D=A+dog.&source=en&target=de");
    let error = &reply.json()["error"];
    assert_eq!(error, "Invalid request: missing q parameter");
}

#[test]
fn a_query_string_means_what_json_means() {
    let path = "/translate?q=A+dog+%26+a+caf%C3%A9&source=en&target=de";
    let reply = shared_server().send("POST", path, &[], b"");
    assert_eq!(reply.ok()["translatedText"], "A DOG & A CAFÉ");
}

#[test]
fn a_multipart_form_means_what_json_means() {
    let body = "--b\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nA dog\r\n--b\r\nContent-Disposition: \
                form-data; name=\"source\"\r\n\r\nen\r\n--b\r\nContent-Disposition: form-data; \
                name=\"target\"\r\n\r\nde\r\n--b--\r\n";
    let headers = [("Content-Type", "multipart/form-data; boundary=b")];
    let reply = shared_server().send("POST", "/translate", &headers, body.as_bytes());
    assert_eq!(reply.ok()["translatedText"], "A DOG");
}

#[test]
fn html_keeps_its_tags_and_what_is_not_to_be_translated() {
    let html =
        "<p>See <span translate=\"no\">:cat:</span> <a href=\"/a?b\">there</a> &amp; here.</p>";
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": html, "source": "en", "target": "de", "format": "html",
        }),
    );
    let expected =
        "<p>SEE <span translate=\"no\">:cat:</span> <a href=\"/a?b\">THERE</a> &amp; HERE.</p>";
    assert_eq!(reply.ok()["translatedText"], expected);
}

#[test]
fn with_source_auto_the_language_is_told() {
    for (source, target) in [("auto", "de"), ("AUTO", "DE")] {
        let request =
            json!({ "q": "Where is the next station?", "source": source, "target": target });
        let reply = shared_server().post("/translate", &request).ok();
        assert_eq!(reply["translatedText"], "WHERE IS THE NEXT STATION?");
        assert_eq!(reply["detectedLanguage"]["language"], "en");
        let confidence = reply["detectedLanguage"]["confidence"].as_f64();
        assert!(
            confidence.is_some_and(|it| (50.0..=100.0).contains(&it)),
            "{reply}"
        );
    }
}

#[test]
fn of_an_array_the_language_of_each_text_is_told() {
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": ["Where is the next station?", "123"], "source": "auto", "target": "de",
        }),
    );
    let languages = reply.ok()["detectedLanguage"].clone();
    assert_eq!(languages[0]["language"], "en");
    assert_eq!(languages.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_text_in_the_target_language_comes_back() {
    let text = "Wo ist denn hier der nächste Bahnhof, bitte?";
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": text, "source": "auto", "target": "de",
        }),
    );
    assert_eq!(reply.ok()["translatedText"], text);
    let reply = shared_server().post(
        "/translate",
        &json!({ "q": text, "source": "de", "target": "de" }),
    );
    assert_eq!(reply.ok(), json!({ "translatedText": text }));
}

#[test]
fn a_text_without_letters_comes_back() {
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": "😀 12", "source": "auto", "target": "de",
        }),
    );
    let expected = json!({ "confidence": 0.0, "language": "en" });
    assert_eq!(
        reply.ok(),
        json!({ "translatedText": "😀 12", "detectedLanguage": expected })
    );
}

#[test]
fn alternatives_are_different_from_the_translation() {
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": "A dog.", "source": "en", "target": "de", "alternatives": 3,
        }),
    );
    let reply = reply.ok();
    assert_eq!(reply["translatedText"], "A DOG.");
    let alternatives = reply["alternatives"].as_array().expect("it is an array");
    assert!((1..=3).contains(&alternatives.len()), "{reply}");
    assert!(
        alternatives.iter().all(|it| *it != reply["translatedText"]),
        "{reply}"
    );
}

/// As LibreTranslate 1.9.6 does: `max(0, int(num_alternatives))`.
#[test]
fn a_negative_number_of_alternatives_is_none() {
    let expected = json!({ "translatedText": "A DOG." });
    let request = json!({ "q": "A dog.", "source": "en", "target": "de", "alternatives": -1 });
    assert_eq!(shared_server().post("/translate", &request).ok(), expected);
    let form = "q=A+dog.&source=en&target=de&alternatives=-1";
    assert_eq!(shared_server().post_form("/translate", form).ok(), expected);
}

#[test]
fn html_has_no_alternatives() {
    let reply = shared_server().post(
        "/translate",
        &json!({
            "q": ["<b>a</b>"], "source": "en", "target": "de", "format": "html", "alternatives": 2,
        }),
    );
    assert_eq!(
        reply.ok(),
        json!({ "translatedText": ["<b>A</b>"], "alternatives": [[]] })
    );
}

/// The texts for which clients look.
#[test]
fn wrong_requests_are_refused_in_the_words_of_libretranslate() {
    let cases = [
        (
            json!({ "source": "en", "target": "de" }),
            "Invalid request: missing q parameter",
        ),
        (
            json!({ "q": "", "source": "en", "target": "de" }),
            "Invalid request: missing q parameter",
        ),
        (
            json!({ "q": [], "source": "en", "target": "de" }),
            "Invalid request: missing q parameter",
        ),
        (
            json!({ "q": "a", "target": "de" }),
            "Invalid request: missing source parameter",
        ),
        (
            json!({ "q": "a", "source": "en" }),
            "Invalid request: missing target parameter",
        ),
        (
            json!({ "q": "a", "source": "en", "target": "zz" }),
            "zz is not supported",
        ),
        (
            json!({ "q": "a", "source": "zz", "target": "de" }),
            "zz is not supported",
        ),
        (
            json!({ "q": "a", "source": "en", "target": "de", "format": "pdf" }),
            "pdf format is not supported",
        ),
    ];
    for (request, expected) in cases {
        let reply = shared_server().post("/translate", &request);
        assert_eq!(reply.status, 400, "{request}");
        assert_eq!(reply.json(), json!({ "error": expected }), "{request}");
    }
}

#[test]
fn what_is_no_object_of_json_is_refused() {
    let headers = [("Content-Type", "application/json")];
    for body in ["[]", "{", "1", "\u{0}"] {
        let reply = shared_server().send("POST", "/translate", &headers, body.as_bytes());
        assert_eq!(reply.status, 400, "{body}");
        let error = reply.json()["error"].to_string();
        assert!(error.contains("Invalid JSON format"), "{body}: {error}");
    }
}

#[test]
fn values_of_other_types_are_refused() {
    for q in [json!(1), json!({ "a": "b" }), json!(["a", 1]), json!(true)] {
        let request = json!({ "q": q, "source": "en", "target": "de" });
        assert_eq!(
            shared_server().post("/translate", &request).status,
            400,
            "{request}"
        );
    }
}

#[test]
fn too_many_characters_are_refused_in_the_words_of_libretranslate() {
    let server = TestServer::start_with(ServeOptions {
        limits: Limits {
            max_chars: 5,
            ..Limits::default()
        },
        ..ServeOptions::default()
    });
    let reply = server.post(
        "/translate",
        &json!({ "q": "ÄÖÜäöü", "source": "en", "target": "de" }),
    );
    assert_eq!(reply.status, 400);
    let expected = "Invalid request: request (6) exceeds text limit (5)";
    assert_eq!(reply.json(), json!({ "error": expected }));
}

#[test]
fn the_interfaces_are_described_for_programs_and_for_people() {
    let server = shared_server();
    let mut described = server.get("/openapi.json").ok();
    assert_eq!(described["info"]["title"], "transformer-infer serve");
    // Dialect looks for this title.
    described["info"]["title"] = "LibreTranslate".into();
    assert_eq!(server.get("/spec").ok(), described);
    for (path, method) in [
        ("/translate", "post"),
        ("/v1/translate", "post"),
        ("/v3/glossaries/{id}", "patch"),
        ("/microsoft/translate", "post"),
    ] {
        for status in ["200", "403", "413", "429", "503"] {
            let reply = &described["paths"][path][method]["responses"][status];
            assert!(
                reply["description"].is_string(),
                "{method} {path}: {status}"
            );
        }
    }
    let page = server.get("/docs");
    assert_eq!(page.status, 200);
    assert!(page.headers["content-security-policy"].contains("script-src 'self'"));
}

#[test]
fn wrong_methods_are_405() {
    let server = shared_server();
    for path in ["/translate", "/detect", "/translate_file", "/suggest"] {
        let refused = server.get(path);
        assert_eq!(refused.status, 405, "{path}");
        assert_eq!(
            refused.headers.get("allow").map(String::as_str),
            Some("POST")
        );
    }
    for path in ["/languages", "/frontend/settings", "/health"] {
        assert_eq!(server.post(path, &json!({})).status, 405, "{path}");
    }
}

#[test]
fn languages_have_codes_names_and_targets() {
    let expected = json!([
        { "code": "de", "name": "German", "targets": ["de"] },
        { "code": "en", "name": "English", "targets": ["de", "en"] },
    ]);
    assert_eq!(shared_server().get("/languages").ok(), expected);
}

#[test]
fn languages_are_found_by_the_aliases_of_libretranslate() {
    let pairs = [("en", "zh-Hans"), ("en", "pt-BR")];
    let server = TestServer::of_pairs(&pairs, ServeOptions::default());
    for target in ["zh", "zh-Hans", "pb", "pt-BR", "pt"] {
        let reply = server.post(
            "/translate",
            &json!({ "q": "a", "source": "en", "target": target }),
        );
        assert_eq!(reply.ok()["translatedText"], "A", "{target}");
    }
}

#[test]
fn a_pair_without_a_model_is_refused() {
    let pairs = [("en", "de"), ("fr", "es")];
    let server = TestServer::of_pairs(&pairs, ServeOptions::default());
    let reply = server.post(
        "/translate",
        &json!({ "q": "a", "source": "en", "target": "es" }),
    );
    assert_eq!(reply.status, 400);
    let error = reply.json()["error"].to_string();
    assert!(
        error.contains("is not available as a target language"),
        "{error}"
    );
}

#[test]
fn a_language_is_detected() {
    let server = shared_server();
    for (text, expected) in [
        ("Where is the next station, please?", "en"),
        ("Wo ist denn hier der nächste Bahnhof, bitte?", "de"),
    ] {
        let found = server.post("/detect", &json!({ "q": text })).ok();
        assert_eq!(found[0]["language"], expected, "{text}");
        assert!(found[0]["confidence"].is_number(), "{found}");
    }
}

#[test]
fn a_language_is_not_detected_in_nothing() {
    let reply = shared_server().post_form("/detect", "q=");
    assert_eq!(reply.status, 400);
    assert_eq!(
        reply.json(),
        json!({ "error": "Invalid request: missing q parameter" })
    );
}

#[test]
fn settings_say_what_there_is() {
    let settings = shared_server().get("/frontend/settings").ok();
    for key in ["apiKeys", "keyRequired", "suggestions"] {
        assert_eq!(settings[key], false, "{key}");
    }
    assert_eq!(settings["charLimit"], Limits::default().max_chars);
    assert_eq!(settings["filesTranslation"], true);
    let formats = settings["supportedFilesFormat"]
        .as_array()
        .expect("it is an array");
    assert!(
        formats.contains(&json!(".html")) && formats.contains(&json!(".srt")),
        "{settings}"
    );
    assert_eq!(settings["language"]["source"]["code"], "auto");
    assert_eq!(
        settings["language"]["target"],
        json!({ "code": "de", "name": "German" })
    );
}

#[test]
fn suggestions_are_refused() {
    let reply = shared_server().post(
        "/suggest",
        &json!({ "q": "a", "s": "b", "source": "en", "target": "de" }),
    );
    assert_eq!(reply.status, 403);
    assert_eq!(
        reply.json(),
        json!({ "error": "Suggestions are disabled on this server." })
    );
}

#[test]
fn keys_are_checked_as_libretranslate_does() {
    let server = TestServer::with_key();
    let request = |key| json!({ "q": "a", "source": "en", "target": "de", "api_key": key });
    assert_eq!(
        server.post("/translate", &request(KEY)).ok()["translatedText"],
        "A"
    );
    let wrong = server.post("/translate", &request("wrong"));
    assert_eq!(
        (wrong.status, wrong.json()),
        (403, json!({ "error": "Invalid API key" }))
    );
    let missing = server.post("/translate", &request(""));
    assert_eq!(missing.status, 400);
    assert!(
        missing.json()["error"].to_string().contains("API key"),
        "{missing:?}"
    );
    assert_eq!(
        server.get("/languages").status,
        200,
        "languages need no key"
    );
    assert_eq!(server.get("/frontend/settings").ok()["keyRequired"], true);
    assert_eq!(server.post("/detect", &json!({ "q": "a" })).status, 400);
}
