//! Settings from a file, and what the program prints of them and of traces.

use std::fs;
use std::io::Read;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::client::{call, post};
use super::program::{program, spawn};
use super::running::Models;

/// Returns the program with a file of settings.
fn with_file(models: &Models, settings: &str) -> Command {
    let path = models.path("serve.toml");
    fs::write(&path, settings).expect("the directory is writable");
    let mut command = program();
    command.arg("serve").arg("--config").arg(path);
    command
}

fn output(mut command: Command) -> Output {
    command.output().expect("cargo has built the program")
}

/// Returns the error about a file of settings.
fn refusal(settings: &str) -> String {
    let models = Models::new();
    let output = output(with_file(&models, settings));
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let path = models.path("serve.toml").display().to_string();
    error.replace(&path, "FILE").trim_end().to_owned()
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let models = Models::new();
    let model = models.write("copy", Some(("en", "de")));
    let settings = format!(
        "model = [{:?}]\nport = 0\nlog-level = \"error\"\nmax-chars = 1\nmax-texts = 1\nno-check = true\n\
         allow-host = [\"first\", \"second\"]\n",
        model.display().to_string()
    );
    let mut command = with_file(&models, &settings);
    command
        .args(["--max-chars", "3"])
        .env("TRANSFORMER_SERVE_MAX_CHARS", "2")
        .env("TRANSFORMER_SERVE_MAX_TEXTS", "2");
    let (mut child, address) = spawn(command);
    for (host, status) in [("first", 200), ("second", 200), ("third", 421)] {
        let live = call(address, "GET", "/health/live", &[("host", host)], "");
        assert_eq!(live.status, status, "{host}");
    }
    while call(address, "GET", "/health", &[], "").status != 200 {
        std::thread::yield_now();
    }
    let status = |text: Value| {
        let request = json!({ "text": text });
        post(address, "/v1/translate", &[], &request).status
    };
    assert_eq!([status(json!("dog")), status(json!("dogs"))], [200, 413]);
    assert_eq!(
        [status(json!(["a", "b"])), status(json!(["a", "b", "c"]))],
        [200, 413]
    );
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn the_environment_names_a_file() {
    let models = Models::new();
    let path = models.path("serve.toml");
    fs::write(&path, "max-chars = 7\n").expect("the directory is writable");
    let mut command = program();
    command
        .args(["serve", "--print-config"])
        .env("TRANSFORMER_SERVE_CONFIG", path);
    let printed = output(command).stdout;
    let printed = String::from_utf8_lossy(&printed);
    assert!(printed.contains("max-chars = 7\n"), "{printed}");
}

#[test]
fn printed_settings_are_a_file_with_the_same_settings() {
    let models = Models::new();
    let mut command = with_file(
        &models,
        "allow-host = [\"a\\\"b\", \"c\"]\nno-check = true\n",
    );
    command.args(["--print-config", "--port", "7", "--models-dir", "models"]);
    command.args(["--model", "007"]);
    let printed = output(command).stdout;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    for line in [
        "port = 7",
        "models-dir = \"models\"",
        "model = [\"007\"]",
        "no-check = true",
        "# api-keys =",
    ] {
        assert!(printed.lines().any(|it| it == line), "{line}: {printed}");
    }
    let mut again = with_file(&models, &printed);
    again.arg("--print-config");
    assert_eq!(String::from_utf8_lossy(&output(again).stdout), printed);
}

#[test]
fn only_serve_reads_the_file_that_the_environment_names() {
    let models = Models::new();
    let with = |arguments: &[&str], path: &std::path::Path| {
        let mut command = program();
        command
            .args(arguments)
            .env("TRANSFORMER_SERVE_CONFIG", path);
        output(command).status.code()
    };
    let missing = models.path("missing.toml");
    assert_eq!(with(&["bleu", "--help"], &missing), Some(0));
    assert_eq!(with(&["--version"], &missing), Some(0));
    let printing = ["serve", "--print-config"];
    assert_eq!(with(&printing, &missing), Some(1));
    // As for the variable of every flag, an empty one is a wrong value.
    assert_eq!(with(&printing, "".as_ref()), Some(2));
}

#[test]
fn a_wrong_key_or_value_is_refused_with_the_file() {
    let cases = [
        (
            "max-char = 1",
            "error: `FILE`: `max-char` is unknown; did you mean `max-chars`?",
        ),
        (
            "max_chars = 1",
            "error: `FILE`: `max_chars` is unknown; did you mean `max-chars`?",
        ),
        (
            "config = \"x\"",
            "error: `FILE`: `config` is not a setting; remove it",
        ),
        (
            "port = \"high\"",
            "error: `FILE`: invalid value 'high' for '--port <PORT>': invalid digit found in string",
        ),
    ];
    for (settings, expected) in cases {
        assert_eq!(refusal(settings), expected);
    }
    for settings in ["\"model=a\" = \"b\"", "\"\" = true"] {
        let unknown = refusal(settings);
        assert!(unknown.contains("` is unknown"), "{unknown}");
    }
    let unknown = refusal("zzzzzz = 1");
    assert!(
        unknown.starts_with("error: `FILE`: `zzzzzz` is unknown"),
        "{unknown}"
    );
    let broken = refusal("port = 1\nport");
    assert!(broken.starts_with("error: `FILE`: line 2: "), "{broken}");
    for settings in [
        "port = [1, 2]",
        "no-check = 1",
        "port = true",
        "[limits]\nmax-chars = 1",
    ] {
        assert!(refusal(settings).starts_with("error: `FILE`: "));
    }
}

#[cfg(unix)]
#[test]
fn the_trace_of_a_request_is_in_its_log_line() {
    let models = Models::new();
    let path = models.write("copy", Some(("en", "de")));
    let mut command = program();
    command
        .args(["serve", "--port", "0", "--log-format", "json", "--model"])
        .arg(path);
    let (mut child, address) = spawn(command);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [("x-request-id", "with"), ("traceparent", trace)];
    call(address, "GET", "/health/live", &headers, "");
    call(
        address,
        "GET",
        "/health/live",
        &[("x-request-id", "without")],
        "",
    );
    let killed = Command::new("kill").arg(child.id().to_string()).status();
    assert!(killed.expect("the system has kill").success());
    let mut log = String::new();
    let mut stderr = child.stderr.take().expect("standard error is piped");
    stderr.read_to_string(&mut log).expect("the log is UTF-8");
    child.wait().expect("it ends");
    let line = |id: &str| {
        let lines = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        let mut lines = lines.filter(|line| line["id"] == id);
        lines
            .next()
            .unwrap_or_else(|| panic!("{id} is not in {log}"))
    };
    let with = line("with");
    let ids = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
    assert_eq!([&with["trace_id"], &with["span_id"]], ids);
    assert_eq!(line("without")["trace_id"], Value::Null);
}
