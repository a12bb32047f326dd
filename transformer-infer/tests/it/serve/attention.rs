//! `POST /v1/attention`.

use serde_json::{Value, json};

use super::running::start;

#[test]
fn the_weights_are_those_of_a_copy() {
    let (_models, server) = start();
    let reply = server.post(
        "/v1/attention",
        &json!({ "source": "dog", "model": "copy" }),
    );
    assert_eq!(reply.status, 200, "{reply:?}");
    let data = reply.json();
    assert_eq!((&data["src"], &data["tgt"]), (&json!("dog"), &json!("dog")));
    let mut kinds = data["kinds"].as_array().expect("it is a list").iter();
    let cross = kinds.rfind(|kind| kind["name"] == "cross");
    let cross = cross.expect("there is cross-attention");
    let map = &cross["layers"][0][0];
    for row in 0..3 {
        assert!(map[row][row].as_u64() > Some(9000), "{map}");
    }
}

#[test]
fn a_given_translation_is_used() {
    let (_models, server) = start();
    let request = json!({ "source": "dog", "target": "Hund" });
    assert_eq!(server.post("/v1/attention", &request).json()["tgt"], "Hund");
}

#[test]
fn the_page_may_run_its_own_script_only() {
    let (_models, server) = start();
    let request = json!({ "source": "<i>" });
    let reply = server.post("/v1/attention?format=html", &request);
    assert!(reply.body.starts_with("<!doctype html>") || reply.body.starts_with("<!DOCTYPE html>"));
    let policy = reply
        .header("content-security-policy")
        .expect("there is a policy");
    assert!(
        policy.contains("default-src 'none'") && policy.contains("sandbox"),
        "{policy}"
    );
}

#[test]
fn an_unknown_format_is_refused() {
    let (_models, server) = start();
    let reply = server.post("/v1/attention?format=zz", &json!({ "source": "dog" }));
    assert_eq!(reply.status, 400);
    assert!(reply.error().contains("zz"), "{reply:?}");
}

#[test]
fn blank_and_long_sentences_are_refused() {
    let (_models, server) = start();
    let blank = server.post("/v1/attention", &json!({ "source": " " }));
    assert_eq!(blank.status, 400, "{blank:?}");
    let long = server.post("/v1/attention", &json!({ "source": "a".repeat(300) }));
    assert_eq!(long.status, 413, "{long:?}");
    let long = server.post(
        "/v1/attention",
        &json!({ "source": "a", "target": "a".repeat(300) }),
    );
    assert_eq!(long.status, 413, "{long:?}");
}

#[test]
fn a_translation_has_the_weights_of_each_sentence_if_they_are_asked_for() {
    let (_models, server) = start();
    let request = json!({ "text": "A dog. It runs.", "attention": true });
    let reply = server.post("/v1/translate", &request).json();
    let sentences = &reply["translations"][0]["sentences"];
    for (index, text) in ["A dog.", "It runs."].into_iter().enumerate() {
        let alone = server.post("/v1/attention", &json!({ "source": text }));
        assert_eq!(sentences[index]["attention"], alone.json());
    }
}

#[test]
fn weights_of_long_texts_of_many_sentences_and_of_html_are_refused() {
    let (_models, server) = start();
    let status = |request: &Value| server.post("/v1/translate", request).status;
    let long = "A dog runs and runs and runs. ".repeat(10);
    assert_eq!(status(&json!({ "text": long, "attention": true })), 413);
    let many = "A dog. ".repeat(17);
    assert_eq!(status(&json!({ "text": many, "attention": true })), 400);
    let html = json!({ "text": "<p>A</p>", "format": "html", "attention": true });
    assert_eq!(status(&html), 400);
}
