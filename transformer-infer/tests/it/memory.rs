//! Commands that read endless lines, lines at the limit, and files that unpack to gigabytes: they end soon, in an address
//! space that is bounded by the model and the limit of a line.

use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use transformer_core::lines::MAX_LINE_BYTES;

use crate::command::{model, stderr, stdout};

/// Address space of the program without text: its code, one heap, room for one that is being made, and the model, which
/// has less than a megabyte.
const PROGRAM_KIB: usize = 320 << 10;

/// Address space of a thread for each core.
const THREAD_KIB: usize = 10 << 10;

/// Bytes that a command may take for each byte of the longest line.
const BYTES_PER_BYTE: usize = 200;

/// Seconds of processors after which the system kills a command: on a busy computer they take longer, and are not more.
const MAX_CPU_SECONDS: usize = 60;

/// A folder with hostile files.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("the system has temporary directories"))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("the folder is writable");
        path.to_str().expect("the path is UTF-8").to_owned()
    }

    /// Writes two megabytes of gzip that unpack to two gigabytes of zeros.
    fn bomb(&self) -> String {
        self.write("bomb.gz", gzip(&vec![0; 64 << 20]).repeat(32))
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("memory is writable");
    gzip.finish().expect("memory is writable")
}

/// Runs the program in the address space that a line of `max_line_bytes` bytes allows; standard input is the file.
fn run_with(max_line_bytes: usize, arguments: &[&str], stdin: &str) -> Output {
    let n_cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let of_text = (BYTES_PER_BYTE * max_line_bytes) >> 10;
    let max_kib = PROGRAM_KIB + THREAD_KIB * n_cores + of_text;
    let limits = format!("ulimit -v {max_kib}; ulimit -t {MAX_CPU_SECONDS}");
    Command::new("sh")
        .arg("-c")
        .arg(format!("{limits}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(arguments)
        // Otherwise threads reserve address space for heaps of their own.
        .env("MALLOC_ARENA_MAX", "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(File::open(stdin).expect("the input is there"))
        .output()
        .expect("the system has a shell")
}

fn run(arguments: &[&str], stdin: &str) -> Output {
    run_with(MAX_LINE_BYTES, arguments, stdin)
}

/// Checks that the command fails with exit code 1 and one line of error, and returns it.
fn refusal(arguments: &[&str], stdin: &str) -> String {
    let output = run(arguments, stdin);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
    let errors = message.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{message}");
    message.lines().last().unwrap_or_default().to_owned()
}

/// Checks that the command names the first line of `name`, which is too long.
fn refuses_first_line(arguments: &[&str], stdin: &str, name: &str) {
    let message = refusal(arguments, stdin);
    let expected =
        format!("error: {name}, line 1 has more than 1048576 bytes, the limit of a line;");
    assert!(message.starts_with(&expected), "{arguments:?}: {message}");
}

fn path(model: &TempDir) -> &str {
    model.path().to_str().expect("the path is UTF-8")
}

#[test]
fn an_endless_line_of_a_file_is_refused_by_every_command() {
    let (model, files) = (model(), Files::new());
    let (model, bomb, line) = (
        path(&model),
        files.bomb(),
        files.write("line", "a bad cab\n"),
    );
    for endless in [bomb.as_str(), "/dev/zero"] {
        let name = format!("`{endless}`");
        for arguments in [
            vec!["bleu", "--hyp", endless, "--ref", &line],
            vec!["bleu", "--hyp", &line, "--ref", endless, "--chrf", "--ter"],
            vec!["compare", "--hyp", &line, "--hyp", endless, "--ref", &line],
            vec!["compare", "--hyp", &line, "--hyp", &line, "--ref", endless],
            vec!["score", "--model", model, "--src", endless, "--tgt", &line],
            vec!["score", "--model", model, "--src", &line, "--tgt", endless],
            vec![
                "evaluate", "--model", model, "--src", endless, "--ref", &line,
            ],
            vec![
                "evaluate", "--model", model, "--src", &line, "--ref", endless,
            ],
            vec!["translate", "--model", model, "--prefixes", endless],
        ] {
            refuses_first_line(&arguments, &line, &name);
        }
    }
}

#[test]
fn an_endless_line_of_standard_input_is_refused_by_every_command() {
    let (model, files) = (model(), Files::new());
    let (model, bomb, line) = (
        path(&model),
        files.bomb(),
        files.write("line", "a bad cab\n"),
    );
    for endless in [bomb.as_str(), "/dev/zero"] {
        for arguments in [
            vec!["translate", "--model", model],
            vec!["bleu", "--hyp", "-", "--ref", &line],
            vec!["compare", "--hyp", &line, "--hyp", "-", "--ref", &line],
            vec!["score", "--model", model, "--src", "-", "--tgt", &line],
            vec!["evaluate", "--model", model, "--src", "-", "--ref", &line],
        ] {
            refuses_first_line(&arguments, endless, "standard input");
        }
    }
}

#[test]
fn the_limit_of_a_line_is_a_flag() {
    let files = Files::new();
    let line = files.write("line", "abcd\n");
    let bleu = ["bleu", "--hyp", &line, "--ref", &line, "--max-line-bytes"];
    stdout(&run(&[&bleu[..], &["4"]].concat(), "/dev/null"));
    let message = refusal(&[&bleu[..], &["3"]].concat(), "/dev/null");
    assert!(
        message.contains("line 1 has more than 3 bytes"),
        "{message}"
    );
    assert!(message.ends_with("or raise --max-line-bytes"), "{message}");
}

#[test]
fn of_a_word_at_the_limit_the_first_tokens_are_translated() {
    let (model, files) = (model(), Files::new());
    let word = files.write("word", "abcdef".repeat(MAX_LINE_BYTES) + "\n");
    let limit = (6 * MAX_LINE_BYTES).to_string();
    let flags = ["--max-len", "3", "--max-line-bytes", &limit];
    let translate = [&["translate", "--model", path(&model)], &flags[..]].concat();
    // The tokens of the whole line would take a hundred bytes for each of its bytes.
    let output = run_with(0, &translate, &word);
    let message = stderr(&output);
    assert!(
        message.contains("line 1: the line has more than 1024 tokens"),
        "{message}"
    );
}

#[test]
fn lines_at_the_limit_are_not_in_memory_together() {
    let (model, files) = (model(), Files::new());
    let line = "a bad cab ".repeat(MAX_LINE_BYTES / 10) + "\n";
    let lines = files.write("lines.gz", gzip(line.as_bytes()).repeat(900));
    let translate = [
        "translate",
        "--model",
        path(&model),
        "--max-len",
        "1",
        "--max-src-len",
        "1",
        "--quiet",
    ];
    assert_eq!(stdout(&run(&translate, &lines)).len(), 900);
    let prefixes = [&translate[..], &["--prefixes", &lines]].concat();
    let message = refusal(&prefixes, &lines);
    assert!(
        message.starts_with("error: the prefix for line 1 has at least 1 tokens"),
        "{message}"
    );
}

#[test]
fn scores_do_not_store_the_text() {
    let files = Files::new();
    let blank = files.write("blank.gz", gzip(&vec![b'\n'; 1 << 20]).repeat(3));
    // Its lines alone would take 24 bytes each, twice, and their counts more than 100.
    let output = run_with(
        0,
        &[
            "bleu",
            "--hyp",
            &blank,
            "--ref",
            &blank,
            "--tokenize",
            "none",
        ],
        "/dev/null",
    );
    assert!(stdout(&output)[0].starts_with("BLEU|"));
}

#[test]
fn lines_of_many_words_are_compared_by_ter() {
    let files = Files::new();
    let line = |words: &str| words.repeat(2000) + "\n";
    let (hyp, reference) = (
        files.write("a", line("a b c d ")),
        files.write("b", line("a c b d ")),
    );
    // A table of all pairs of words would take half a gigabyte.
    let output = run_with(
        0,
        &["bleu", "--hyp", &hyp, "--ref", &reference, "--ter"],
        "/dev/null",
    );
    assert!(stdout(&output)[1].starts_with("TER|"));
}

#[test]
fn a_model_directory_of_devices_is_refused() {
    let files = Files::new();
    std::os::unix::fs::symlink("/dev/zero", files.0.path().join("manifest.json"))
        .expect("the folder is writable");
    let folder = files.0.path().to_str().expect("the path is UTF-8");
    for arguments in [
        vec!["translate", "--model", folder, "a"],
        vec!["inspect", "--model", folder],
        vec!["import", "--from", folder, "--out", "never"],
    ] {
        assert!(refusal(&arguments, "/dev/null").starts_with("error: "));
    }
    assert!(!Path::new("never").exists());
}
