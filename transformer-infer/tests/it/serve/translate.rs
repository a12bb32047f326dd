//! `POST /v1/translate`.

use serde_json::{Value, json};

use super::client::call;
use super::running::{Running, options, start};
use transformer_infer::serve::{Limits, ServeOptions};

/// Returns the translations of a request.
fn translations(server: &Running, request: &Value) -> Value {
    let reply = server.post("/v1/translate", request);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["translations"].clone()
}

/// Returns the error of a request and its status.
fn refusal(server: &Running, request: &Value) -> (u16, String) {
    let reply = server.post("/v1/translate", request);
    (reply.status, reply.error())
}

#[test]
fn a_text_is_cut_into_sentences_and_what_is_between_them_stays() {
    let (_models, server) = start();
    let text = " A dog runs.  It is fast!\n\n\tOh. ";
    let reply = server
        .post("/v1/translate", &json!({ "text": text }))
        .json();
    assert_eq!(reply["model"], "copy");
    assert_eq!(
        (&reply["source"], &reply["target"]),
        (&json!("en"), &json!("de"))
    );
    let translation = &reply["translations"][0];
    assert_eq!(translation["text"], text);
    let expected = json!([
        { "source": [1, 12], "target": [1, 12], "text": "A dog runs." },
        { "source": [14, 25], "target": [14, 25], "text": "It is fast!" },
        { "source": [28, 31], "target": [28, 31], "text": "Oh." },
    ]);
    assert_eq!(translation["sentences"], expected);
}

#[test]
fn a_list_has_a_translation_for_each_text() {
    let (_models, server) = start();
    let texts = json!(["one", "", "two. three."]);
    let found = translations(&server, &json!({ "text": texts }));
    let found = found.as_array().expect("it is a list").iter();
    let found: Vec<&Value> = found.map(|translation| &translation["text"]).collect();
    assert_eq!(json!(found), texts);
}

#[test]
fn a_text_without_words_has_no_sentence() {
    let (_models, server) = start();
    for text in ["", "...", "😀"] {
        let found = translations(&server, &json!({ "text": text }));
        assert_eq!(found[0], json!({ "text": text, "sentences": [] }));
    }
}

#[test]
fn ranges_count_code_points() {
    let (_models, server) = start();
    let found = translations(&server, &json!({ "text": "äöü é. Dog." }));
    let expected = json!({ "source": [7, 11], "target": [7, 11], "text": "Dog." });
    assert_eq!(found[0]["sentences"][1], expected);
}

#[test]
fn auto_means_the_same_as_no_code() {
    let (_models, server) = start();
    for (source, target) in [("auto", "de"), ("en", "auto"), ("AUTO", "AUTO")] {
        let request = json!({ "text": "dog", "source": source, "target": target });
        assert_eq!(translations(&server, &request)[0]["text"], "dog");
    }
}

#[test]
fn placeholders_are_copied_and_counted() {
    let (_models, server) = start();
    let text = "a dog in {place} runs";
    let found = translations(&server, &json!({ "text": text, "alignments": true }));
    assert_eq!(found[0]["text"], text);
    let last = found[0]["sentences"][0]["alignment"].as_array();
    let last = last
        .and_then(|pairs| pairs.last())
        .expect("words are aligned");
    assert_eq!(*last, json!({ "source": [17, 21], "target": [17, 21] }));
}

#[test]
fn words_are_aligned_in_the_whole_text() {
    let (_models, server) = start();
    let request = json!({ "text": "Ab cd. Ef  gh.", "alignments": true });
    let found = translations(&server, &request);
    let pairs = |index: usize| found[0]["sentences"][index]["alignment"].clone();
    let pair = |start: usize, end: usize| json!({ "source": [start, end], "target": [start, end] });
    assert_eq!(pairs(0), json!([pair(0, 2), pair(3, 5), pair(5, 6)]));
    assert_eq!(pairs(1), json!([pair(7, 9), pair(11, 13), pair(13, 14)]));
}

#[test]
fn without_split_a_text_is_one_sentence() {
    let (_models, server) = start();
    let found = translations(&server, &json!({ "text": "One. Two.", "split": false }));
    assert_eq!(found[0]["sentences"].as_array().map(Vec::len), Some(1));
}

