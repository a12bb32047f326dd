//! What programs send that cannot be installed in a test: their requests, as their sources of November 2026 have them.

use serde_json::json;

use super::server::{KEY, TestServer, shared_server};

/// Mastodon writes its cache of languages from `targets`, and removes each language from its own.
#[test]
fn mastodon_gets_the_targets_of_each_language() {
    let headers = [
        ("Content-Type", "application/json"),
        ("User-Agent", "http.rb/5.2.0 (Mastodon/4.5.0)"),
    ];
    let languages = shared_server()
        .send("GET", "/languages", &headers, b"")
        .ok();
    for language in languages.as_array().expect("it is an array") {
        let targets = language["targets"].as_array().expect("it is an array");
        assert!(targets.contains(&language["code"]), "{language}");
    }
}

/// Mastodon always sends an array: the text of the post, the warning, the choices of a poll, descriptions of pictures.
#[test]
fn mastodon_translates_the_parts_of_a_post() {
    let request = json!({
        "q": [
            "<p>Hello <span class=\"h-card\" translate=\"no\"><a href=\"https://a.example/@b\" class=\"u-url mention\">\
             @<span>b</span></a></span>, look: <span translate=\"no\">:blobcat:</span></p><p>Second \
             <a href=\"https://a.example/tags/c\" class=\"mention hashtag\" rel=\"tag\">#<span>c</span></a></p>",
            "a warning",
            "yes",
        ],
        "source": "auto", "target": "de", "format": "html", "api_key": null,
    });
    let reply = shared_server().post("/translate", &request).ok();
    let expected = [
        "<p>HELLO <span class=\"h-card\" translate=\"no\"><a href=\"https://a.example/@b\" class=\"u-url mention\">\
         @<span>b</span></a></span>, LOOK: <span translate=\"no\">:blobcat:</span></p><p>SECOND \
         <a href=\"https://a.example/tags/c\" class=\"mention hashtag\" rel=\"tag\">#<span>C</span></a></p>",
        "A WARNING",
        "YES",
    ];
    assert_eq!(reply["translatedText"], json!(expected));
    for index in 0..3 {
        assert_eq!(
            reply["detectedLanguage"][index]["language"], "en",
            "{reply}"
        );
    }
}

/// Mastodon knows 429 and 403; all else is an unexpected reply.
#[test]
fn mastodon_sees_a_wrong_key_as_403() {
    let request =
        json!({ "q": ["a"], "source": "en", "target": "de", "format": "html", "api_key": "wrong" });
    assert_eq!(
        TestServer::with_key().post("/translate", &request).status,
        403
    );
}

#[test]
fn mastodon_by_deepl_sends_a_form_with_a_text_for_each_part() {
    let server = TestServer::with_key();
    let authorization = format!("DeepL-Auth-Key {KEY}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let form = "text=%3Cp%3EHello+there%3C%2Fp%3E&text=yes&source_lang=EN&target_lang=de&tag_handling=html";
    let reply = server
        .send("POST", "/v2/translate", &headers, form.as_bytes())
        .ok();
    assert_eq!(reply["translations"][0]["text"], "<p>HELLO THERE</p>");
    assert_eq!(reply["translations"][1]["text"], "YES");
    assert_eq!(reply["translations"][1]["detected_source_language"], "EN");
    let languages = server
        .send("GET", "/v2/languages?type=target", &headers[..1], b"")
        .ok();
    assert_eq!(languages[0]["language"], "DE");
}

/// Weblate sends a form to LibreTranslate, or JSON with an array in newer versions.
#[test]
fn weblate_translates_messages() {
    let server = shared_server();
    let codes: Vec<_> = server
        .get("/languages")
        .ok()
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| it["code"].clone())
        .collect();
    assert_eq!(codes, ["de", "en"]);
    let form = "api_key=&q=Delete+%25s%3F&source=en&target=de";
    assert_eq!(
        server.post_form("/translate", form).ok()["translatedText"],
        "DELETE %s?"
    );
    let request = json!({ "api_key": "", "q": ["Delete %s?", "Save {name}"], "source": "en", "target": "de" });
    let expected = json!(["DELETE %s?", "SAVE {name}"]);
    assert_eq!(
        server.post("/translate", &request).ok()["translatedText"],
        expected
    );
}

