//! The options of `translate`, as a user gives them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;

use crate::command::{model, stderr, stdout, translate};

/// Returns the output for one line.
fn line_of(model: &Path, flags: &[&str]) -> String {
    stdout(&translate(model, flags, b"a bad cab\n")).concat()
}

pub(crate) fn refusal(model: &Path, flags: &[&str], code: i32) -> String {
    let output = translate(model, flags, b"bad\n");
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    let last = stderr(&output)
        .lines()
        .last()
        .expect("there is an error message");
    last.to_owned()
}

#[test]
fn token_scores_sum_to_the_score() {
    let model = model();
    let flags = ["--json", "--token-scores", "--n-best", "2"];
    let line: serde_json::Value =
        serde_json::from_str(&line_of(model.path(), &flags)).expect("the line is JSON");
    for translation in line["translations"].as_array().expect("it is a list") {
        let numbers = translation["token_log_probs"].as_array();
        let numbers = numbers
            .expect("it is a list")
            .iter()
            .map(serde_json::Value::as_f64);
        let sum: f64 = numbers.flatten().sum();
        let log_prob = translation["log_prob"].as_f64().expect("it is a number");
        assert!((sum - log_prob).abs() < 1e-5);
        let tokens = translation["tokens"].as_array().expect("it is a list");
        let ends = tokens.last().is_some_and(|token| token == "</s>");
        assert_eq!(translation["finished"], ends);
    }
}

#[test]
fn a_prefix_begins_every_translation() {
    let model = model();
    assert!(line_of(model.path(), &["--prefix", "fed"]).starts_with("fed"));
}

#[test]
fn a_file_of_prefixes_has_one_for_each_line() {
    let model = model();
    let path = model.path().join("prefixes");
    fs::write(&path, "bad\n\nfed\n").expect("the directory is writable");
    let path = path.to_str().expect("the path is UTF-8");
    let flags = ["--prefixes", path];
    let output = translate(model.path(), &flags, b"a\nd\na cab\n");
    let plain = translate(model.path(), &[], b"d\n");
    let lines = stdout(&output);
    assert!(lines[0].starts_with("bad") && lines[2].starts_with("fed"));
    assert_eq!(lines[1], stdout(&plain).concat());

    for (input, has) in [("a\nb\n", "fewer"), ("a\nb\na\nd\n", "more")] {
        let output = translate(model.path(), &flags, input.as_bytes());
        assert_eq!(output.status.code(), Some(1));
        let n_lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(n_lines, input.lines().count().min(3));
        let expected = format!("has 3 lines, but the text has {has}; give each line a prefix");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    }
}

#[test]
fn a_prefix_with_unknown_characters_is_reported_with_its_line() {
    let model = model();
    let error = refusal(model.path(), &["--prefix", "a語"], 1);
    assert_eq!(
        error,
        "error: the prefix `a語` for line 1 has characters that the vocabulary lacks; leave them out"
    );
}

#[test]
fn a_prefix_at_the_length_limit_is_reported_with_its_line() {
    let model = model();
    let error = refusal(model.path(), &["--prefix", "fed a bad"], 1);
    assert_eq!(
        error,
        "error: the prefix for line 1 has at least 9 tokens, but its translation may have at most 9; raise --max-len, \
         or shorten the prefix"
    );
    assert!(line_of(model.path(), &["--prefix", "fed a ba"]).starts_with("fed a ba"));
}

/// Writes prefixes for three lines, and returns the translations of the lines before the error, and the error.
fn translated_before(prefixes: &[u8]) -> (usize, String) {
    let model = model();
    let path = model.path().join("prefixes");
    fs::write(&path, prefixes).expect("the directory is writable");
    let path = path.to_str().expect("the path is UTF-8");
    let flags = ["--quiet", "--prefixes", path];
    let output = translate(model.path(), &flags, b"a\nd\na cab\n");
    assert_eq!(output.status.code(), Some(1));
    let alone = translate(model.path(), &["--quiet"], b"a\nd\n");
    assert!(alone.stdout.starts_with(&output.stdout));
    let n_lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    (n_lines, stderr(&output).replace(path, "FILE"))
}

#[test]
fn lines_before_an_unknown_prefix_are_translated() {
    let (n_lines, error) = translated_before("\n\na語\n".as_bytes());
    assert_eq!(n_lines, 2);
    assert!(
        error.starts_with("error: the prefix `a語` for line 3 has"),
        "{error}"
    );
}

#[test]
fn lines_before_a_prefix_at_the_length_limit_are_translated() {
    let (n_lines, error) = translated_before(b"\nfed a bad\na\xe8\xaa\x9e\n");
    // The first line at fault counts, whatever its fault.
    assert_eq!(n_lines, 1);
    assert!(
        error.starts_with("error: the prefix for line 2 has"),
        "{error}"
    );
}

