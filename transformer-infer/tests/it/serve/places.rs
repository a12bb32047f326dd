//! Requests that wait for a place of `--keep`.

use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use transformer_infer::serve::{Limits, ServeOptions};

use super::client::Connection;
use super::on_demand::{folder, n_loads, reload, write};
use super::running::{Models, Running, set_training};

/// Returns options for one model at a time, and long requests.
fn one_at_a_time(models: &Models) -> ServeOptions {
    let limits = Limits {
        max_chars: 1 << 30,
        max_texts: 1 << 30,
        max_queue_tokens: 1 << 30,
        ..Limits::default()
    };
    ServeOptions {
        limits,
        ..folder(models, Some(1))
    }
}

/// Sends a request of minutes from English to German, which ends when the connection is dropped.
fn hold(server: &Running) -> Connection {
    let mut connection = Connection::open(server.address);
    let texts = vec!["a".repeat(240); 10_000];
    let body = json!({ "text": texts, "source": "en", "target": "de" }).to_string();
    send(&mut connection, &body);
    server.wait("the request is being answered", |server| {
        server.metric("running_sentences{model=\"en-de\"}") > 0.0
    });
    connection
}

/// Sends a request from English to French.
fn ask_for_french(server: &Running) -> Connection {
    let mut connection = Connection::open(server.address);
    let body = json!({ "text": "a", "source": "en", "target": "fr" });
    send(&mut connection, &body.to_string());
    connection
}

fn send(connection: &mut Connection, body: &str) {
    let headers = [("content-type", "application/json")];
    connection.send("POST", "/v1/translate", &headers, body);
}

/// Sends requests from English to German until one has to wait.
fn queued(server: &Running) -> Connection {
    let mut n_answered = 0.0;
    let body = json!({ "text": "a", "source": "en", "target": "de" }).to_string();
    for _ in 0..100 {
        // Another caller, so that it takes turns with the long request.
        let mut connection = Connection::open_from([127, 0, 0, 2], server.address);
        send(&mut connection, &body);
        let end = Instant::now() + Duration::from_secs(2);
        let is_answered =
            || server.metric("latency_seconds_count{route=\"/v1/translate\"}") > n_answered;
        while !is_answered() {
            if Instant::now() > end {
                return connection;
            }
            thread::yield_now();
        }
        n_answered += 1.0;
    }
    panic!("no request has to wait");
}

#[test]
fn a_request_that_waits_for_a_place_is_not_overtaken() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let server = Running::ready(one_at_a_time(&models));
    let held = hold(&server);
    let mut waiting = ask_for_french(&server);
    let mut behind = queued(&server);
    assert_eq!(n_loads(&server), 1.0);
    drop(held);
    assert_eq!(waiting.reply().json()["model"], "en-fr");
    assert_eq!(behind.reply().json()["model"], "en-de");
    assert_eq!(n_loads(&server), 3.0);
    assert_eq!(server.metric("loaded_models"), 1.0);
}

/// Sends a document, and returns once it is accepted.
fn send_document(server: &Running, source: &str, target: &str, text: &str) {
    let field = |name: &str, value: &str| {
        format!("--border\r\nContent-Disposition: form-data; name={name}\r\n\r\n{value}\r\n")
    };
    let body = [
        field("source_lang", source),
        field("target_lang", target),
        field("\"file\"; filename=\"a.txt\"", text),
        "--border--\r\n".to_owned(),
    ];
    let mut connection = Connection::open(server.address);
    let headers = [("content-type", "multipart/form-data; boundary=border")];
    connection.send("POST", "/v2/document", &headers, &body.concat());
    assert_eq!(connection.reply().status, 200);
}

#[test]
fn a_file_that_waits_for_a_place_is_not_overtaken_for_ever() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let server = Running::ready(one_at_a_time(&models));
    let held = hold(&server);
    send_document(&server, "EN", "FR", "a");
    let mut behind = queued(&server);
    assert_eq!(n_loads(&server), 1.0);
    drop(held);
    assert_eq!(behind.reply().json()["model"], "en-de");
    assert_eq!(n_loads(&server), 3.0);
}

#[test]
fn files_that_wait_for_another_file_do_not_delay_a_text() {
    let models = Models::new();
    for (from, to) in [("en", "de"), ("es", "en"), ("en", "fr"), ("en", "it")] {
        write(&models, from, to);
    }
    let server = Running::ready(ServeOptions {
        keep: NonZeroUsize::new(2),
        pivot: Some("en".parse().expect("it is a code")),
        ..one_at_a_time(&models)
    });
    send_document(&server, "EN", "DE", &"a a a.\n".repeat(200_000));
    server.wait("a file is being translated", |server| {
        server.metric("running_sentences{model=\"en-de\"}") > 0.0
    });
    assert_eq!(ask_for_french(&server).reply().json()["model"], "en-fr");
    // The only place without a file has a model that they need, too.
    for _ in 0..7 {
        send_document(&server, "ES", "FR", "a");
    }
    let start = Instant::now();
    let body = json!({ "text": "a", "source": "en", "target": "it" });
    assert_eq!(server.post("/v1/translate", &body).json()["model"], "en-it");
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(15), "{elapsed:?}");
}

#[test]
fn a_model_that_was_replaced_while_a_request_waited_for_it_does_not_stay() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let server = Running::ready(one_at_a_time(&models));
    let held = hold(&server);
    let mut waiting = ask_for_french(&server);
    drop(queued(&server));
    let scores = json!({ "scores": { "valid_bleu": 37.5 } });
    set_training(&models.path("en-fr"), &scores);
    reload(&server);
    drop(held);
    assert_eq!(waiting.reply().json()["model"], "en-fr");
    server.wait("the old model is dropped", |server| {
        server.metric("loaded_models") == 0.0
    });
}
