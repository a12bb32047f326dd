//! `validation.command`: a program of the user scores the translations of every validation.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::workplace::{Running, Workplace, training};

/// Writes a shell script, and returns the arguments that make it the command of a run.
fn script(workplace: &Workplace, text: &str) -> Vec<String> {
    workplace.write("score.sh", text);
    let command = "validation.command=sh score.sh {src} {hyp} {ref}";
    ["--set", command].map(str::to_owned).to_vec()
}

fn with<'a>(script: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    script
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect()
}

/// Returns the scores of the command in `metrics.csv`, with their updates.
fn scores(workplace: &Workplace, out: &str) -> Vec<(u64, f64)> {
    let table = workplace.read(&format!("{out}/metrics.csv"));
    let rows = table
        .lines()
        .filter_map(|row| row.split_once(",valid,Command score,"));
    rows.map(|(update, score)| {
        let score = score.parse().expect("scores are numbers");
        (update.parse().expect("updates are numbers"), score)
    })
    .collect()
}

/// Prints the number of its calls, but 100 at the second.
const SECOND_IS_BEST: &str = r#"
echo call >> calls
n=$(wc -l < calls)
if [ "$n" -eq 2 ]; then n=100; fi
echo "scoring is done"
echo "score: $n"
"#;

#[test]
fn the_score_of_every_validation_is_in_the_table() {
    let workplace = Workplace::new();
    let script = script(&workplace, SECOND_IS_BEST);
    workplace.train("run", &with(&script, &[])).lines();
    assert_eq!(
        scores(&workplace, "run"),
        [(10, 1.0), (20, 100.0), (25, 3.0)]
    );
}

#[test]
fn patience_and_the_best_checkpoint_follow_the_command() {
    let workplace = Workplace::new();
    let script = script(&workplace, SECOND_IS_BEST);
    let more = "--set training.best_by=command --set training.patience=2 --updates 200";
    let more: Vec<&str> = more.split(' ').collect();
    let ended = workplace.train("run", &with(&script, &more));
    assert_eq!(ended.intervals().len(), 4, "{ended:?}");
    let candidate = "for the best checkpoint, of update 20";
    assert!(ended.stdout.contains(candidate), "{ended:?}");
}

#[test]
fn the_command_gets_the_lines_of_each_pair_in_their_order() {
    let workplace = Workplace::new();
    workplace.write("valid.src", "101110\n1011\n11\n");
    workplace.write("valid.tgt", "56\n13\n3\n");
    let script = script(&workplace, "cp \"$1\" src; cp \"$3\" ref; wc -l < \"$2\"");
    let more = "--valid-src valid.src --valid-tgt valid.tgt --set validation.max_sentences=9";
    let more: Vec<&str> = more.split(' ').collect();
    workplace.train("run", &with(&script, &more)).lines();
    assert_eq!(workplace.read("src"), workplace.read("valid.src"));
    assert_eq!(workplace.read("ref"), workplace.read("valid.tgt"));
    assert_eq!(scores(&workplace, "run")[0], (10, 3.0));
}

#[test]
fn the_manifest_quotes_the_command_and_its_score() {
    let workplace = Workplace::new();
    let script = script(&workplace, "echo 0.5");
    workplace.train("run", &with(&script, &[])).lines();
    let manifest = workplace.read("run/model/manifest.json");
    assert!(
        manifest.contains("sh score.sh {src} {hyp} {ref}"),
        "{manifest}"
    );
    assert!(
        manifest.contains("\"valid_command_score\": 0.5"),
        "{manifest}"
    );
}

const FAILING: &str = "echo 'no GPU' >&2; exit 3";

#[test]
fn a_command_that_fails_is_a_warning_with_its_last_words() {
    let workplace = Workplace::new();
    let script = script(&workplace, FAILING);
    let ended = workplace.train("run", &with(&script, &[]));
    let warnings: Vec<&str> = ended
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("warning     `validation.command`"))
        .collect();
    assert_eq!(warnings.len(), 4, "{ended:?}");
    assert!(warnings[0].contains("3: no GPU; all it wrote is in `run/validation/errors.txt`"));
    assert!(workplace.translates("run"));
}

#[test]
fn a_command_that_always_fails_uses_up_no_patience_and_perplexity_chooses_the_model() {
    let workplace = Workplace::new();
    let script = script(&workplace, FAILING);
    let more = "--set training.best_by=command --set training.patience=1 --updates 50";
    let more: Vec<&str> = more.split(' ').collect();
    let ended = workplace.train("run", &with(&script, &more));
    assert_eq!(ended.intervals().len(), 5, "{ended:?}");
    let candidate = "score of the command none (perplexity ";
    assert!(ended.stdout.contains(candidate), "{ended:?}");
    assert!(!ended.stdout.contains("-inf "), "{ended:?}");
}

#[test]
fn a_command_that_fails_ends_the_run_if_the_settings_say_so() {
    let workplace = Workplace::new();
    let script = script(&workplace, FAILING);
    let more = ["--set", "validation.command_failure=stop"];
    let ended = workplace.train("run", &with(&script, &more));
    let message = ended.failure();
    assert!(
        message.starts_with("`validation.command` has no score: "),
        "{message}"
    );
    assert!(
        message.contains("set `validation.command_failure` to \"warn\""),
        "{message}"
    );
}

#[test]
fn a_program_that_does_not_exist_is_named() {
    let workplace = Workplace::new();
    let more = ["--set", "validation.command=nowhere {hyp}"];
    let ended = workplace.train("run", &more);
    assert!(
        ended.stdout.contains("`nowhere` cannot be started: "),
        "{ended:?}"
    );
}

/// Writes the number of its process and of a program that it starts, and waits for a long time.
const ENDLESS: &str = "sleep 1000 & echo $$ $! > processes.part; mv processes.part processes; wait";

/// Waits until the processes of the script have ended.
fn wait_for_end(workplace: &Workplace) {
    let is_alive = |process: &str| {
        // A process that has ended may wait for somebody to ask how.
        let alive = format!("kill -0 {process} && ! grep -q 'State:.Z' /proc/{process}/status");
        let signal = Command::new("sh").args(["-c", &alive]).output();
        signal.expect("there is a shell").status.success()
    };
    let processes = workplace.read("processes");
    while processes.split_whitespace().any(is_alive) {}
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let workplace = Workplace::new();
    let script = script(&workplace, ENDLESS);
    let more = [
        "--updates",
        "10",
        "--set",
        "validation.command_time_limit=1",
    ];
    let ended = workplace.train("run", &with(&script, &more));
    assert!(
        ended.stdout.contains("it was killed after 1 seconds; "),
        "{ended:?}"
    );
    // On a busy machine, it was killed before it began.
    if workplace.path("processes").exists() {
        wait_for_end(&workplace);
    }
}

/// The first interrupt waits for the end of the interval, to which the command belongs.
#[test]
fn a_second_interrupt_kills_the_command() {
    let workplace = Workplace::new();
    let script = script(&workplace, ENDLESS);
    let arguments = [&training("run")[..], &with(&script, &[])].concat();
    let mut running = Running::new(workplace.program(&arguments));
    while !workplace.path("processes").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    running.interrupt();
    // The system delivers two signals as one if the first was not received yet.
    let _errors = running.wait_for_error("stopping after this interval");
    running.interrupt();
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    wait_for_end(&workplace);
    assert!(!fs::exists(workplace.path("run/model")).unwrap_or(true));
}
