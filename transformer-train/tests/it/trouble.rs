//! Runs that do not reach their end: killed, interrupted, diverged, or out of disk space.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use transformer_core::ModelDirectory;

use crate::workplace::{FILES, N_PAIRS, Running, Workplace};

/// More updates than any test waits for.
const ENDLESS: u64 = 1_000_000;

/// Starts a run and kills it after `n_intervals`.
fn killed_after(n_intervals: usize) -> Workplace {
    let workplace = Workplace::with(&[("validation_interval = 10", "validation_interval = 3")]);
    let mut running = workplace.start("run", ENDLESS);
    running.wait_for_intervals(n_intervals);
    running.kill();
    workplace
}

#[test]
fn a_run_killed_after_its_first_interval_leaves_a_model() {
    assert!(killed_after(1).translates("run"));
}

#[test]
fn a_run_killed_at_any_moment_leaves_an_intact_model() {
    for n_intervals in [3, 4, 6, 9] {
        assert!(killed_after(n_intervals).translates("run"));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_run_after_the_interval_with_its_model() {
    let workplace = Workplace::new();
    let mut running = workplace.start("run", ENDLESS);
    running.wait_for_intervals(1);
    running.interrupt();
    let ended = running.wait();
    // A command after `&&` must not use the model as if the run had finished.
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(
        ended.stdout.contains(" translate --model run "),
        "{ended:?}"
    );
    assert!(workplace.translates("run"));
}

const INTERRUPTED: &str =
    "error: stopped before the first update; nothing is lost, and the same command starts again\n";

/// Checks that a run reports its interruption before the first update, and leaves no files.
#[cfg(unix)]
fn ends_without_a_trace(running: Running, workplace: &Workplace) {
    let ended = running.wait();
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(130), INTERRUPTED)
    );
    assert!(!workplace.path("run").exists());
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_that_waits_for_its_text() {
    let workplace = Workplace::new();
    let mut program = workplace.program(&["--config", "run.toml", "--tsv", "-", "--out", "run"]);
    let mut running = Running::new({
        program.stdin(Stdio::piped());
        program
    });
    running.wait_for("run ");
    running.interrupt();
    ends_without_a_trace(running, &workplace);
}

/// Reading the text takes seconds.
#[cfg(unix)]
#[test]
fn an_interrupt_while_the_store_is_built_leaves_no_store() {
    let workplace = Workplace::new();
    workplace.write("a.src", "101101 1011\n".repeat(400_000));
    workplace.write("b.tgt", "55 13\n".repeat(400_000));
    let mut program = workplace.program(&FILES);
    program.args([
        "--set",
        "data.store=disk",
        "--set",
        "data.tokenizer_sample=9",
        "--out",
        "run",
    ]);
    let mut running = Running::new(program);
    running.wait_for("store       building");
    running.interrupt();
    ends_without_a_trace(running, &workplace);
}

/// A learning rate so large that the loss after the first update is not finite.
const DIVERGING: (&str, &str) = (
    "warmup_steps = 15",
    "warmup_steps = 15\nlearning_rate_factor = 1e30",
);

#[test]
fn a_loss_that_is_not_finite_ends_the_run_and_names_the_update() {
    let ended = Workplace::with(&[DIVERGING]).train("run", &[]);
    let message = ended.failure();
    assert!(message.starts_with("the loss of update 2 is "), "{message}");
    assert!(message.contains("`learning_rate_factor`"), "{message}");
}

/// Trains on the text with another line after each, made of the line and its side, and checks that the error names lines
/// of the original text only.
fn assert_names_original_lines(more: &[&str], other: impl Fn(&str, &str) -> String) {
    let workplace = Workplace::with(&[DIVERGING]);
    for name in ["a.src", "b.tgt"] {
        let text = workplace.read(name);
        let lines = text
            .lines()
            .map(|line| format!("{line}\n{}\n", other(name, line)));
        workplace.write(name, lines.collect::<String>());
    }
    let ended = workplace.train("run", more);
    let message = ended.failure();
    let told = message.split_once(", made of lines ").map(|(_, rest)| rest);
    let told = told.and_then(|rest| rest.split([';', 'a']).next());
    let lines = told.expect("the lines are reported").trim().split(", ");
    let lines: Vec<u64> = lines
        .map(|line| line.parse().expect("lines are numbers"))
        .collect();
    assert!(
        lines.is_sorted() && lines.iter().all(|line| line % 2 == 1),
        "{message}"
    );
    assert!(
        *lines.last().unwrap_or(&0) <= 2 * N_PAIRS as u64,
        "{message}"
    );
}

/// Every second line is too long and left out.
#[test]
fn a_loss_that_is_not_finite_is_reported_with_its_lines() {
    let long = |name: &str| if name == "a.src" { "1" } else { "7" };
    assert_names_original_lines(&[], |name, _| long(name).repeat(14));
}

/// Every second pair occurred before.
#[test]
fn a_loss_that_is_not_finite_is_reported_with_its_lines_of_a_cleaned_text() {
    assert_names_original_lines(&["--clean"], |_, line| line.to_owned());
}

#[test]
fn a_run_that_failed_early_does_not_claim_a_model() {
    let workplace = Workplace::with(&[DIVERGING]);
    let ended = workplace.train("run", &[]);
    let message = ended.failure();
    assert!(!workplace.path("run/model").exists());
    assert!(!message.contains("is kept"), "{message}");
}

#[test]
fn weights_that_are_not_finite_are_not_published() {
    let interval = ("validation_interval = 10", "validation_interval = 1");
    let workplace = Workplace::with(&[DIVERGING, interval]);
    workplace.train("run", &[]).failure();
    assert!(!workplace.path("run/model").exists() || workplace.translates("run"));
}

/// The learning rate rises until the weights overflow. The model before that is intact, but may not
/// translate any more.
#[test]
fn a_loss_that_becomes_infinite_leaves_the_model_of_the_last_validation() {
    let workplace = Workplace::with(&[
        (
            "warmup_steps = 15",
            "warmup_steps = 1000000\nlearning_rate_factor = 1e17",
        ),
        ("validation_interval = 10", "validation_interval = 1"),
        ("updates = 25", "updates = 2000"),
    ]);
    let ended = workplace.train("run", &[]);
    let message = ended.failure();
    assert!(ended.stdout.contains("\nupdate 1/"), "{}", ended.stdout);
    assert!(message.contains("loss of update "), "{message}");
    assert!(ModelDirectory::open(workplace.path("run")).is_ok());
}

#[test]
fn checkpoints_that_cannot_be_written_end_the_run_and_leave_the_model() {
    let workplace = Workplace::new();
    let mut running = workplace.start("run", ENDLESS);
    running.wait_for_intervals(3);
    let folder = workplace.path("run/checkpoints");
    fs::rename(&folder, workplace.path("elsewhere")).expect("the folder is there");
    fs::write(&folder, "a file").expect("the temporary directory is writable");
    let ended = running.wait();
    let message = ended.failure();
    assert!(message.contains("checkpoints"), "{message}");
    assert!(workplace.translates("run"));
}

/// The system limits the size of files: the model fits, and Adam's state, which is twice as large,
/// does not.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_the_run_and_leaves_the_model() {
    let workplace = Workplace::new();
    workplace.train("small", &[]).lines();
    let size = |path: &Path| fs::metadata(path).expect("the run left the file").len();
    let model = size(&workplace.path("small/checkpoints/model-25.bpk"));
    let optimizer = size(&workplace.path("small/checkpoints/optim-25.bpk"));
    assert!(3 * model < 2 * optimizer, "{model} {optimizer}");
    // In units of 512 bytes. With the signal ignored, writing fails as on a full disk.
    let limit = (model + optimizer) / 2 / 512;
    let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
    let program = env!("CARGO_BIN_EXE_transformer-train");
    let arguments = [
        "-c", &script, program, "--config", "run.toml", "--src", "a.src", "--tgt", "b.tgt",
        "--out", "run",
    ];
    let ended = Running::new(workplace.command("sh", &arguments)).wait();
    let message = ended.failure();
    assert!(message.contains("optim-10.bpk"), "{message}");
    assert!(workplace.translates("run"));
}

#[test]
fn a_closed_standard_output_does_not_keep_the_program_from_ending() {
    let workplace = Workplace::new();
    let mut running = workplace.start("run", 51);
    running.wait_for_intervals(1);
    let ended = running.close_output();
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    assert!(workplace.translates("run"));
}
