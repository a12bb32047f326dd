//! `shortlist` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use transformer_core::text::EOS;
use transformer_core::{Lexicon, ModelDirectory};

use crate::command::{model, stderr, stdout, translate};
use crate::copy_model::write_copy_model;
use crate::multilingual::imported;

/// Runs `shortlist` on files with this content, which it writes beside the model.
fn shortlist(
    model: &Path,
    src: &str,
    tgt: &str,
    alignments: Option<&str>,
    more: &[&str],
) -> Output {
    let contents = [
        ("src", Some(src)),
        ("tgt", Some(tgt)),
        ("alignments", alignments),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_transformer-infer"));
    command.arg("shortlist").arg("--model").arg(model);
    for (name, content) in contents {
        if let Some(content) = content {
            let path = model.join(format!("{name}.txt"));
            fs::write(&path, content).expect("there is room");
            command.arg(format!("--{name}")).arg(path);
        }
    }
    command
        .args(more)
        .output()
        .expect("cargo has built the program")
}

/// Returns the characters, beside special tokens, that a model considers for a line of them.
fn considered(model: &Path, line: &str) -> String {
    let model = ModelDirectory::open(model).expect("the directory is whole");
    let tokenizer = model.tokenizers().src();
    let shortlist = model.shortlist().expect("the command added one");
    let ids = shortlist.candidates(&tokenizer.encode(line));
    let ids: Vec<u32> = ids.into_iter().filter(|id| *id > EOS).collect();
    let mut characters: Vec<char> = tokenizer.decode(&ids).chars().collect();
    characters.sort_unstable();
    characters
        .into_iter()
        .filter(|it| !it.is_whitespace())
        .collect()
}

#[test]
fn tokens_of_aligned_words_and_of_the_source_are_considered() {
    let model = model();
    let flags = ["--frequent", "0"];
    let said = shortlist(
        model.path(),
        "a d\nb\n",
        "ec f\nf\n",
        Some("0-1 1-0\n\n"),
        &flags,
    );
    assert!(stdout(&said)[0].ends_with("shortlist learned from 2 pairs"));
    let found = ["a", "d", "b", "ad"].map(|line| considered(model.path(), line));
    assert_eq!(found, ["af", "cde", "b", "acdef"]);
}

#[test]
fn a_shortlist_is_replaced_and_limits_translations() {
    let model = model();
    let said = shortlist(
        model.path(),
        "a\n",
        "e\n",
        Some("0-0\n"),
        &["--frequent", "0"],
    );
    assert!(said.status.success(), "{}", stderr(&said));
    let said = shortlist(
        model.path(),
        "a\n",
        "f\n",
        Some("0-0\n"),
        &["--frequent", "0"],
    );
    assert!(said.status.success(), "{}", stderr(&said));
    assert_eq!(considered(model.path(), "a"), "af");
    let files = fs::read_dir(model.path()).expect("the directory is there");
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    assert_eq!(
        names.filter(|name| name.starts_with("shortlist")).count(),
        1
    );
    let limited = stdout(&translate(model.path(), &["a"], b"")).concat();
    assert!(
        !limited.is_empty() && limited.chars().all(|it| "af".contains(it)),
        "{limited}"
    );
    let free = translate(model.path(), &["--shortlist", "off", "a"], b"");
    assert_ne!(stdout(&free).concat(), limited);
}

#[test]
fn without_alignments_translations_are_learned() {
    let model = model();
    let said = shortlist(
        model.path(),
        "a b\nb\na\nd\n",
        "e f\nf\ne\nc\n",
        None,
        &["--best", "1", "--frequent", "0"],
    );
    assert!(said.status.success(), "{}", stderr(&said));
    for (line, expected) in [("a", 'e'), ("b", 'f'), ("d", 'c')] {
        let found = considered(model.path(), line);
        assert!(found.contains(expected), "{line}: {found}");
    }
}

#[test]
fn held_out_pairs_are_checked() {
    let model = model();
    let said = shortlist(
        model.path(),
        &"a\n".repeat(99),
        &format!("{}ec\n{}", "e\n".repeat(49), "e\n".repeat(49)),
        None,
        &[],
    );
    let said = stdout(&said);
    assert!(said[0].ends_with("learned from 98 pairs"), "{said:?}");
    assert_eq!(
        said[1],
        "of 1 other pairs it allows 50.00% of the target tokens, and 0.0% of the targets as a whole"
    );
}

#[test]
fn links_of_other_words_and_texts_without_lines_are_refused() {
    let model = model();
    for link in ["1-0", "0-1", "0", "a-0", "-1-0"] {
        let said = shortlist(
            model.path(),
            "a\na\n",
            "e\ne\n",
            Some(&format!("0-0\n{link}\n")),
            &[],
        );
        assert!(!said.status.success());
        let error = format!("alignments.txt`, line 2: `{link}` is not a pair of word indices");
        assert!(stderr(&said).contains(&error), "{}", stderr(&said));
    }
    let said = shortlist(model.path(), "a\n", "e\n", Some("0-0\n0-0\n"), &[]);
    assert!(
        stderr(&said).contains("every line needs its counterpart"),
        "{}",
        stderr(&said)
    );
    let said = shortlist(model.path(), "", "", None, &[]);
    assert!(
        stderr(&said).contains("no line to learn from"),
        "{}",
        stderr(&said)
    );
}

#[test]
fn a_model_with_an_output_matrix_of_its_own_is_refused() {
    let model = tempfile::tempdir().expect("the system has temporary directories");
    write_copy_model(model.path(), "ab");
    let said = shortlist(model.path(), "a\n", "b\n", None, &[]);
    assert!(
        stderr(&said).contains("has `model.tying` \"none\""),
        "{}",
        stderr(&said)
    );
}

#[test]
fn a_multilingual_model_with_a_shortlist_begins_with_the_token_of_the_language() {
    let (_folder, model) = imported("nllb", &[]);
    let model = Path::new(&model);
    let run = |shortlist: &str| {
        let flags = [
            "--beam",
            "1",
            "--src-lang",
            "en",
            "--tgt-lang",
            "de",
            "--shortlist",
            shortlist,
            "Good morning",
        ];
        stdout(&translate(model, &flags, b"")).concat()
    };
    let said = shortlist(
        model,
        "Good\n",
        "morning\n",
        None,
        &["--frequent", "0", "--best", "1"],
    );
    assert!(said.status.success(), "{}", stderr(&said));
    assert_ne!(run("on"), run("off"));
    // With all tokens as candidates, only the token of the language is special.
    let directory = ModelDirectory::open(model).expect("the directory is whole");
    let (src, tgt) = (
        directory.config().src_vocab_size,
        directory.config().tgt_vocab_size as u32,
    );
    let all: Vec<u32> = (EOS + 1..tgt).collect();
    let shortlist = Lexicon::learn(&[(vec![EOS + 1], vec![EOS + 1])]).shortlist(src, 1, &all);
    ModelDirectory::add_shortlist(model, &shortlist).expect("there is room");
    assert_eq!(run("on"), run("off"));
}
