//! The program as a user runs it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::client::{call, post};
use super::running::Models;

/// Starts the program, and returns it with its address.
fn serve(models: &Models, flags: &[&str]) -> (Child, std::net::SocketAddr) {
    let path = models.write("copy", Some(("en", "de")));
    let mut child = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(["serve", "--port", "0", "--log-level", "error", "--model"])
        .arg(path)
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo has built the program");
    let output = child.stdout.take().expect("standard output is piped");
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    read.expect("the program prints its address");
    let address = line.trim().strip_prefix("http://").map(str::parse);
    let address = address.unwrap_or_else(|| panic!("`{line}` is no address"));
    (child, address.expect("the address has a port"))
}

#[cfg(unix)]
#[test]
fn the_program_serves_until_sigterm() {
    let models = Models::new();
    let (mut child, address) = serve(&models, &["--threads", "1", "--max-chars", "3"]);
    while call(address, "GET", "/health", &[], "").status != 200 {
        std::thread::yield_now();
    }
    let translated = post(address, "/v1/translate", &[], &json!({ "text": "dog" }));
    assert_eq!(translated.json()["translations"][0]["text"], "dog");
    let refused = post(address, "/v1/translate", &[], &json!({ "text": "dogs" }));
    assert_eq!(refused.status, 413);
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status();
    assert!(killed.expect("the system has kill").success());
    let status = child.wait().expect("the program ends");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn an_address_that_is_taken_is_one_line() {
    let models = Models::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it listens").port();
    let output = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args([
            "serve",
            "--log-level",
            "error",
            "--port",
            &port.to_string(),
            "--model",
        ])
        .arg(models.path("none"))
        .stdin(Stdio::null())
        .output()
        .expect("cargo has built the program");
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    let expected = format!("error: cannot listen on 127.0.0.1:{port}; choose another --port");
    assert!(
        error.starts_with(&expected) && error.lines().count() == 1,
        "{error}"
    );
}
