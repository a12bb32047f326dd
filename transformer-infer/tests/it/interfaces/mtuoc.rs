//! The interface of MTUOC. The requests are those of MTUOC's plugin for OmegaT and of MTUOC-test-server.

use serde_json::json;

use super::server::{KEY, TestServer, shared_server};

const PATH: &str = "/mtuoc/translate";

#[test]
fn a_segment_is_translated_by_the_only_model() {
    let id = "3f2c1b7e-8f0d-4c51-9a57-2f1f7f0f8f11";
    let reply = shared_server()
        .post(PATH, &json!({ "id": id, "src": "A dog." }))
        .ok();
    let expected = json!({
        "id": id, "src": "A dog.", "system_name": "en-de", "tgt": "A DOG.", "alternate_translations": [],
    });
    assert_eq!(reply, expected);
}

#[test]
fn of_several_models_the_languages_choose() {
    let options = transformer_infer::serve::ServeOptions::default();
    let server = TestServer::of_pairs(&[("en", "de"), ("en", "fr")], options);
    let request = json!({ "id": 101, "src": "A dog.", "srcLang": "en-US", "tgtLang": "fr-FR" });
    let reply = server.post(PATH, &request).ok();
    assert_eq!(
        (&reply["id"], &reply["system_name"]),
        (&json!(101), &json!("en-fr"))
    );
    let segment = json!({ "id": 1, "src": "A dog." });
    assert_eq!(server.post(PATH, &segment).status, 400);
    let empty = server.post(PATH, &json!({ "srcLang": "en", "tgtLang": "de" }));
    assert_eq!(empty.status, 400);
    let in_address = server.post(&format!("{PATH}?srcLang=en&tgtLang=de"), &segment);
    assert_eq!(in_address.ok()["system_name"], "en-de");
}

#[test]
fn a_key_may_be_in_the_address() {
    let server = TestServer::with_key();
    let segment = json!({ "id": 1, "src": "A dog." });
    assert_eq!(server.post(PATH, &segment).status, 401);
    assert_eq!(
        server.post(&format!("{PATH}?key={KEY}"), &segment).ok()["tgt"],
        "A DOG."
    );
}

#[test]
fn the_description_has_the_paths_with_prefixes() {
    let description = shared_server().get("/openapi.json").ok();
    for path in [
        PATH,
        "/deeplx/translate",
        "/microsoft/translate",
        "/microsoft/detect",
    ] {
        let responses = &description["paths"][path]["post"]["responses"];
        for status in ["200", "401", "429", "503"] {
            assert!(responses[status].is_object(), "{path} {status}");
        }
    }
    assert!(description["paths"]["/microsoft/languages"]["get"].is_object());
}
