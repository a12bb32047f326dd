//! A system that starts few threads: the same run, or an error of one line.
//!
//! A limit of processes counts those of a user, and does not hold for root. So these tests run as root, and the program
//! as a user that has no other process, also none of another run of the tests.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::workplace::{Ended, FILES, Workplace};

/// Trains as a user with at most `n_threads` threads; `None` if that is not possible here.
fn train(workplace: &Workplace, out: &str, n_threads: usize) -> Option<Output> {
    let everyone = fs::Permissions::from_mode(0o777);
    fs::set_permissions(workplace.path(""), everyone).expect("the folder is ours");
    let arguments = [&FILES[..], &["--threads", "3", "--out", out]].concat();
    let program = env!("CARGO_BIN_EXE_transformer-train");
    let limited = format!("ulimit -u {n_threads}; exec {program} \"$@\"");
    let id = (20_000 + 2 * std::process::id() % 40_000).to_string();
    let user = [
        "--reuid",
        &id,
        "--regid",
        &id,
        "--clear-groups",
        "bash",
        "-c",
        &limited,
        "_",
    ];
    let mut command = workplace.command("setpriv", &user);
    let output = command.args(arguments).output().ok()?;
    let message = String::from_utf8_lossy(&output.stderr);
    let is_refused =
        matches!(output.status.code(), Some(126 | 127)) || message.starts_with("setpriv");
    if is_refused {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no other user can run the program: {}",
            message.trim()
        );
    }
    (!is_refused).then_some(output)
}

#[test]
fn a_run_with_few_threads_is_the_same_or_refused_in_one_line() {
    let workplace = Workplace::new();
    let Some(all) = train(&workplace, "all", 9999) else {
        return;
    };
    Ended::new(all).lines();
    let mut n_refused = 0;
    let mut n_trained = 0;
    for n_threads in [1, 2, 5, 9, 13, 16, 17, 18, 19, 20, 24] {
        let out = format!("run-{n_threads}");
        let limited = train(&workplace, &out, n_threads);
        let limited = Ended::new(limited.expect("it was possible before"));
        if limited.code == Some(0) {
            limited.lines();
            assert!(
                workplace.weights(&out) == workplace.weights("all"),
                "{n_threads}"
            );
            n_trained += 1;
        } else {
            let message = limited.failure();
            assert!(message.starts_with("the system starts only "), "{message}");
            assert!(
                message.contains("threads that are needed; use --threads 1, or raise"),
                "{message}"
            );
            n_refused += 1;
        }
    }
    assert!(n_refused > 0 && n_trained > 0, "{n_refused} {n_trained}");
}
