//! Training data from two files or one, gzip files, standard input, and several corpora.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::workplace::{Ended, N_PAIRS, Workplace, pairs};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("memory is writable");
    gzip.finish().expect("memory is writable")
}

/// Checks that training with these arguments gives the same model as training with the two plain
/// files.
fn assert_trains_the_same(workplace: &Workplace, arguments: &[&str], input: &[u8]) {
    workplace.train("plain", &[]).lines();
    let common = ["--config", "run.toml", "--threads", "1", "--out", "other"];
    let ended = workplace.run_with_input(&[&common, arguments].concat(), input);
    ended.lines();
    assert!(workplace.weights("other") == workplace.weights("plain"));
}

#[test]
fn a_tsv_file_trains_the_same_model_as_two_files() {
    let workplace = Workplace::new();
    let rows = pairs()
        .into_iter()
        .map(|(src, tgt)| format!("{src}\t{tgt}\n"));
    workplace.write("pairs.tsv", rows.collect::<String>());
    assert_trains_the_same(&workplace, &["--tsv", "pairs.tsv"], b"");
}

#[test]
fn gzip_files_train_the_same_model_as_plain_files() {
    let workplace = Workplace::new();
    workplace.write("a.src.gz", gzip(workplace.read("a.src").as_bytes()));
    let arguments = ["--src", "a.src.gz", "--tgt", "b.tgt"];
    assert_trains_the_same(&workplace, &arguments, b"");
}

#[test]
fn standard_input_trains_the_same_model_as_a_file() {
    let workplace = Workplace::new();
    let input = workplace.read("b.tgt");
    let arguments = ["--src", "a.src", "--tgt", "-"];
    assert_trains_the_same(&workplace, &arguments, input.as_bytes());
}

#[test]
fn standard_input_cannot_be_two_files() {
    let arguments = ["--config", "run.toml", "--src", "-", "--tgt", "-"];
    let ended = Workplace::new().run_with_input(&arguments, b"1\n10\n");
    let message = ended.failure();
    assert!(message.contains("standard input"), "{message}");
}

#[test]
fn validation_files_are_used_for_validation() {
    let workplace = Workplace::new();
    workplace.write("pairs.tsv", "1\t1\n111\t7\n1000\t10\n101\t5\n1001\t11\n");
    let ended = workplace.train("run", &["--valid-tsv", "pairs.tsv"]);
    let lines = ended.lines();
    let line_of = |word| lines.iter().find(|line| line.starts_with(word));
    let expected = format!("{N_PAIRS} pairs read, {N_PAIRS} kept");
    assert!(line_of("data ").is_some_and(|line| line.contains(&expected)));
    assert!(line_of("validation ").is_some_and(|line| line.contains("5 pairs read, 5 kept")));
}

#[test]
fn duplicates_are_dropped_from_training_data_but_not_from_validation_data() {
    let workplace = Workplace::new();
    workplace.write("a.src", workplace.read("a.src") + "101\n");
    workplace.write("b.tgt", workplace.read("b.tgt") + "5\n");
    workplace.write("pairs.tsv", "101\t5\n111\t7\n101\t5\n");
    let drop = ["--set", "data.duplicates=drop"];
    let ended = workplace.train("run", &[&["--valid-tsv", "pairs.tsv"], &drop[..]].concat());
    let lines = ended.lines();
    let line_of = |word| lines.iter().find(|line| line.starts_with(word));
    assert!(line_of("data ").is_some_and(|line| line.contains(&format!("{N_PAIRS} kept"))));
    assert!(line_of("validation ").is_some_and(|line| line.contains("3 pairs read, 3 kept")));
}

#[test]
fn too_long_lines_are_counted_and_dropped() {
    let workplace = Workplace::new();
    let long = "1".repeat(14);
    workplace.write(
        "a.src",
        format!("{}{long}\n1\n{long}\n", workplace.read("a.src")),
    );
    workplace.write(
        "b.tgt",
        format!("{}1\n{long}\n2\n", workplace.read("b.tgt")),
    );
    workplace.write("valid.tsv", "101\t5\n");
    let ended = workplace.train("run", &["--valid-tsv", "valid.tsv"]);
    let expected = format!(
        "{} pairs read, {N_PAIRS} kept, 3 too long, dropped",
        N_PAIRS + 3
    );
    assert!(ended.stdout.contains(&expected), "{}", ended.stdout);
    assert_eq!(ended.intervals().len(), 3);
}

#[test]
fn lines_with_an_empty_side_are_counted_and_dropped() {
    let workplace = Workplace::new();
    workplace.write("a.src", workplace.read("a.src") + "\n11\n");
    workplace.write("b.tgt", workplace.read("b.tgt") + "3\n \n");
    workplace.write("valid.tsv", "101\t5\n");
    let ended = workplace.train("run", &["--valid-tsv", "valid.tsv"]);
    ended.lines();
    let expected = "1 with an empty source dropped, 1 with an empty target dropped";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
}

#[test]
fn characters_outside_the_vocabulary_do_not_stop_the_run() {
    let workplace = Workplace::with(&[("vocab_size = 40", "vocab_size = 9")]);
    workplace.train("run", &[]).lines();
    assert!(workplace.translates("run"));
}