/// Weblate marks what must stay by elements without content, and puts it back itself.
#[test]
fn weblate_by_deepl_sends_xml() {
    let request = json!({
        "text": ["Delete <x id=\"7\"></x> &amp; save?"],
        "source_lang": "EN", "target_lang": "DE", "formality": "default", "tag_handling": "xml", "ignore_tags": ["x"],
    });
    let reply = shared_server().post("/v2/translate", &request).ok();
    assert_eq!(
        reply["translations"][0]["text"],
        "DELETE <x id=\"7\"></x> &amp; SAVE?"
    );
    let languages = shared_server()
        .get("/v2/languages?type=source&enable_beta_languages=1")
        .ok();
    assert_eq!(languages[0]["language"], "EN");
}

/// Discourse detects first, looks whether the languages are known, and then translates HTML, all by forms.
#[test]
fn discourse_detects_and_translates_a_post() {
    let server = shared_server();
    let detected = server
        .post_form("/detect", "q=Where+is+the+next+station%3F&api_key")
        .ok();
    let source = detected[0]["language"]
        .as_str()
        .expect("it is a code")
        .to_owned();
    let languages = server.get("/languages").ok();
    for code in [source.as_str(), "de"] {
        let known = languages
            .as_array()
            .into_iter()
            .flatten()
            .any(|it| it["code"] == code);
        assert!(known, "{code}: {languages}");
    }
    let form =
        format!("q=%3Cp%3EWhere+is+it%3F%3C%2Fp%3E&source={source}&target=de&format=html&api_key");
    assert_eq!(
        server.post_form("/translate", &form).ok()["translatedText"],
        "<p>WHERE IS IT?</p>"
    );
}

/// Akkoma reads `detectedLanguage` if it did not know the language.
#[test]
fn akkoma_translates_a_post_of_an_unknown_language() {
    let request = json!({
        "q": "Where is the next <b>station</b>?", "source": "auto", "target": "de", "format": "html", "api_key": null,
    });
    let reply = shared_server().post("/translate", &request).ok();
    assert_eq!(reply["translatedText"], "WHERE IS THE NEXT <b>STATION</b>?");
    assert_eq!(reply["detectedLanguage"]["language"], "en");
}

#[test]
fn akkoma_translates_a_post_of_a_known_language() {
    let request = json!({ "q": "a <b>dog</b>", "source": "en", "target": "de", "format": "html", "api_key": KEY });
    let reply = shared_server().post("/translate", &request).ok();
    assert_eq!(reply, json!({ "translatedText": "A <b>DOG</b>" }));
}

/// npm's `translate` and the crate `libretranslate` send JSON whose texts are strings.
#[test]
fn json_of_other_clients_may_have_more_fields() {
    let request =
        json!({ "q": "a dog", "source": "en", "target": "de", "secret": "x", "batch": 1 });
    assert_eq!(
        shared_server().post("/translate", &request).ok()["translatedText"],
        "A DOG"
    );
}

/// The page of LibreTranslate 1.9.6 sends these fields; its server has given it the secret.
#[test]
fn the_secret_of_libretranslates_page_does_not_replace_a_key() {
    let fields = [
        ("q", "A dog."),
        ("source", "en"),
        ("target", "de"),
        ("format", "text"),
        ("alternatives", "3"),
        ("api_key", ""),
        ("secret", "any"),
    ];
    let parts = fields.map(|(name, value)| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    });
    let body = parts.concat() + "--b--\r\n";
    let headers = [("Content-Type", "multipart/form-data; boundary=b")];
    let send = |server: &TestServer| server.send("POST", "/translate", &headers, body.as_bytes());
    assert_eq!(send(shared_server()).ok()["translatedText"], "A DOG.");
    let refused = send(&TestServer::with_key());
    assert_eq!(refused.status, 400);
    assert_eq!(
        refused.json()["error"],
        "Please contact the server operator to get an API key"
    );
}
