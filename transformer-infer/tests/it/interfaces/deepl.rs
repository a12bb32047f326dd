//! DeepL's interface.

use serde_json::{Value, json};
use transformer_infer::serve::{Limits, ServeOptions};

use super::server::{KEY, TestServer, shared_server};

fn translated(request: &Value) -> Vec<Value> {
    let reply = shared_server().post("/v2/translate", request).ok();
    let translations = reply["translations"].as_array().expect("it is an array");
    translations.iter().map(|it| it["text"].clone()).collect()
}

#[test]
fn texts_have_translations_languages_and_characters() {
    let request =
        json!({ "text": ["A dög.", "Two cats."], "target_lang": "DE", "source_lang": "EN" });
    let expected = json!({ "translations": [
        { "detected_source_language": "EN", "text": "A DÖG.", "billed_characters": 6 },
        { "detected_source_language": "EN", "text": "TWO CATS.", "billed_characters": 9 },
    ] });
    assert_eq!(
        shared_server().post("/v2/translate", &request).ok(),
        expected
    );
}

#[test]
fn a_form_repeats_the_name_of_the_texts() {
    let form = "text=A+dog.&text=Two+cats.&target_lang=de&show_billed_characters=1";
    let reply = shared_server().post_form("/v2/translate", form).ok();
    let texts: Vec<&Value> = reply["translations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| &it["text"])
        .collect();
    assert_eq!(texts, ["A DOG.", "TWO CATS."]);
}

#[test]
fn a_form_keeps_its_line_ends() {
    let form = "text=A+dog.%0D%0ATwo+cats.&target_lang=DE&source_lang=EN";
    let reply = shared_server().post_form("/v2/translate", form).ok();
    let text = &reply["translations"][0]["text"];
    assert_eq!(text, "A DOG.\r\nTWO CATS.");
}

#[test]
fn an_address_may_have_all_parameters() {
    let path = "/v2/translate?auth_key=any&source_lang=EN&target_lang=DE&text=A+dog.";
    let reply = shared_server().send("POST", path, &[], b"").ok();
    assert_eq!(reply["translations"][0]["text"], "A DOG.");
}

#[test]
fn a_region_of_the_target_selects_the_language() {
    let server = TestServer::of_pairs(&[("de", "en")], ServeOptions::default());
    for target in ["EN-US", "EN-GB", "EN", "en"] {
        let request = json!({ "text": ["ein hund"], "target_lang": target, "source_lang": "DE" });
        let reply = server.post("/v2/translate", &request).ok();
        assert_eq!(reply["translations"][0]["text"], "EIN HUND", "{target}");
    }
}

#[test]
fn the_source_language_is_detected() {
    let request = json!({ "text": ["Where is the next station?"], "target_lang": "DE" });
    let reply = shared_server().post("/v2/translate", &request).ok();
    assert_eq!(reply["translations"][0]["detected_source_language"], "EN");
}

#[test]
fn tags_of_html_stay() {
    let request = json!({
        "text": ["<p>a <i>b</i><br>c</p>"], "target_lang": "DE", "source_lang": "EN", "tag_handling": "html",
    });
    assert_eq!(translated(&request), ["<p>A <i>B</i><br>C</p>"]);
}

#[test]
fn tags_of_xml_stay_and_ignored_elements_are_copied() {
    let request = json!({
        "text": ["a <i>b</i> <x>c</x> &lt; <y/>"], "target_lang": "DE", "source_lang": "EN",
        "tag_handling": "xml", "ignore_tags": ["x"],
    });
    assert_eq!(translated(&request), ["A <i>B</i> <x>c</x> &lt; <y/>"]);
}

#[test]
fn without_tag_handling_tags_are_text() {
    let request = json!({ "text": ["1 < 2 > 0 & a"], "target_lang": "DE", "source_lang": "EN" });
    assert_eq!(translated(&request), ["1 < 2 > 0 & A"]);
}

#[test]
fn options_that_are_preferences_are_ignored() {
    let request = json!({
        "text": ["a"], "target_lang": "DE", "source_lang": "EN", "formality": "prefer_less",
        "split_sentences": "nonewlines", "preserve_formatting": true, "context": "b", "model_type": "quality_optimized",
    });
    assert_eq!(translated(&request), ["A"]);
}

/// Asserts that a value of a parameter is refused with a message.
fn assert_refused(name: &str, value: &Value, expected: &str) {
    let mut request = json!({ "text": ["a"], "target_lang": "DE", "source_lang": "EN" });
    request[name] = value.clone();
    let reply = shared_server().post("/v2/translate", &request);
    assert_eq!(reply.status, 400, "{request}");
    assert_eq!(reply.json(), json!({ "message": expected }), "{request}");
}

#[test]
fn unsupported_values_are_refused_by_the_name_of_the_parameter() {
    for (name, value) in [
        ("target_lang", json!(null)),
        ("target_lang", json!("JA")),
        ("source_lang", json!("JA")),
        ("tag_handling", json!("markdown")),
        ("split_sentences", json!("2")),
        ("formality", json!("formal")),
        ("model_type", json!("best")),
        ("custom_instructions", json!(["Be brief"])),
        ("style_id", json!("a")),
        ("translation_memory_id", json!("a")),
    ] {
        assert_refused(name, &value, &format!("Value for '{name}' not supported."));
    }
}

#[test]
fn wrong_requests_are_refused_in_the_words_of_deepl() {
    for text in [json!(null), json!([])] {
        assert_refused("text", &text, "Parameter 'text' not specified.");
    }
    let expected = "Target language 'DE' doesn't support formality.";
    assert_refused("formality", &json!("more"), expected);
    assert_refused("glossary_id", &json!("a"), "Invalid or missing glossary id");
}

#[test]
fn too_long_texts_are_refused_with_413() {
    let server = TestServer::start_with(ServeOptions {
        limits: Limits {
            max_chars: 5,
            ..Limits::default()
        },
        ..ServeOptions::default()
    });
    let request = json!({ "text": ["abc", "def"], "target_lang": "DE", "source_lang": "EN" });
    let reply = server.post("/v2/translate", &request);
    assert_eq!(reply.status, 413);
    assert!(reply.json()["message"].is_string(), "{reply:?}");
}

#[test]
fn the_key_is_in_the_header_of_deepl() {
    let server = TestServer::with_key();
    let status = |authorization: &str| {
        let headers = [("Authorization", authorization)];
        server.send("GET", "/v2/usage", &headers, b"").status
    };
    assert_eq!(status(&format!("DeepL-Auth-Key {KEY}")), 200);
    assert_eq!(status("DeepL-Auth-Key wrong"), 403);
    let missing = server.get("/v2/usage");
    assert_eq!(missing.status, 403);
    assert!(missing.json()["message"].is_string(), "{missing:?}");
}

#[test]
fn usage_counts_characters() {
    let server = TestServer::start();
    let count = || server.get("/v2/usage").ok()["character_count"].as_u64();
    assert_eq!(count(), Some(0));
    let request = json!({ "text": ["äbc", "d"], "target_lang": "DE", "source_lang": "EN" });
    server.post("/v2/translate", &request).ok();
    assert_eq!(count(), Some(4));
}

#[test]
fn languages_of_sources_and_targets_are_listed() {
    let server = shared_server();
    let source = json!([{ "language": "EN", "name": "English" }]);
    assert_eq!(server.get("/v2/languages").ok(), source);
    let target = json!([{ "language": "DE", "name": "German", "supports_formality": false }]);
    assert_eq!(server.get("/v2/languages?type=target").ok(), target);
    // The client of PyPI sends a form with `GET`.
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(
        server
            .send("GET", "/v2/languages", &headers, b"type=target")
            .ok(),
        target
    );
}

#[test]
fn the_reply_has_the_wanted_kind_of_model() {
    for (wanted, expected) in [
        ("quality_optimized", "quality_optimized"),
        ("prefer_quality_optimized", "quality_optimized"),
        ("latency_optimized", "latency_optimized"),
    ] {
        let request = json!({ "text": ["a"], "target_lang": "DE", "model_type": wanted });
        let reply = shared_server().post("/v2/translate", &request).ok();
        assert_eq!(reply["translations"][0]["model_type_used"], expected);
    }
}

#[test]
fn what_is_absent_is_empty_or_refused() {
    let server = shared_server();
    let empty = server.get("/v3/style_rules").ok();
    assert_eq!(empty, json!({ "style_rules": [] }));
    let empty = server.get("/v3/translation_memories").ok();
    assert_eq!(empty["translation_memories"], json!([]));
    for path in ["/v2/write/rephrase", "/v2/write/correct", "/v3/style_rules"] {
        let reply = server.post(path, &json!({ "text": ["a"] }));
        assert_eq!(reply.status, 400, "{path}");
        let message = reply.json()["message"].to_string();
        assert!(message.contains("not supported"), "{message}");
    }
}

#[test]
fn paths_that_are_not_here_have_an_error_in_the_form_of_deepl() {
    for path in ["/v2/other", "/v3/languages", "/v3/style_rules/a"] {
        let reply = shared_server().post(path, &json!({}));
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.json()["message"].is_string(), "{path}");
    }
    for path in [
        "/v2/document/%FF",
        "/v2/glossaries/%FF",
        "/v3/glossaries/%FF",
    ] {
        let reply = shared_server().get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.json(), json!({ "message": "not found" }), "{path}");
    }
    let refused = shared_server().get("/v2/translate");
    assert_eq!(refused.status, 405);
    assert_eq!(
        refused.headers.get("allow").map(String::as_str),
        Some("POST")
    );
}
