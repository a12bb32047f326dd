//! Output that does not arrive: a full disk, a stream that is not open for writing, a closed pipe.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::command::{model, stderr};

/// Runs the program in a folder, with this standard output.
fn run(folder: &Path, arguments: &str, stdout: impl Into<Stdio>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(arguments.split(' '))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .output()
        .expect("cargo has built the program")
}

/// A device that is always full.
fn full() -> File {
    let device = OpenOptions::new().write(true).open("/dev/full");
    device.expect("Linux has this device")
}

/// Returns a folder with a model, two files of lines, and a folder for output.
fn folder() -> tempfile::TempDir {
    let folder = model();
    for name in ["src", "ref"] {
        fs::write(folder.path().join(name), "bad\na cab\n").expect("the folder is writable");
    }
    folder
}

const COMMANDS: [&str; 14] = [
    "--help",
    "--version",
    "help score",
    "translate --help",
    "translate --quiet --max-len 3 --model . bad",
    "score --quiet --model . --src src --tgt ref",
    "evaluate --quiet --max-len 3 --model . --src src --ref ref",
    "bleu --hyp src --ref ref",
    "compare --ref ref --hyp src --hyp ref",
    "attention --quiet --model . --out a.json bad",
    "inspect --model .",
    "inspect --json --model .",
    "quantize --model . --out small --precision f16",
    "export --model . --out exported --format safetensors",
];

#[test]
fn every_command_fails_with_one_line_if_its_output_is_lost() {
    let folder = folder();
    for arguments in COMMANDS {
        let usable = run(folder.path(), arguments, Stdio::piped());
        assert_eq!(
            usable.status.code(),
            Some(0),
            "{arguments}: {}",
            stderr(&usable)
        );
        for name in ["small", "exported"] {
            let _ = fs::remove_dir_all(folder.path().join(name));
        }
        assert!(!usable.stdout.is_empty(), "{arguments}");
        let lost = run(folder.path(), arguments, full());
        let message =
            "error: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!(
            (lost.status.code(), stderr(&lost)),
            (Some(1), message),
            "{arguments}"
        );
        for name in ["small", "exported"] {
            let _ = fs::remove_dir_all(folder.path().join(name));
        }
    }
}

#[test]
fn an_output_that_is_open_for_reading_only_is_an_error() {
    let folder = folder();
    let reading = || File::open(folder.path().join("src")).expect("the file was written");
    for arguments in ["--version", "translate --quiet --max-len 3 --model . bad"] {
        let lost = run(folder.path(), arguments, reading());
        let message = "error: cannot write to standard output: Bad file descriptor (os error 9)\n";
        assert_eq!(
            (lost.status.code(), stderr(&lost)),
            (Some(1), message),
            "{arguments}"
        );
    }
}

#[test]
fn help_into_a_closed_pipe_is_no_error() {
    let folder = folder();
    let (reader, writer) = std::io::pipe().expect("the system has pipes");
    drop(reader);
    let closed = run(folder.path(), "--help", writer);
    assert_eq!((closed.status.code(), stderr(&closed)), (Some(0), ""));
}

#[test]
fn wrong_arguments_are_exit_2_wherever_the_output_goes() {
    let wrong = run(folder().path(), "translate --modle .", full());
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("--modle"), "{}", stderr(&wrong));
}

/// What `evaluate` writes where translations and scores go to standard output: first all translations, then BLEU and
/// chrF.
fn assert_scores_follow_translations(printed: &[u8]) {
    let text = String::from_utf8_lossy(printed);
    let lines: Vec<&str> = text.lines().collect();
    let is_score = |line: &&str| line.starts_with("BLEU|") || line.starts_with("chrF2|");
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[2..].iter().all(is_score), "{text}");
    assert!(!lines[..2].iter().any(is_score), "{text}");
}

const EVALUATE: &str = "evaluate --quiet --max-len 3 --model . --src src --ref ref --out";

#[test]
fn scores_follow_the_translations_if_both_go_to_a_pipe() {
    let folder = folder();
    let output = run(
        folder.path(),
        &format!("{EVALUATE} /dev/stdout"),
        Stdio::piped(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert_scores_follow_translations(&output.stdout);
}

#[test]
fn scores_follow_the_translations_if_both_go_to_a_file() {
    let folder = folder();
    let path = folder.path().join("all");
    let file = File::create(&path).expect("the folder is writable");
    let output = run(folder.path(), &format!("{EVALUATE} all"), file);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_scores_follow_translations(&fs::read(&path).expect("the file was written"));
}

#[test]
fn scores_are_printed_even_if_the_translations_cannot_be_written() {
    let folder = folder();
    let output = run(
        folder.path(),
        &format!("{EVALUATE} /dev/full"),
        Stdio::piped(),
    );
    assert_eq!(output.status.code(), Some(1));
    let message = "error: cannot write `/dev/full`: No space left on device (os error 28)\n";
    assert_eq!(stderr(&output), message);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.starts_with("BLEU|") && text.lines().count() == 2,
        "{text}"
    );
}
