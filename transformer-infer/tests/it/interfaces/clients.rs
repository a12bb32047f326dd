//! The unmodified clients of other projects, as `tests/clients/install` installs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::server::{KEY, TestServer, shared_server};

/// The environment variable with the folder of the clients.
const FOLDER: &str = "TRANSFORMER_CLIENTS";

/// Returns a file of the folder of clients; `None`, with the reason, if it is not there.
#[expect(clippy::print_stdout, reason = "a skipped test prints the reason")]
fn installed(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(FOLDER) else {
        println!("skipped: set {FOLDER} to the folder that tests/clients/install prints");
        return None;
    };
    let path = Path::new(&folder).join(name);
    if !path.exists() {
        println!("skipped: {} is not installed", path.display());
        return None;
    }
    Some(path)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}

/// Runs clients against a server without keys and one with a key.
#[expect(clippy::print_stdout, reason = "the checks that passed are the result")]
fn run(command: &mut Command) {
    let with_key = TestServer::with_key();
    let url = |server: &TestServer| format!("http://{}", server.address);
    command.args([url(shared_server()), url(&with_key), KEY.to_owned()]);
    let output = command.output().expect("the program was installed");
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    println!("{stdout}");
    assert!(output.status.success(), "{stdout}{stderr}");
}

#[test]
fn clients_of_pypi_translate() {
    if let Some(python) = installed("python/bin/python") {
        run(Command::new(python).arg(script("clients.py")));
    }
}

#[test]
fn clients_of_npm_translate() {
    if let Some(modules) = installed("node/node_modules") {
        // Modules are found beside the script.
        let folder = modules.parent().expect("it is in a folder");
        let copy = tempfile::Builder::new().suffix(".mjs").tempfile_in(folder);
        let copy = copy.expect("the folder is writable");
        std::fs::copy(script("clients.mjs"), copy.path()).expect("the folder is writable");
        run(Command::new("node").arg(copy.path()));
    }
}

#[test]
fn the_client_of_crates_io_translates() {
    if let Some(program) = installed("libretranslate-client") {
        run(&mut Command::new(program));
    }
}
