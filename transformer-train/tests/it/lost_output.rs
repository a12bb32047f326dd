//! Standard output that does not arrive, as on a full disk.

use std::fs::{File, OpenOptions};

use crate::workplace::{Ended, Workplace, training};

const LOST: &str = "cannot write to standard output: No space left on device (os error 28)";

/// Runs the program with a standard output that is always full.
fn run(workplace: &Workplace, arguments: &[&str]) -> Ended {
    let full = OpenOptions::new().write(true).open("/dev/full");
    let full = full.expect("Linux has this device");
    let output = workplace.program(arguments).stdout(full).output();
    Ended::new(output.expect("cargo has built the program"))
}

#[test]
fn help_version_and_settings_that_are_lost_are_errors() {
    let workplace = Workplace::new();
    for arguments in ["--help", "--version", "average --help", "--print-config"] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        assert_eq!(run(&workplace, &arguments).failure(), LOST, "{arguments:?}");
    }
}

#[test]
fn a_run_whose_lines_are_lost_is_complete_and_fails() {
    let workplace = Workplace::new();
    assert_eq!(run(&workplace, &training("run")).failure(), LOST);
    assert!(workplace.translates("run"));
    let average = ["average", "--run", "run", "--last", "2", "--out", "mean"];
    let ended = run(&workplace, &average);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.ends_with(&format!("error: {LOST}\n")),
        "{ended:?}"
    );
    assert!(workplace.translates("mean"));
}

#[test]
fn settings_into_an_output_that_is_open_for_reading_are_an_error() {
    let workplace = Workplace::new();
    let reading = File::open(workplace.path("a.src")).expect("the workplace has the file");
    let output = workplace
        .program(&["--print-config"])
        .stdout(reading)
        .output();
    let ended = Ended::new(output.expect("cargo has built the program"));
    assert_eq!(
        ended.failure(),
        "cannot write to standard output: Bad file descriptor (os error 9)"
    );
}
