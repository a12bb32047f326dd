//! A system that starts few threads: the same translations, or an error of one line.
//!
//! A limit of processes counts those of a user, and does not hold for root. So these tests run as root, and the program
//! as a user that has no other process, also none of another run of the tests: each call has its own, because the system
//! counts the threads of a process for a moment after its end.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, thread};

use crate::command::{model, stderr, stdout};

/// Number of calls of `translate` in this process.
static N_CALLS: AtomicU32 = AtomicU32::new(0);

/// Runs `translate` with at most `n_threads` threads, as a user that no other call has; `None` if that is not possible
/// here.
fn translate(model: &Path, n_threads: usize, flags: &str) -> Option<Output> {
    let folder = fs::Permissions::from_mode(0o755);
    fs::set_permissions(model, folder).expect("the folder is ours");
    let program = env!("CARGO_BIN_EXE_transformer-infer");
    let text = fs::File::open(model.join("text")).expect("it was written");
    let limited =
        format!("ulimit -u {n_threads}; exec {program} translate --model . --max-len 9 -q {flags}");
    let call = N_CALLS.fetch_add(1, Ordering::Relaxed);
    let id = (20_000 + (100 * std::process::id() + call) % 40_000).to_string();
    let output = Command::new("setpriv")
        .args([
            "--reuid",
            &id,
            "--regid",
            &id,
            "--clear-groups",
            "bash",
            "-c",
            &limited,
        ])
        .current_dir(model)
        .stdin(Stdio::from(text))
        .output();
    let output = output.ok()?;
    let is_refused =
        matches!(output.status.code(), Some(126 | 127)) || stderr(&output).starts_with("setpriv");
    if is_refused {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no other user can run the program: {}",
            stderr(&output).trim()
        );
    }
    (!is_refused).then_some(output)
}

/// Returns a model, and a text of 300 lines beside it.
fn model_with_text() -> tempfile::TempDir {
    let model = model();
    let text = "a bad cab faded\nfeed a cab\n\n".repeat(100);
    fs::write(model.path().join("text"), text).expect("the folder is writable");
    model
}

#[test]
fn few_threads_change_no_translation() {
    let model = model_with_text();
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let Some(expected) = translate(model.path(), 9999, "") else {
        return;
    };
    assert_eq!(stdout(&expected).len(), 300);
    // The main thread, the one that reads, and 1 for rayon; then one more each time.
    for n_threads in 3..3 * n_cores.min(4) + 4 {
        for flags in ["", "--threads 4", "--threads 1"] {
            let found = translate(model.path(), n_threads, flags);
            let found = found.expect("it was possible before");
            assert!(found.status.success(), "{n_threads}: {}", stderr(&found));
            assert!(found.stdout == expected.stdout, "{n_threads} {flags}");
        }
    }
}

#[test]
fn too_few_threads_are_an_error_of_one_line() {
    let model = model_with_text();
    for n_threads in [1, 2] {
        let Some(refused) = translate(model.path(), n_threads, "") else {
            return;
        };
        let expected = format!(
            "error: the system starts only {} of the 2 threads that are needed; use --threads 1, or raise the limit of \
             processes (`ulimit -u`, or that of the container) or of memory: Resource temporarily unavailable (os error \
             11)\n",
            n_threads - 1
        );
        assert_eq!(
            (refused.status.code(), stderr(&refused)),
            (Some(1), &*expected)
        );
    }
}
