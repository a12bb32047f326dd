//! The program as a user runs it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::client::{call, post};
use super::running::Models;

/// Returns the program, with none of the environment variables that set its flags.
pub(super) fn program() -> Command {
    without_flags(Command::new(env!("CARGO_BIN_EXE_transformer-infer")))
}

fn without_flags(mut command: Command) -> Command {
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_string_lossy().starts_with("TRANSFORMER_SERVE_")) {
        command.env_remove(name);
    }
    command
}

/// Starts the program, and returns it with its address.
fn serve(models: &Models, flags: &[&str]) -> (Child, SocketAddr) {
    let command = program();
    let path = models.write("copy", Some(("en", "de")));
    start(command, &path, flags)
}

/// Starts a command that runs the program, and returns it with its address.
fn start(mut command: Command, model: &Path, flags: &[&str]) -> (Child, SocketAddr) {
    command.args(["serve", "--port", "0", "--log-level", "error", "--model"]);
    command.arg(model).args(flags);
    spawn(command)
}

/// Starts a complete command, and returns it with its address.
pub(super) fn spawn(mut command: Command) -> (Child, SocketAddr) {
    let mut child = command
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
fn environment_variables_set_flags_that_are_not_given() {
    let models = Models::new();
    let path = models.write("copy", Some(("en", "de")));
    let mut command = program();
    command
        .args(["serve", "--port", "0"])
        .env("TRANSFORMER_SERVE_MODEL", &path)
        .env("TRANSFORMER_SERVE_LOG_LEVEL", "error")
        .env("TRANSFORMER_SERVE_MAX_CHARS", "3")
        .env("TRANSFORMER_SERVE_ALLOW_HOST", "first,second")
        .env("TRANSFORMER_SERVE_PORT", "not read");
    let (mut child, address) = spawn(command);
    for (host, status) in [("first", 200), ("second", 200), ("third", 421)] {
        let live = call(address, "GET", "/health/live", &[("host", host)], "");
        assert_eq!(live.status, status, "{host}");
    }
    while call(address, "GET", "/health", &[], "").status != 200 {
        std::thread::yield_now();
    }
    let refused = post(address, "/v1/translate", &[], &json!({ "text": "dogs" }));
    assert_eq!(refused.status, 413);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// Returns the error of a server that does not start.
#[cfg(unix)]
fn start_error(script: &str) -> String {
    let output = without_flags(Command::new("sh"))
        .args(["-c", script, env!("CARGO_BIN_EXE_transformer-infer")])
        .stdin(Stdio::null())
        .output()
        .expect("the system has a shell");
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[cfg(unix)]
#[test]
fn too_few_open_files_are_an_error_at_the_start() {
    let error = start_error("ulimit -n 64; exec \"$0\" serve --port 0 --model none");
    let expected = "error: the system lets the server open 64 files, and it needs 160; raise the limit (`ulimit -n 160`)";
    assert_eq!(error.trim_end(), expected);
}

#[cfg(unix)]
#[test]
fn a_missing_temporary_folder_is_an_error_at_the_start() {
    let error = start_error("TMPDIR=/missing exec \"$0\" serve --port 0 --model none");
    let expected =
        "error: cannot write translated files to `/missing`, the temporary folder; set TMPDIR";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_address_that_is_taken_is_one_line() {
    let models = Models::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it listens").port();
    let output = program()
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

/// Uploads a file, and returns the status of the reply.
#[cfg(unix)]
fn upload(address: SocketAddr, path: &str, content: &str) -> u16 {
    let part = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n";
    let body = format!("{part}{content}\r\n--b--\r\n");
    let headers = [("content-type", "multipart/form-data; boundary=b")];
    call(address, "POST", path, &headers, &body).status
}

/// Translates a file, and returns the status of the reply.
#[cfg(unix)]
fn translate_file(address: SocketAddr, content: &str) -> u16 {
    upload(address, "/translate_file?source=en&target=de", content)
}

/// Returns the folders and files in a folder, with the rights of each.
#[cfg(unix)]
fn rights(folder: &Path) -> Vec<(PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt;

    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        let metadata = fs::metadata(&path).expect("it is there");
        found.push((path.clone(), metadata.permissions().mode() & 0o7777));
        if metadata.is_dir() {
            found.extend(rights(&path));
        }
    }
    found
}

#[cfg(unix)]
#[test]
fn translated_files_are_private_and_a_failed_or_killed_server_leaves_none() {
    let models = Models::new();
    let model = models.write("copy", Some(("en", "de")));
    let temporary = tempfile::tempdir().expect("the system has temporary directories");
    let serve = || {
        // No right is taken by the umask, and a file has at most 4 KiB.
        let script = "umask 0; trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut command = without_flags(Command::new("sh"));
        command.args(["-c", script, env!("CARGO_BIN_EXE_transformer-infer")]);
        command.env("TMPDIR", temporary.path());
        let (child, address) = start(command, &model, &["--threads", "1"]);
        while call(address, "GET", "/health", &[], "").status != 200 {
            std::thread::yield_now();
        }
        (child, address)
    };
    // Returns the folder of the only file.
    let folder = || -> PathBuf {
        let found = rights(temporary.path());
        let (folders, files): (Vec<_>, Vec<_>) = found.iter().partition(|(path, _)| path.is_dir());
        assert!(folders.iter().all(|(_, mode)| *mode == 0o700), "{found:?}");
        assert_eq!(files.len(), 1, "{found:?}");
        assert_eq!(files[0].1, 0o600, "{found:?}");
        let folder = files[0].0.parent();
        folder.expect("a file has a folder").to_owned()
    };
    let (mut killed, address) = serve();
    assert_eq!(translate_file(address, "a dog"), 200);
    let left = folder();
    assert_eq!(translate_file(address, &"a dog.\n".repeat(1000)), 507);
    assert_eq!(folder(), left);

    // Another server beside it removes nothing.
    let (mut other, _) = serve();
    assert_eq!(folder(), left);
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    assert_eq!(folder(), left);
    let (mut last, address) = serve();
    assert!(!left.exists());

    // A server that is stopped leaves nothing, even if a file is being translated.
    assert_eq!(translate_file(address, "a dog"), 200);
    let path = "/v2/document?source_lang=EN&target_lang=DE";
    assert_eq!(upload(address, path, &"a dog.\n".repeat(10_000)), 200);
    let id = last.id().to_string();
    let stopped = Command::new("kill").args(["-TERM", &id]).status();
    assert!(stopped.expect("the system has kill").success());
    assert!(last.wait().expect("the program ends").success());
    assert_eq!(
        rights(temporary.path()).len(),
        1,
        "the other server has a folder"
    );
    other.kill().expect("it runs");
    other.wait().expect("it ends");
}

/// The Dockerfile itself needs a container engine.
#[test]
fn the_health_check_of_the_image_finds_a_server_that_lives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/deploy/Dockerfile");
    let file = fs::read_to_string(path).expect("it is in the repository");
    let file = file.replace("\\\n", "");
    let check = file
        .lines()
        .find_map(|line| line.strip_prefix("HEALTHCHECK ")?.split_once(" CMD "));
    let (_, words) = check.expect("the image has a health check");
    let words: Vec<String> = serde_json::from_str(words).expect("it is a list of words");
    let models = Models::new();
    let (mut child, address) = serve(&models, &["--threads", "1"]);
    let is_healthy = || {
        let mut check = Command::new(&words[0]);
        check.args(&words[1..]).stderr(Stdio::null());
        check.env("TRANSFORMER_SERVE_PORT", address.port().to_string());
        let Ok(status) = check.status() else {
            return None; // no bash
        };
        Some(status.success())
    };
    let lives = is_healthy();
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    if let Some(lives) = lives {
        assert_eq!((lives, is_healthy()), (true, Some(false)));
    }
}
