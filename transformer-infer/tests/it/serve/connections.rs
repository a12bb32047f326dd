//! Connections: slow ones, idle ones, too many, and those of a server that stops.

use std::thread;
use std::time::Duration;

use serde_json::json;
use transformer_infer::serve::{Limits, ServeOptions, ServerSignal};

use super::client::Connection;
use super::running::{Models, Running, options, start};

const SOON: Duration = Duration::from_millis(100);

/// Starts a server with these limits.
fn limited(limits: Limits) -> (Models, Running) {
    let models = Models::new();
    let path = models.write("copy", Some(("en", "de")));
    let server = Running::ready(ServeOptions {
        limits,
        ..options(&[path])
    });
    (models, server)
}

#[test]
fn a_head_that_arrives_too_slowly_ends_the_connection() {
    let (_models, server) = limited(Limits {
        header_time: SOON,
        ..Limits::default()
    });
    let mut slow = Connection::open(server.address);
    slow.write(b"GET /health HTTP/1.1\r\nhost: local");
    assert!(slow.try_reply().is_none());
    assert_eq!(server.look("/health").0, 200);
}

#[test]
fn bytes_that_trickle_do_not_extend_the_time_for_a_head() {
    let (_models, server) = limited(Limits {
        header_time: SOON,
        ..Limits::default()
    });
    let mut slow = Connection::open(server.address);
    slow.write(b"GET /health HTTP/1.1\r\n");
    // Until the system says that the server hung up.
    while slow.takes(b"a") {
        thread::yield_now();
    }
}

#[test]
fn a_connection_without_requests_ends() {
    let (_models, server) = limited(Limits {
        idle_time: SOON,
        ..Limits::default()
    });
    let mut fresh = Connection::open(server.address);
    assert!(fresh.line().is_none());
    // On a busy machine, a request can come too late.
    let mut used = Connection::open(server.address);
    while ask(&mut used) != Some(200) {
        used = Connection::open(server.address);
    }
    assert!(used.line().is_none());
}

#[test]
fn a_body_that_never_ends_is_refused() {
    let (_models, server) = limited(Limits {
        body_time: SOON,
        ..Limits::default()
    });
    let mut slow = Connection::open(server.address);
    slow.write(
        b"POST /v1/translate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
          content-length: 100\r\n\r\n{\"text\"",
    );
    let reply = slow.reply();
    assert_eq!(reply.status, 408, "{reply:?}");
}

#[test]
fn a_body_that_is_too_large_is_refused_with_a_reply_that_arrives() {
    let (_models, server) = limited(Limits {
        max_body_bytes: 1000,
        ..Limits::default()
    });
    let reply = server.post("/v1/translate", &json!({ "text": "a".repeat(2_000_000) }));
    assert_eq!(reply.status, 413, "{reply:?}");
}

/// Asks something, and returns the status of the reply.
fn ask(connection: &mut Connection) -> Option<u16> {
    connection.send("GET", "/health", &[], "");
    connection.try_reply().map(|reply| reply.status)
}

#[test]
fn a_connection_beyond_the_limit_is_refused_while_all_others_are_busy() {
    let (_models, server) = limited(Limits {
        max_connections: 1,
        ..Limits::default()
    });
    let mut busy = Connection::open(server.address);
    busy.write(
        b"POST /v1/translate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
          content-length: 15\r\n\r\n{",
    );
    server.wait("the request has begun", |server| {
        server.metric("in_flight_requests") > 0.0
    });
    let mut other = Connection::open(server.address);
    assert_eq!(ask(&mut other), Some(503));
    busy.write(b"\"text\": \"dog\"}");
    assert_eq!(busy.reply().status, 200);
}

#[cfg(target_os = "linux")]
#[test]
fn an_address_with_every_connection_loses_its_newest_one_to_another_address() {
    let (_models, server) = limited(Limits {
        max_connections: 2,
        ..Limits::default()
    });
    let [mut first, mut newest] = [1.0, 2.0].map(|n_requests| {
        let mut busy = Connection::open_from([127, 0, 0, 2], server.address);
        busy.write(
            b"POST /v1/translate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
              content-length: 15\r\n\r\n{",
        );
        server.wait("the request has begun", |server| {
            server.metric("in_flight_requests") >= n_requests
        });
        busy
    });
    assert_eq!(ask(&mut Connection::open(server.address)), Some(200));
    assert!(newest.try_reply().is_none());
    first.write(b"\"text\": \"dog\"}");
    assert_eq!(first.reply().status, 200);
}

#[test]
fn a_request_names_one_host() {
    let (_models, server) = start();
    for (hosts, version, status) in [
        ("", "1.1", 400),
        ("host: localhost\r\nhost: localhost\r\n", "1.1", 400),
        ("host: localhost\r\n", "1.1", 200),
        ("", "1.0", 200),
    ] {
        let mut connection = Connection::open(server.address);
        connection.write(format!("GET /health HTTP/{version}\r\n{hosts}\r\n").as_bytes());
        let reply = connection.reply();
        assert_eq!(reply.status, status, "{hosts} {version}");
        assert!(reply.header("x-request-id").is_some(), "{reply:?}");
    }
}

#[test]
fn a_connection_that_is_idle_is_closed_for_a_new_one() {
    let (_models, server) = limited(Limits {
        max_connections: 1,
        ..Limits::default()
    });
    let mut idle = Connection::open(server.address);
    assert_eq!(ask(&mut idle), Some(200));
    // Others are refused until it has been idle for a moment.
    while ask(&mut Connection::open(server.address)) != Some(200) {
        thread::yield_now();
    }
    assert!(idle.line().is_none());
}

#[test]
fn several_requests_share_a_connection() {
    let (_models, server) = start();
    let mut connection = Connection::open(server.address);
    for _ in 0..3 {
        connection.send("GET", "/health", &[], "");
        assert_eq!(connection.reply().body, r#"{"status":"ok"}"#);
    }
}

#[test]
fn a_server_that_stops_finishes_what_it_accepted() {
    let (_models, server) = start();
    let text = "A dog runs and runs. ".repeat(300);
    let address = server.address;
    let expected = text.clone();
    let request = json!({ "text": text, "beam_size": 8 });
    let client = thread::spawn(move || {
        let mut connection = Connection::open(address);
        let json = [("content-type", "application/json")];
        connection.send("POST", "/v1/translate", &json, &request.to_string());
        connection.reply()
    });
    server.wait("the request is accepted", |server| {
        server.metric("running_rows{model=\"copy\"}") > 0.0
    });
    let mut idle = Connection::open(address);
    idle.send("GET", "/health", &[], "");
    assert_eq!(idle.reply().status, 200);
    server.signal(ServerSignal::Stop);
    assert!(idle.line().is_none());
    assert!(server.end().is_ok());
    let reply = client.join().expect("the client gets a reply");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("connection"), Some("close"));
    assert_eq!(reply.json()["translations"][0]["text"], expected);
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let (_models, server) = start();
    let mut waiting = Connection::open(server.address);
    waiting.write(b"POST /v1/translate HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n");
    server.wait("the request is accepted", |server| {
        server.metric("in_flight_requests") > 0.0
    });
    server.signal(ServerSignal::Stop);
    server.signal(ServerSignal::Stop);
    assert!(server.end().is_ok());
}