#[test]
fn alternatives_and_scores_are_ranked() {
    let (_models, server) = start();
    let request = json!({ "text": "dog", "n_best": 3, "scores": true });
    let sentence = translations(&server, &request)[0]["sentences"][0].clone();
    let score = |value: &Value| value["score"].as_f64().expect("there is a score");
    let alternatives = sentence["alternatives"]
        .as_array()
        .expect("there are several");
    assert_eq!(alternatives.len(), 2);
    assert!(score(&sentence) >= score(&alternatives[0]));
    assert!(score(&alternatives[0]) >= score(&alternatives[1]));
}

#[test]
fn tags_of_html_stay() {
    let (_models, server) = start();
    let text = "<p>A <b>big</b> dog &amp; <span translate=\"no\">:cat:</span></p>";
    let found = translations(&server, &json!({ "text": text, "format": "html" }));
    assert_eq!(found[0], json!({ "text": text }));
}

#[test]
fn several_texts_of_html_are_translated_together() {
    let (_models, server) = start();
    let texts = json!(["<p>one</p>", "", "two <i>three</i>"]);
    let found = translations(&server, &json!({ "text": texts, "format": "html" }));
    let found = found.as_array().expect("it is a list").iter();
    let found: Vec<&Value> = found.map(|translation| &translation["text"]).collect();
    assert_eq!(json!(found), texts);
}

#[test]
fn a_long_sentence_is_translated_in_parts_and_this_is_said() {
    let (_models, server) = start();
    let text = "word ".repeat(100);
    let found = translations(&server, &json!({ "text": text }));
    assert_eq!(found[0]["text"], text);
    let warning = found[0]["sentences"][0]["warning"].as_str();
    assert_eq!(
        warning,
        Some("the sentence is too long and was translated in 3 parts")
    );
}

#[test]
fn a_term_that_the_translation_lacks_is_named() {
    let (_models, server) = start();
    let request = json!({ "text": "a dog", "terms": { "dog": "日本" } });
    let found = translations(&server, &request);
    let warning = found[0]["sentences"][0]["warning"].as_str();
    assert_eq!(warning, Some("the translation lacks the term `日本`"));
}

#[test]
fn a_term_is_in_the_translation() {
    let (_models, server) = start();
    let request = json!({ "text": "a dog", "terms": { "dog": "Hund" } });
    let found = translations(&server, &request);
    let text = found[0]["text"].as_str().expect("there is a text");
    assert!(text.split(' ').any(|word| word == "Hund"), "{text}");
}

#[test]
fn a_wrong_request_is_refused_with_its_fault() {
    let (_models, server) = start();
    // A word and 4000 signs each, so that 132 terms have 528,132 pieces.
    let signs = "!?".repeat(2000);
    let terms = (0..200).map(|n| (format!("a{n}{signs}"), json!("b")));
    let terms_of_many_signs = Value::Object(terms.collect());
    for (request, fault) in [
        (json!({}), "missing field `text`"),
        (json!({ "text": 1 }), "expected a text or a list of texts"),
        (
            json!({ "text": "a", "targt": "de" }),
            "unknown field `targt`",
        ),
        (
            json!({ "text": "a", "n_best": 0 }),
            "`n_best` is 0; choose 1 to 32",
        ),
        (
            json!({ "text": "a", "n_best": 33 }),
            "`n_best` is 33; choose 1 to 32",
        ),
        (
            json!({ "text": "a", "beam_size": 99 }),
            "`beam_size` is 99; choose 1 to 32",
        ),
        (
            json!({ "text": "a", "beam_size": 2, "n_best": 3 }),
            "`n_best` is 3 with a beam of 2",
        ),
        (
            json!({ "text": "a", "format": "html", "n_best": 2 }),
            "are only for plain text",
        ),
        (
            json!({ "text": "a", "terms": { "a": "" } }),
            "`terms`, line 1",
        ),
        (
            json!({ "text": "a", "terms": { "a": "b".repeat(5000) } }),
            "`terms` has more than 4096 bytes at line 1",
        ),
        (
            json!({ "text": "a", "terms": terms_of_many_signs }),
            "`terms` has more than 524288 words, spaces and signs at line 132",
        ),
        (
            json!({ "text": "a", "target": "zz" }),
            "zz is not supported",
        ),
        (
            json!({ "text": "a", "source": "x y" }),
            "x y is not supported",
        ),
        (
            json!({ "text": "a", "model": "b" }),
            "there is no model `b`",
        ),
    ] {
        let (status, error) = refusal(&server, &request);
        assert_eq!(status, 400, "{request}: {error}");
        assert!(error.contains(fault), "{request}: {error}");
    }
}

