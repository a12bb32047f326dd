//! The interface of Google's Cloud Translation, version 2.

use serde_json::json;

use super::server::{KEY, TestServer, shared_server};

const PATH: &str = "/language/translate/v2";

/// The body of google-cloud-translate 3.28.
#[test]
fn texts_are_translated_from_a_detected_language() {
    let texts = [
        "Where is the <b>next</b> railway station, please?",
        "Two dogs &amp; a cat are sleeping.",
    ];
    let reply = shared_server().post(
        PATH,
        &json!({
            "target": "de", "q": texts, "source": null, "format": null, "cid": [], "model": "nmt",
        }),
    );
    let expected = json!([
        {
            "translatedText": "WHERE IS THE <b>NEXT</b> RAILWAY STATION, PLEASE?",
            "detectedSourceLanguage": "en",
        },
        { "translatedText": "TWO DOGS &amp; A CAT ARE SLEEPING.", "detectedSourceLanguage": "en" },
    ]);
    assert_eq!(reply.ok(), json!({ "data": { "translations": expected } }));
}

#[test]
fn a_query_and_a_form_mean_what_json_means() {
    let query = "q=A+dog.&q=A+cat.&source=en&target=de&format=text";
    let expected = json!([{ "translatedText": "A DOG." }, { "translatedText": "A CAT." }]);
    let expected = json!({ "data": { "translations": expected } });
    let path = format!("{PATH}?{query}");
    let reply = shared_server().send("POST", &path, &[], b"");
    assert_eq!(reply.ok(), expected);
    // A page of a stranger could send it as an image's address.
    assert_eq!(shared_server().send("GET", &path, &[], b"").status, 405);
    assert_eq!(shared_server().post_form(PATH, query).ok(), expected);
}

#[test]
fn languages_have_names_if_these_are_wanted() {
    let reply = shared_server()
        .send("GET", &format!("{PATH}/languages"), &[], b"")
        .ok();
    let expected = json!([{ "language": "de" }, { "language": "en" }]);
    assert_eq!(reply["data"]["languages"], expected);
    let reply = shared_server().send("GET", &format!("{PATH}/languages?target=en"), &[], b"");
    assert_eq!(reply.ok()["data"]["languages"][0]["name"], "German");
}

#[test]
fn the_language_of_each_text_is_detected() {
    let texts = [
        "Where is the next railway station, please?",
        "Wo ist denn hier der nächste Bahnhof?",
    ];
    let reply = shared_server()
        .post(&format!("{PATH}/detect"), &json!({ "q": texts }))
        .ok();
    let detections = &reply["data"]["detections"];
    assert_eq!(detections[0][0]["language"], "en");
    assert_eq!(detections[1][0]["language"], "de");
}

#[test]
fn refusals_have_googles_form() {
    let cases = [
        (json!({ "target": "de" }), "q"),
        (json!({ "q": "a" }), "target"),
        (json!({ "q": "a", "target": "zz" }), "zz"),
        (
            json!({ "q": "a", "target": "de", "source": "en", "format": "pdf" }),
            "pdf",
        ),
    ];
    for (request, part) in cases {
        let reply = shared_server().post(PATH, &request);
        assert_eq!(reply.status, 400, "{request}");
        let error = &reply.json()["error"];
        let text = error["message"].as_str().expect("an error has a message");
        assert!(text.contains(part), "{text}");
        assert_eq!(
            (&error["code"], &error["errors"][0]["reason"]),
            (&json!(400), &json!("invalid"))
        );
    }
    let server = TestServer::with_key();
    let with_key = format!("{PATH}?key={KEY}");
    let wrong = json!({ "q": [1], "target": "de" });
    assert_eq!(server.post(&with_key, &wrong).status, 400);
    let request = json!({ "q": "A dog.", "source": "en", "target": "de" });
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Goog-Api-Key", KEY),
    ];
    let reply = server.send("POST", PATH, &headers, request.to_string().as_bytes());
    assert_eq!(reply.status, 200);
    assert_eq!(server.post(PATH, &request).status, 403);
    assert_eq!(
        server.post(&format!("{PATH}?key=wrong"), &request).status,
        400
    );
    assert!(server.post(&format!("{PATH}?key={KEY}"), &request).ok()["data"].is_object());
}
