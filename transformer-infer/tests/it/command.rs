//! The program as a user runs it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use transformer_infer::metrics::Chrf;

use crate::copy_model::write_large_letters_model;
use crate::model::{LINES, write_model, write_model_of};

/// Runs `translate` on a model, with text on standard input.
pub(crate) fn translate(model: &Path, flags: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(["translate", "--max-len", "9", "--model"])
        .arg(model)
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo has built the program");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // The program may end without reading.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("the program ends")
}

pub(crate) fn stdout(output: &Output) -> Vec<&str> {
    assert!(output.status.success(), "{}", stderr(output));
    std::str::from_utf8(&output.stdout)
        .expect("translations are UTF-8")
        .lines()
        .collect()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("messages are UTF-8")
}

pub(crate) fn model() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    write_model(directory.path());
    directory
}

#[test]
fn a_checked_line_gets_a_placeholder_back_that_the_model_cannot_write() {
    let model = tempfile::tempdir().expect("the system has temporary directories");
    write_large_letters_model(model.path(), "ab{} ");
    let output = translate(model.path(), &["--check"], b"a {x} b\nb\n");
    assert_eq!(stdout(&output), ["A {x} B", "B"]);
    assert!(!stderr(&output).contains("doubtful"), "{output:?}");
}

#[test]
fn a_checked_line_keeps_the_mark_of_a_list_item() {
    let model = tempfile::tempdir().expect("the system has temporary directories");
    write_large_letters_model(model.path(), "ab{} ");
    let output = translate(model.path(), &["--check"], b"1. a {x} b\n- b {x}\n");
    assert_eq!(stdout(&output), ["1. A {x} B", "- B {x}"]);
}

#[test]
fn every_input_line_has_an_output_line_in_order() {
    let model = model();
    let separate: Vec<String> = LINES
        .iter()
        .map(|line| stdout(&translate(model.path(), &[line], b"")).concat())
        .collect();
    let input = format!("{}\r\n\n{}\n{}", LINES[2], LINES[0], LINES[4]);
    let output = translate(model.path(), &[], input.as_bytes());
    assert_eq!(
        stdout(&output),
        [&separate[2], "", &separate[0], &separate[4]]
    );
    assert!(separate.iter().any(|line| !line.is_empty()));
}

#[test]
fn arguments_are_translated_one_line_each() {
    let model = model();
    let from_arguments = translate(model.path(), &["a cab", "", "bad"], b"");
    let from_input = translate(model.path(), &[], b"a cab\n\nbad\n");
    assert_eq!(stdout(&from_arguments).len(), 3);
    assert_eq!(from_arguments.stdout, from_input.stdout);
}

#[test]
fn empty_input_gives_empty_output() {
    assert!(stdout(&translate(model().path(), &[], b"")).is_empty());
}

#[test]
fn the_first_line_on_standard_error_names_backend_and_model() {
    let model = model();
    let output = translate(model.path(), &["bad"], b"");
    assert!(
        stderr(&output).starts_with("backend "),
        "{}",
        stderr(&output)
    );
    assert_eq!(stderr(&output).lines().count(), 1);
    assert_eq!(
        stderr(&translate(model.path(), &["--quiet", "bad"], b"")),
        ""
    );
}

#[test]
fn n_best_prints_n_lines_per_line() {
    let model = model();
    let output = translate(model.path(), &["--n-best", "3", "--scores"], b"bad\n\n");
    let lines = stdout(&output);
    assert_eq!(lines.len(), 6);
    let scores: Vec<f64> = lines
        .iter()
        .map(|line| line.split_once('\t').expect("a tab follows the score").0)
        .map(|score| score.parse().expect("the score is a number"))
        .collect();
    assert_eq!(scores[3..], [0.0, f64::NEG_INFINITY, f64::NEG_INFINITY]);
}

