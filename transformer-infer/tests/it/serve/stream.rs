//! Server-sent events.

use serde_json::{Value, json};
use transformer_infer::serve::{Limits, ServeOptions};

use super::client::Connection;
use super::running::{Models, Running, options, start};

/// Returns the events of a request, with their data.
fn events(server: &Running, request: &Value) -> Vec<(String, Value)> {
    let reply = server.post("/v1/translate", request);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let events = reply.body.split("\n\n").filter(|event| !event.is_empty());
    let event = |event: &str| {
        let (name, data) = event.split_once('\n').expect("an event has data");
        let name = name.strip_prefix("event: ").expect("it has a name");
        let data = data.strip_prefix("data: ").expect("it has data");
        let data = serde_json::from_str(data).expect("data are JSON");
        (name.to_owned(), data)
    };
    events.map(event).collect()
}

#[test]
fn each_sentence_is_an_event_and_the_last_one_has_all() {
    let (_models, server) = start();
    let texts = json!(["A dog. It runs.", "Oh."]);
    let events = events(&server, &json!({ "text": texts, "stream": true }));
    let ((name, done), sentences) = events.split_last().expect("there are events");
    assert_eq!(name, "done");
    let whole = server.post("/v1/translate", &json!({ "text": texts }));
    assert_eq!(*done, whole.json());
    let mut found: Vec<Value> = sentences.iter().map(|(_, data)| data.clone()).collect();
    found.sort_by_key(|data| (data["text_index"].as_u64(), data["sentence_index"].as_u64()));
    let expected = json!([
        { "text_index": 0, "sentence_index": 0, "source": [0, 6], "text": "A dog." },
        { "text_index": 0, "sentence_index": 1, "source": [7, 15], "text": "It runs." },
        { "text_index": 1, "sentence_index": 0, "source": [0, 3], "text": "Oh." },
    ]);
    assert_eq!(json!(found), expected);
}

#[test]
fn html_has_one_event() {
    let (_models, server) = start();
    let request = json!({ "text": "<p>a</p>", "format": "html", "stream": true });
    let names = events(&server, &request).into_iter().map(|(name, _)| name);
    assert_eq!(names.collect::<Vec<_>>(), ["done"]);
}

#[test]
fn what_fails_after_the_begin_of_a_stream_is_an_event() {
    let models = Models::new();
    let limits = Limits {
        max_queue_tokens: 2,
        ..Limits::default()
    };
    let server = Running::ready(ServeOptions {
        limits,
        ..options(&[models.write("copy", None)])
    });
    let request = json!({ "text": "a b c d e f", "stream": true });
    let (name, data) = events(&server, &request).remove(0);
    assert_eq!(name, "error");
    let error = data["error"].as_str().expect("there is a text");
    assert!(error.contains("limit of 2"), "{error}");
}

#[test]
fn the_header_accept_asks_for_events_too() {
    let (_models, server) = start();
    let headers = [
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
    ];
    let mut connection = Connection::open(server.address);
    connection.send("POST", "/v1/translate", &headers, "{\"text\": \"a\"}");
    let reply = connection.reply();
    assert!(
        reply.body.ends_with("\n\n") && reply.body.contains("event: done"),
        "{reply:?}"
    );
}

#[test]
fn a_client_that_hangs_up_frees_the_model() {
    let (_models, server) = start();
    let text = "A dog runs and runs and runs. ".repeat(2000);
    let request = json!({ "text": text, "beam_size": 16, "n_best": 16, "stream": true });
    let mut connection = Connection::open(server.address);
    let json = [("content-type", "application/json")];
    connection.send("POST", "/v1/translate", &json, &request.to_string());
    let (status, _) = connection.head().expect("the reply begins at once");
    assert_eq!(status, 200);
    server.wait("the model works", |server| {
        server.metric("running_rows{model=\"copy\"}") > 0.0
    });
    drop(connection);
    server.wait("the model is free", |server| {
        let busy = [
            "running_rows{model=\"copy\"}",
            "queued_lines{model=\"copy\"}",
        ];
        busy.iter().all(|name| server.metric(name) == 0.0)
    });
    let n_translated = server.metric("target_tokens_total{model=\"copy\"}");
    assert!(n_translated < 30_000.0, "{n_translated}");
}
