//! The interface of Microsoft's Translator, version 3. The requests are those of azure-ai-translation-text 1.0.1.

use serde_json::json;

use super::server::{KEY, TestServer, shared_server};

const TRANSLATE: &str = "/microsoft/translate?api-version=3.0";

#[test]
fn texts_are_translated_from_a_detected_language() {
    let texts = json!([{ "text": "How are you today?" }, { "text": "Two dogs & a cat." }]);
    for from in ["", "&from=", "&from=auto"] {
        let path = format!("{TRANSLATE}{from}&to=de");
        let reply = shared_server().post(&path, &texts).ok();
        assert_eq!(reply[0]["detectedLanguage"]["language"], "en");
        let score = reply[0]["detectedLanguage"]["score"].as_f64();
        assert!(score.is_some_and(|it| (0.0..=1.0).contains(&it)), "{reply}");
        let expected = json!([{ "text": "TWO DOGS & A CAT.", "to": "de" }]);
        assert_eq!(reply[1]["translations"], expected);
    }
}

#[test]
fn a_text_is_translated_into_several_languages() {
    let options = transformer_infer::serve::ServeOptions::default();
    let server = TestServer::of_pairs(&[("en", "de"), ("en", "fr"), ("de", "en")], options);
    let texts = json!([{ "Text": "A dog." }]);
    let path = format!("{TRANSLATE}&from=en&to=de&to=fr");
    let translations = json!([{ "text": "A DOG.", "to": "de" }, { "text": "A DOG.", "to": "fr" }]);
    let expected = json!([{ "translations": translations }]);
    assert_eq!(server.post(&path, &texts).ok(), expected);
    let no_pair = server.post(&format!("{TRANSLATE}&from=de&to=fr"), &texts);
    assert_eq!(no_pair.status, 400);
    assert_eq!(no_pair.json()["error"]["code"], 400_023);
}

#[test]
fn a_language_counts_once_and_all_count_for_the_limits() {
    let again = format!("{TRANSLATE}&from=en&to=de&to=de");
    let reply = shared_server().post(&again, &json!([{ "Text": "A dog." }]));
    assert_eq!(
        reply.ok()[0]["translations"].as_array().map(Vec::len),
        Some(1)
    );
    let targets: String = (0..1001).map(|n| format!("&to=en-{n:03}x")).collect();
    let path = format!("{TRANSLATE}&from=en{targets}");
    for texts in [json!([]), json!([{ "Text": "A dog." }])] {
        let reply = shared_server().post(&path, &texts);
        assert_eq!(reply.json()["error"]["code"], 400_072);
    }
    let long = json!([{ "Text": "a".repeat(60_000) }]);
    let reply = shared_server().post(&format!("{TRANSLATE}&from=en&to=de&to=en"), &long);
    assert_eq!(reply.json()["error"]["code"], 400_050);
}

#[test]
fn html_keeps_its_tags() {
    let path = format!("{TRANSLATE}&from=en&to=de&textType=html");
    let reply = shared_server().post(&path, &json!([{ "text": "<p>A <b>dog</b>.</p>" }]));
    assert_eq!(
        reply.ok()[0]["translations"][0]["text"],
        "<p>A <b>DOG</b>.</p>"
    );
}

#[test]
fn languages_are_listed_without_a_key() {
    let path = "/microsoft/languages?api-version=3.0&scope=translation";
    let german = json!({ "name": "German", "nativeName": "Deutsch", "dir": "ltr" });
    assert_eq!(
        TestServer::with_key().get(path).ok()["translation"]["de"],
        german
    );
}

#[test]
fn the_language_of_each_text_is_detected() {
    let texts = json!([{ "text": "Where is the next railway station, please?" }, { "text": "12" }]);
    let reply = shared_server()
        .post("/microsoft/detect?api-version=3.0", &texts)
        .ok();
    assert_eq!(reply[0]["language"], "en");
    assert_eq!(reply[0]["isTranslationSupported"], true);
    assert_eq!(reply[1]["isTranslationSupported"], false);
}

#[test]
fn refusals_have_microsofts_form_and_numbers() {
    let cases = [
        ("/microsoft/translate?to=de", 400_021),
        ("/microsoft/translate?api-version=3.0&from=en", 400_036),
        (
            "/microsoft/translate?api-version=3.0&from=en&to=zz",
            400_019,
        ),
        (
            "/microsoft/translate?api-version=3.0&to=de&textType=pdf",
            400_071,
        ),
    ];
    for (path, code) in cases {
        let reply = shared_server().post(path, &json!([{ "text": "A dog." }]));
        assert_eq!(reply.status, 400, "{path}");
        assert_eq!(reply.json()["error"]["code"], code, "{path}");
        assert!(reply.json()["error"]["message"].is_string());
    }
    let server = TestServer::with_key();
    let path = format!("{TRANSLATE}&from=en&to=de");
    let body = json!([{ "text": "A dog." }]);
    let reply = server.post(&path, &body);
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (401, &json!(401_000))
    );
    // Without the key, the body does not matter.
    assert_eq!(server.send("POST", &path, &[], b"{").status, 401);
    let headers = [
        ("Content-Type", "application/json"),
        ("Ocp-Apim-Subscription-Key", KEY),
    ];
    let reply = server.send("POST", &path, &headers, body.to_string().as_bytes());
    assert_eq!(reply.status, 200);
}