#[test]
fn json_is_one_object_per_line() {
    let model = model();
    let output = translate(model.path(), &["--json", "--n-best", "2"], b"bad\n\n");
    let lines: Vec<serde_json::Value> = stdout(&output)
        .into_iter()
        .map(|line| serde_json::from_str(line).expect("the line is JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["src"], "bad");
    let translations = lines[0]["translations"]
        .as_array()
        .expect("translations are a list");
    assert_eq!(translations.len(), 2);
    assert!(translations[0]["score"].is_number());
    assert_eq!(lines[1]["translations"][0]["text"], "");
}

#[test]
fn a_line_without_letters_is_copied_unless_the_flag_says_otherwise() {
    let model = model();
    let lines = translate(
        model.path(),
        &["--alignments", "--n-best", "2"],
        b" 2,024.50\nbad\n",
    );
    assert_eq!(stdout(&lines)[..2], [" 2,024.50\t", "\t"]);
    let json = translate(model.path(), &["--json"], b"2024\n");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("the line is JSON");
    assert_eq!(
        (&json["src"], &json["translations"][0]["text"]),
        (&"2024".into(), &"2024".into())
    );
    let translated = translate(model.path(), &["--no-copy"], b"2024\n");
    assert_ne!(stdout(&translated), ["2024"]);
}

#[test]
fn a_model_without_letters_translates_numbers() {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    write_model_of(directory.path(), &["12 + 30", "1 2 3"]);
    let [by_default, asked] =
        [&[][..], &["--no-copy"]].map(|flags| translate(directory.path(), flags, b"12\n"));
    assert_eq!(by_default.stdout, asked.stdout);
}

#[test]
fn lines_beyond_the_limit_are_cut_with_a_warning() {
    let model = model();
    let output = translate(model.path(), &["--max-src-len", "4"], b"d\nbadbad\n");
    assert_eq!(stdout(&output).len(), 2);
    let expected = "warning: line 2: the line has more than 4 tokens, and only the first 4 were \
                    translated; split it";
    assert_eq!(stderr(&output).lines().last(), Some(expected));
}

#[test]
fn lines_before_invalid_utf8_are_translated() {
    let output = translate(model().path(), &[], b"bad\n\xff\nbad\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        output.stdout.iter().filter(|byte| **byte == b'\n').count(),
        1
    );
    let last = stderr(&output)
        .lines()
        .last()
        .expect("there is an error message");
    assert!(
        last.starts_with("error: standard input, line 2: byte 1 of the line is not UTF-8;"),
        "{last}"
    );
}

#[test]
fn a_missing_model_is_one_line_and_exit_1() {
    let output = translate(Path::new("no/such/model"), &["bad"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(
        stderr(&output).contains("no/such/model"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_changed_byte_in_the_weights_is_one_line_that_names_the_file() {
    let model = model();
    let path = model.path().join("weights.bpk");
    let mut weights = fs::read(&path).expect("the weights were just written");
    let middle = weights.len() / 2;
    weights[middle] ^= 1;
    fs::write(&path, weights).expect("the temporary directory is writable");
    let output = translate(model.path(), &["bad"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(
        stderr(&output).contains("weights.bpk"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn wrong_usage_is_exit_2() {
    let model = model();
    assert_eq!(
        translate(model.path(), &["--beams", "4"], b"")
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        translate(model.path(), &["--length-penalty", "wu"], b"")
            .status
            .code(),
        Some(2)
    );
    let too_many = translate(model.path(), &["--n-best", "5", "--beam", "4"], b"");
    assert_eq!(too_many.status.code(), Some(2));
    assert_eq!(
        stderr(&too_many),
        "error: `n_best` is 5 with a beam of 4; choose 1 to 4, or a larger beam\n"
    );
}

#[test]
fn the_default_beam_is_at_least_as_wide_as_n_best() {
    let model = model();
    let five = |flags: &[&str]| {
        let output = translate(model.path(), flags, b"a cab\n");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(
            output.stdout.iter().filter(|byte| **byte == b'\n').count(),
            5
        );
        output.stdout
    };
    let wide = five(&["--n-best", "5", "--beam", "5"]);
    assert_eq!(five(&["--n-best", "5"]), wide);
}

#[cfg(unix)]
#[test]
fn a_closed_output_is_no_error() {
    let model = model();
    let mut child = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(["translate", "--quiet", "--max-len", "3", "--model"])
        .arg(model.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo has built the program");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let _ = stdin.write_all("bad\n".repeat(1500).as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn minimum_bayes_risk_prints_the_candidate_that_is_most_like_all_of_them() {
    let model = model();
    for flags in [&[][..], &["--sample", "--seed", "3"]] {
        let run = |more: &[&str]| {
            let output = translate(model.path(), &[flags, more].concat(), LINES[0].as_bytes());
            stdout(&output).join("\n")
        };
        let candidates = run(&["--n-best", "6"]);
        let candidates: Vec<&str> = candidates.split('\n').collect();
        let mean = |candidate: &str| {
            let scores = candidates
                .iter()
                .map(|reference| Chrf::default().corpus_score([(candidate, [reference])]));
            scores.sum::<f64>()
        };
        let best = run(&["--mbr", "6"]);
        let highest = candidates.iter().map(|it| mean(it)).fold(0.0, f64::max);
        assert!(candidates.contains(&best.as_str()));
        assert!((mean(&best) - highest).abs() < 1e-6);
        let json: serde_json::Value =
            serde_json::from_str(&run(&["--mbr", "6", "--json"])).expect("the line is JSON");
        assert_eq!(json["translations"].as_array().map(Vec::len), Some(1));
        assert_eq!(json["translations"][0]["text"], best);
    }
}

/// Runs `bleu` on files of a temporary directory.
fn bleu(files: &[(&str, &[u8])], flags: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("the system has temporary directories");
    for (name, content) in files {
        fs::write(directory.path().join(name), content).expect("the directory is writable");
    }
    Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .arg("bleu")
        .args(flags)
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .output()
        .expect("cargo has built the program")
}

#[test]
fn bleu_reads_gzip_and_prints_the_line_of_sacrebleu() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"The cat sat.\nThe dog!\n")
        .expect("memory is writable");
    let gzip = gzip.finish().expect("memory is writable");
    let files: [(&str, &[u8]); 2] = [("hyp", b"The cat sat.\nA dog!\n"), ("ref.gz", &gzip)];
    let output = bleu(&files, &["--hyp", "hyp", "--ref", "ref.gz", "--width", "2"]);
    // What `sacrebleu ref -i hyp -w 2 -f text` prints, version 2.5.1.
    let expected = "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1 = 82.23 \
                    85.7/80.0/66.7/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 7 ref_len = 7)";
    assert_eq!(stdout(&output), [expected]);
}

#[test]
fn bleu_refuses_files_of_different_length() {
    let files: [(&str, &[u8]); 2] = [("hyp", b"a\nb\n"), ("ref", b"a\n")];
    let output = bleu(&files, &["--hyp", "hyp", "--ref", "ref"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "error: `hyp` has 2 lines and `ref` has 1; every line needs its reference\n"
    );
}

#[test]
fn bleu_refuses_to_read_standard_input_twice() {
    let output = bleu(&[], &["--hyp", "-", "--ref", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: `-` is standard input"));
}

#[test]
fn bleu_of_pieces_is_printed_as_by_sacrebleu() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../fixtures/spbleu.json"))
        .expect("the generator writes JSON");
    let golden = &golden[0];
    let text = |value: &serde_json::Value| value.as_str().expect("it is text").to_owned();
    let lines = |name: &str| -> String {
        let lines = golden[name].as_array().expect("it is a list of lines");
        lines.iter().map(|line| text(line) + "\n").collect()
    };
    let model = include_bytes!(
        "../../../transformer-core/tests/fixtures/ctranslate2/imports/sentencepiece.model"
    );
    let (hyp, reference) = (lines("hypotheses"), lines("references"));
    let files = [
        ("hyp", hyp.as_bytes()),
        ("ref", reference.as_bytes()),
        ("model", model),
    ];
    for score in golden["scores"].as_array().expect("it is a list of scores") {
        let tokenize = text(&score["tokenize"]);
        let mut flags = vec!["--hyp", "hyp", "--ref", "ref", "--width", "2"];
        flags.extend(["--tokenize", &tokenize, "--tokenize-model", "model"]);
        if score["lowercase"] == true {
            flags.push("--lowercase");
        }
        let expected = format!(
            "BLEU|{} = {}",
            text(&score["signature"]),
            text(&score["printed"])
        );
        assert_eq!(stdout(&bleu(&files, &flags)), [expected]);
    }
    let output = bleu(
        &files,
        &["--hyp", "hyp", "--ref", "ref", "--tokenize", "flores200"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: `--tokenize flores200` splits lines by a SentencePiece model; give its file by \
         `--tokenize-model FILE`\n"
    );
}