#[test]
fn lines_before_an_unreadable_prefix_are_translated() {
    let (n_lines, error) = translated_before(b"\n\n\xff\n");
    assert_eq!(n_lines, 2);
    assert!(
        error.starts_with("error: `FILE`, line 3: byte 1"),
        "{error}"
    );
}

#[test]
fn banned_text_and_tokens_are_not_generated() {
    let model = model();
    // Where none may come twice, all tokens come.
    let all = ["--no-repeat-ngram", "1", "--min-len", "9"];
    assert!(line_of(model.path(), &all).contains('d'));
    for flag in ["--ban", "--ban-token"] {
        let line = line_of(model.path(), &[all.as_slice(), &[flag, "d"]].concat());
        assert!(!line.contains('d') && line.contains('e'), "{line:?}");
    }
}

#[test]
fn bans_outside_of_the_vocabulary_are_refused() {
    let model = model();
    assert!(
        refusal(model.path(), &["--ban", "語"], 2)
            .starts_with("error: `語` of `--ban` is blank or")
    );
    assert!(
        refusal(model.path(), &["--ban", ""], 2).starts_with("error: `` of `--ban` is blank or")
    );
    let token = refusal(model.path(), &["--ban-token", "ab"], 2);
    assert!(token.starts_with("error: `ab` of `--ban-token` is not in the vocabulary;"));
}

#[test]
fn no_token_is_repeated_with_no_repeat_ngram_1() {
    let model = model();
    let line = line_of(model.path(), &["--no-repeat-ngram", "1", "--min-len", "9"]);
    let mut characters: Vec<char> = line.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    assert_eq!(characters.len(), line.chars().count(), "{line:?}");
}

#[test]
fn samples_depend_on_the_seed_and_the_index_and_not_on_the_batch() {
    let model = model();
    let sample = |seed: &str, batch: &str, input: &[u8]| {
        let flags = [
            "--sample",
            "--n-best",
            "2",
            "--seed",
            seed,
            "--batch-tokens",
            batch,
        ];
        translate(model.path(), &flags, input).stdout
    };
    let drawn = sample("1", "4096", b"a bad cab\nfeed\na bad cab\n");
    assert_eq!(drawn, sample("1", "1", b"a bad cab\nfeed\na bad cab\n"));
    assert_ne!(drawn, sample("2", "4096", b"a bad cab\nfeed\na bad cab\n"));
    let alone = sample("1", "4096", b"a bad cab\n");
    assert!(drawn.starts_with(&alone) && !drawn.ends_with(&alone));
}

#[test]
fn the_errors_for_invalid_values_have_valid_ones() {
    let model = model();
    for (flags, start) in [
        (
            ["--sample", "--temperature=0"].as_slice(),
            "error: `temperature` is 0; choose",
        ),
        (
            &["--sample", "--top-p=1.5"],
            "error: `top_p` is 1.5; choose",
        ),
        (&["--sample", "--top-k=0"], "error: `top_k` is 0; choose"),
        (&["--sample", "--n-best=0"], "error: `n_best` is 0; choose"),
        (
            &["--no-repeat-ngram=0"],
            "error: `no_repeat_ngram` is 0; choose",
        ),
        (
            &["--repetition-penalty=-1"],
            "error: `repetition_penalty` is -1; choose",
        ),
        (
            &["--coverage-penalty=-1"],
            "error: `coverage_penalty` is -1; choose",
        ),
    ] {
        let error = refusal(model.path(), flags, 2);
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn an_ensemble_of_two_copies_translates_like_the_model() {
    let model = model();
    let path = model.path().to_str().expect("the path is UTF-8");
    let alone = line_of(model.path(), &["--scores"]);
    for mean in ["probs", "log-probs"] {
        let twice = line_of(
            model.path(),
            &["--scores", "--model", path, "--ensemble", mean],
        );
        assert_eq!(twice, alone);
    }
}

#[test]
fn an_ensemble_with_different_tokenizers_is_refused_in_one_line() {
    let (model, other) = (
        model(),
        tempfile::tempdir().expect("the system has temporary directories"),
    );
    crate::model::write_model_of(other.path(), &["z y x w"]);
    let path = other.path().to_str().expect("the path is UTF-8");
    let error = refusal(model.path(), &["--model", path], 1);
    assert_eq!(
        error,
        format!(
            "error: `{path}` and `{}` have different tokenizers; an ensemble needs models with the same one",
            model.path().display()
        )
    );
}

#[test]
fn a_dash_is_standard_input_and_must_be_alone() {
    let model = model();
    let dash = translate(model.path(), &["-"], b"bad\n");
    assert_eq!(dash.stdout, translate(model.path(), &[], b"bad\n").stdout);
    let error = refusal(model.path(), &["bad", "-"], 2);
    assert!(error.starts_with("error: `-` is standard input and cannot be combined with text;"));
    let error = refusal(model.path(), &["--prefixes", "-"], 2);
    assert!(error.starts_with("error: `-` is standard input, which can be read only once"));
}

/// Starts `translate --quiet` with all streams piped.
fn start(model: &Path, flags: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args([
            "translate",
            "--quiet",
            "--max-len",
            "5",
            "--beam",
            "1",
            "--model",
        ])
        .arg(model)
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo has built the program")
}

#[test]
fn a_line_is_answered_before_the_next_is_written() {
    let model = model();
    let mut child = start(model.path(), &[]);
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let stdout = child.stdout.take().expect("standard output is piped");
    let (sender, answers) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let _ = sender.send(line);
        }
    });
    for line in ["bad\n", "\n", "a cab\n"] {
        stdin.write_all(line.as_bytes()).expect("the program reads");
        stdin.flush().expect("the program reads");
        let answer = answers.recv();
        answer.expect("the answer comes first").expect("it is text");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success());
    assert!(answers.recv().is_err(), "there were three lines");
}