/// Writes the corpus of the workplace as two TSV files, the first with `n_first` pairs.
fn write_two_tables(workplace: &Workplace, n_first: usize) {
    let rows = pairs()
        .into_iter()
        .map(|(src, tgt)| format!("{src}\t{tgt}\n"));
    let rows: Vec<String> = rows.collect();
    workplace.write("one.tsv", rows[..n_first].concat());
    workplace.write("two.tsv", rows[n_first..].concat());
}

fn train_on_tables(workplace: &Workplace, tables: &str, more: &[&str]) -> Ended {
    let corpora = format!("data.corpora=[{tables}]");
    let common = ["--config", "run.toml", "--threads", "1", "--set", &corpora];
    workplace.run(&[&common, more].concat())
}

#[test]
fn two_corpora_of_weight_1_train_the_same_model_as_one_file() {
    let workplace = Workplace::new();
    write_two_tables(&workplace, 20);
    workplace.train("plain", &[]).lines();
    let tables = "{ tsv = 'one.tsv' }, { tsv = 'two.tsv' }";
    train_on_tables(&workplace, tables, &["--out", "other"]).lines();
    assert!(workplace.weights("other") == workplace.weights("plain"));
}

#[test]
fn a_run_is_not_resumed_with_corpora_of_other_sizes() {
    let workplace = Workplace::new();
    write_two_tables(&workplace, 20);
    let tables = "{ tsv = 'one.tsv' }, { tsv = 'two.tsv', weight = 3.0 }";
    train_on_tables(&workplace, tables, &["--out", "run", "--updates", "20"]).lines();
    // The pairs and their order are the same, but one pair is in the other corpus.
    write_two_tables(&workplace, 19);
    let ended = train_on_tables(&workplace, tables, &["--out", "run", "--updates", "30"]);
    let message = ended.failure();
    assert!(message.contains("other text"), "{message}");
}

#[test]
fn a_run_is_resumed_after_its_corpora_were_moved() {
    let workplace = Workplace::new();
    write_two_tables(&workplace, 20);
    let run = |[one, two]: [&str; 2], out, updates| {
        let tables = format!("{{ tsv = '{one}' }}, {{ tsv = '{two}', weight = 3.0 }}");
        train_on_tables(&workplace, &tables, &["--out", out, "--updates", updates])
    };
    let (original, moved) = (["one.tsv", "two.tsv"], ["1.tsv", "2.tsv"]);
    run(original, "whole", "40").lines();
    run(original, "run", "20").lines();
    for (from, to) in original.into_iter().zip(moved) {
        workplace.write(to, workplace.read(from));
    }
    run(moved, "run", "40").lines();
    assert!(workplace.weights("run") == workplace.weights("whole"));
    // In a different order, they are different text.
    let ended = run(["2.tsv", "1.tsv"], "run", "50");
    let message = ended.failure();
    assert!(message.contains("other text"), "{message}");
}

#[test]
fn weights_are_printed_as_shares_of_the_training_data() {
    let workplace = Workplace::new();
    write_two_tables(&workplace, 20);
    workplace.write("valid.tsv", "101\t5\n");
    let tables = "{ tsv = 'one.tsv', weight = 2.7 }, { tsv = 'two.tsv' }";
    let more = ["--valid-tsv", "valid.tsv", "--out", "run"];
    let ended = train_on_tables(&workplace, tables, &more);
    // 54 and 27 sentences.
    let expected = "corpus 1    20 pairs, weight 2.7: 66.7% of the sentences of a pass";
    assert!(ended.lines().contains(&expected), "{ended:?}");
    assert_eq!(ended.intervals().len(), 3);
}

#[test]
fn an_empty_corpus_among_several_is_named() {
    let workplace = Workplace::new();
    write_two_tables(&workplace, 20);
    workplace.write("two.tsv", "");
    let tables = "{ tsv = 'one.tsv' }, { tsv = 'two.tsv' }";
    let ended = train_on_tables(&workplace, tables, &["--out", "run"]);
    let message = ended.failure();
    assert!(message.starts_with("`two.tsv` is empty;"), "{message}");
}

#[test]
fn a_resumed_run_with_bpe_dropout_trains_the_same_model() {
    let kind = ("kind = \"char\"", "kind = \"bpe\"\ndropout = 0.3");
    let workplace = Workplace::with(&[kind]);
    workplace.train("whole", &["--updates", "40"]).lines();
    workplace.train("run", &["--updates", "20"]).lines();
    workplace
        .run(&["--resume", "run", "--updates", "40"])
        .lines();
    assert!(workplace.weights("run") == workplace.weights("whole"));
    let without = ["--updates", "40", "--set", "tokenizer.dropout=0.0"];
    workplace.train("without", &without).lines();
    assert!(workplace.weights("without") != workplace.weights("whole"));
}

#[test]
fn text_that_controls_a_terminal_is_not_logged() {
    let workplace = Workplace::new();
    for name in ["a.src", "b.tgt"] {
        let text = workplace.read(name).replace('1', "1\u{1b}[2J\0");
        workplace.write(name, text);
    }
    let ended = workplace.train("run", &["--set", "data.max_len=60"]);
    let controls = |line: &&str| line.contains(char::is_control);
    let lines = ended.lines();
    assert!(lines.iter().any(|line| line.starts_with("source ")));
    assert_eq!(lines.into_iter().find(controls), None);
}