#[test]
fn a_body_that_is_no_json_is_refused() {
    let (_models, server) = start();
    let json = ("content-type", "application/json; charset=utf-8");
    let send = |headers: &[(&str, &str)], body: &str| {
        let reply = call(server.address, "POST", "/v1/translate", headers, body);
        (reply.status, reply.error())
    };
    let (status, error) = send(&[json], "{\"text\": ");
    assert!(status == 400 && error.contains("EOF"), "{error}");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let (status, error) = send(&[form], "text=a");
    assert!(
        status == 415 && error.contains("application/json"),
        "{error}"
    );
}

#[test]
fn the_limits_of_texts_and_characters_are_named() {
    let (models, _server) = start();
    let server = Running::ready(ServeOptions {
        limits: Limits {
            max_chars: 5,
            max_texts: 2,
            ..Limits::default()
        },
        ..options(&[models.path("copy")])
    });
    assert_eq!(
        translations(&server, &json!({ "text": ["äö", "abc"] }))
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let (status, error) = refusal(&server, &json!({ "text": ["äö", "abcd"] }));
    let expected = "the request has 6 characters, more than the limit of 5; send it in parts";
    assert_eq!((status, error.as_str()), (413, expected));
    let (status, error) = refusal(&server, &json!({ "text": ["a", "b", "c"] }));
    let expected = "the request has 3 texts, more than the limit of 2; send them in parts";
    assert_eq!((status, error.as_str()), (413, expected));
}

#[test]
fn more_tokens_than_may_wait_are_refused() {
    let (models, _server) = start();
    let server = Running::ready(ServeOptions {
        limits: Limits {
            max_queue_tokens: 10,
            ..Limits::default()
        },
        ..options(&[models.path("copy")])
    });
    let (status, error) = refusal(&server, &json!({ "text": "a dog and a cat" }));
    assert_eq!(status, 413, "{error}");
    assert!(
        error.ends_with("more than the limit of 10; send it in parts"),
        "{error}"
    );
}

#[test]
fn other_paths_and_methods_are_refused() {
    let (_models, server) = start();
    assert_eq!(server.get("/nothing").status, 404);
    assert_eq!(server.get("/nothing").error(), "not found");
    let refused = server.get("/v1/translate");
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some("POST"))
    );
}

#[test]
fn a_reply_has_the_id_of_its_request() {
    let (_models, server) = start();
    let id = |headers: &[(&str, &str)]| {
        let reply = call(server.address, "GET", "/health", headers, "");
        reply.header("x-request-id").map(str::to_owned)
    };
    assert_eq!(
        id(&[("x-request-id", "my-id_1.2")]).as_deref(),
        Some("my-id_1.2")
    );
    let own = id(&[("x-request-id", "with space")]).expect("there is an id");
    assert!(
        own != "with space" && Some(&own) != id(&[]).as_ref(),
        "{own}"
    );
}

#[test]
fn the_sizes_of_batches_are_counted() {
    let (_models, server) = start();
    translations(&server, &json!({ "text": "dog", "beam_size": 1 }));
    let metric = |name: &str| server.metric(&format!("step_rows{name}"));
    // Four tokens, the end included, one row each.
    assert_eq!(metric("_bucket{le=\"1.0\",model=\"copy\"}"), 4.0);
    assert_eq!(metric("_bucket{le=\"+Inf\",model=\"copy\"}"), 4.0);
    assert_eq!(metric("_count{model=\"copy\"}"), 4.0);
    assert_eq!(metric("_sum{model=\"copy\"}"), 4.0);
}

#[test]
fn the_time_in_the_queue_is_counted_for_each_request() {
    let (_models, server) = start();
    for _ in 0..2 {
        translations(&server, &json!({ "text": "A dog. A cat. A cow." }));
    }
    let metric = |name: &str| server.metric(&format!("queue_wait_seconds{name}"));
    assert_eq!(metric("_count{model=\"copy\"}"), 2.0);
    assert_eq!(metric("_bucket{le=\"+Inf\",model=\"copy\"}"), 2.0);
    assert!(metric("_sum{model=\"copy\"}") > 0.0);
}