/// Returns lines of characters that often break programs, without newlines; always the same lines.
fn hostile_lines(n_lines: usize, longest: usize) -> Vec<String> {
    const PIECES: [&str; 20] = [
        "a",
        "bad",
        " ",
        "\t",
        "\0",
        "\r",
        "\u{b}",
        "\u{1b}[31m",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{202e}",
        "שלום",
        "مرحبا",
        "👩‍👩‍👧",
        "e\u{301}\u{302}\u{303}",
        "<s>",
        "</s>",
        "語",
        "\u{10fffd}",
    ];
    let mut state = 1_u64;
    let mut below = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    let line = |index: usize| {
        let n_pieces = if index % 1000 == 500 {
            longest
        } else {
            below(12)
        };
        (0..n_pieces).map(|_| PIECES[below(PIECES.len())]).collect()
    };
    (0..n_lines).map(line).collect()
}

fn n_hostile_lines() -> usize {
    match std::env::var_os("RUN_SLOW_TESTS") {
        Some(_) => 10_000,
        None => 1_000,
    }
}

fn run_hostile(model: &Path, flags: &[&str], input: Vec<u8>) -> Output {
    let mut child = start(model, flags);
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("writing does not panic");
    output
}

#[test]
fn every_hostile_line_has_an_output_line() {
    let model = model();
    let lines = hostile_lines(n_hostile_lines(), 30_000);
    assert!(lines.iter().any(|line| line.len() > 100_000));
    let input = lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    let output = run_hostile(model.path(), &[], input.clone().into_bytes());
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let text = std::str::from_utf8(&output.stdout).expect("translations are UTF-8");
    assert_eq!(text.matches('\n').count(), lines.len());

    let json = run_hostile(model.path(), &["--json"], input.into_bytes());
    let json = std::str::from_utf8(&json.stdout).expect("JSON is UTF-8");
    for (line, json) in lines.iter().zip(json.split('\n')) {
        let json: serde_json::Value = serde_json::from_str(json).expect("each line is an object");
        // A carriage return before the newline is part of the line's end.
        assert_eq!(json["src"], line.strip_suffix('\r').unwrap_or(line));
    }
}

#[test]
fn a_hostile_line_with_invalid_utf8_is_named() {
    let model = model();
    let lines = hostile_lines(300, 30);
    for bad in [0, 7, 299] {
        let mut input = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            input.extend_from_slice(line.as_bytes());
            input.extend_from_slice(if index == bad { b"\xf0\x9f\n" } else { b"\n" });
        }
        let output = run_hostile(model.path(), &[], input);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            output.stdout.iter().filter(|byte| **byte == b'\n').count(),
            bad
        );
        let expected = format!("error: standard input, line {}: byte ", bad + 1);
        assert!(
            stderr(&output).starts_with(&expected),
            "{}",
            stderr(&output)
        );
        assert_eq!(stderr(&output).lines().count(), 1);
    }
}

#[test]
fn the_library_translates_hostile_lines_one_for_one() {
    use transformer_infer::search::{LengthLimit, Search};
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    let translator = crate::model::write_model(directory.path());
    let search = Search {
        max_len: LengthLimit {
            factor: 0.0,
            extra: 3,
        },
        ..Search::greedy()
    };
    let lines = hostile_lines(n_hostile_lines(), 30_000);
    let translations = translator.translate_with(&lines, &search);
    assert_eq!(
        translations.expect("the weights are finite").len(),
        lines.len()
    );
}
