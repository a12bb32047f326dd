//! Fuzzes the readers of files that others made: a reader may refuse a file, but never panics, never hangs, and uses
//! memory in proportion to the file.
//!
//! ```sh
//! .ci/fuzz 60             # every reader, for a minute each
//! .ci/fuzz 600 html po    # two readers, for ten minutes each
//! ```
//!
//! One program has all readers; the environment variable `READER` names one of [`READERS`].

#![no_main]

use std::env;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use transformer_core::device;
use transformer_core::import::{Marian, StateDict, WordVectors, ctranslate2, marian};
use transformer_core::text::sentencepiece::SentencePiece;
use transformer_core::text::{Tokenizer, TokenizerConfig};
use transformer_core::Shortlist;
use transformer_infer::Glossary;
use transformer_infer::document::format::{Format, FormatOptions};
use transformer_infer::document::{
    DocumentRules, LineLimits, Protection, Split, Splitter, TranslatedLine, Window,
};

/// Reads bytes, and checks what it made of them.
type Reader = fn(&[u8]);

/// The readers with their names. `.ci/fuzz` finds the first files of each by its name.
const READERS: &[(&str, Reader)] = &[
    ("txt", document),
    ("md", document),
    ("html", document),
    ("srt", document),
    ("vtt", document),
    ("tsv", document),
    ("csv", document),
    ("po", document),
    ("json", document),
    ("glossary", glossary),
    ("sentencepiece", sentencepiece),
    ("tokenizer", tokenizer),
    ("shortlist", shortlist),
    ("bergamot", bergamot),
    ("npz", npz),
    ("ctranslate2", ctranslate2),
    ("argosmodel", argosmodel),
    ("transformers", transformers),
    ("safetensors", state_dict),
    ("pt", state_dict),
    ("vectors", vectors),
];

fuzz_target!(|bytes: &[u8]| {
    static READER: OnceLock<(String, Reader)> = OnceLock::new();
    let (_, read) = READER.get_or_init(|| {
        let name = env::var("READER").expect("READER names a reader");
        let found = READERS.iter().find(|(known, _)| *known == name);
        let (_, read) = found.unwrap_or_else(|| panic!("no reader is called `{name}`"));
        (name, *read)
    });
    read(bytes);
});

/// Returns a file that has the reader's name as its extension.
fn file(bytes: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("there is a temporary folder"));
    let extension = env::var("READER").expect("READER names a reader");
    let path = folder.path().join(format!("file.{extension}"));
    fs::write(&path, bytes).expect("the folder can be written");
    path
}

/// A model that reads short lines, and cannot write everything.
struct Limits;

impl LineLimits for Limits {
    fn longest_start(&self, text: &str) -> Option<usize> {
        (text.len() > 40).then_some(40)
    }

    fn can_write(&self, text: &str) -> bool {
        text.is_ascii()
    }
}

/// Copies a document by way of its sentences, and then again with every second word left out. The copies must be
/// readable where the source is.
fn document(bytes: &[u8]) {
    let copy = |line: &str| TranslatedLine::copy_of(line);
    let short = |line: &str| {
        let words: Vec<&str> = line.split(' ').step_by(2).collect();
        TranslatedLine {
            text: words.join(" "),
            links: Vec::new(),
        }
    };
    for translate in [&copy as &dyn Fn(&str) -> TranslatedLine, &short] {
        if let Some(written) = translated(bytes, translate) {
            assert!(translated(&written, translate).is_some(), "the result is not readable");
        }
    }
}

/// Translates a document; returns nothing if it cannot be read.
fn translated(bytes: &[u8], translate: &dyn Fn(&str) -> TranslatedLine) -> Option<Vec<u8>> {
    let format: Format = env::var("READER").ok()?.parse().ok()?;
    let input = Cursor::new(bytes.to_vec());
    let options = FormatOptions::default();
    let mut parts = format.read("file".to_owned(), input, &options).ok()?;
    let protection = Protection::placeholders();
    let splitter = Splitter::new(Split::Sentences, "en");
    let rules = DocumentRules {
        limits: &Limits,
        splitter: &splitter,
        protection: &protection,
    };
    let mut written = Vec::new();
    loop {
        let window = parts.window().ok()?;
        if window.is_empty() {
            return Some(written);
        }
        let mut window = Window::new(window, 0);
        while window.begin_level(&rules, |_, _| ()) {
            while !window.is_level_done() {
                let lines = window.sentences().into_iter();
                let translations = lines.map(|line| translate(line.text)).collect();
                window.write(translations, &protection);
            }
        }
        for text in window.into_texts() {
            written.extend_from_slice(&parts.encoded(&text));
        }
    }
}

fn glossary(bytes: &[u8]) {
    let _ = Glossary::from_reader("file", bytes);
}

fn sentencepiece(bytes: &[u8]) {
    let Ok(model) = SentencePiece::parse(bytes) else {
        return;
    };
    for line in ["A dog, 2 cats.", "  déjà  vu ", "日本語", "\u{1f602}\u{0}\u{300}"] {
        let pieces: Vec<String> = model.split(line).into_iter().map(|it| it.piece).collect();
        model.join(&pieces);
    }
}

fn tokenizer(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(tokenizer) = Tokenizer::from_json(text) {
        let ids = tokenizer.encode("A dog, 2 cats. déjà 日本語");
        tokenizer.decode(&ids);
    }
}

fn shortlist(bytes: &[u8]) {
    if let Ok(shortlist) = Shortlist::parse(bytes, 300, 300) {
        assert!(Shortlist::parse(&shortlist.to_bytes(), 300, 300).is_ok());
    }
}

fn bergamot(bytes: &[u8]) {
    let _ = marian::binary::read_container(bytes);
}

fn npz(bytes: &[u8]) {
    let _ = marian::binary::read_npz(bytes);
}

fn ctranslate2(bytes: &[u8]) {
    let _ = ctranslate2::read_container(bytes);
}

fn argosmodel(bytes: &[u8]) {
    let (_, device) = device::choose(None).expect("flex runs everywhere");
    let _ = Marian::read(file(bytes), &device);
}

/// Reads a folder of Transformers without weights. A line `=== NAME` begins each file.
fn transformers(bytes: &[u8]) {
    const FILES: [&str; 12] = [
        "config.json",
        "generation_config.json",
        "merges.txt",
        "sentencepiece.bpe.model",
        "source.spm",
        "special_tokens_map.json",
        "spiece.model",
        "target.spm",
        "target_vocab.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
    ];
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let starts = bytes.windows(4).enumerate();
    let starts = starts.filter_map(|(start, it)| (it == b"=== ").then_some(start + 4));
    let starts: Vec<usize> = starts.collect();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(bytes.len(), |next| next - 4);
        let file = &bytes[*start..end];
        for name in FILES {
            if let Some(content) = file.strip_prefix(name.as_bytes()) {
                let content = content.strip_prefix(b"\n").unwrap_or(content);
                fs::write(folder.path().join(name), content).expect("the folder can be written");
            }
        }
    }
    let (_, device) = device::choose(None).expect("flex runs everywhere");
    assert!(Marian::read(folder.path(), &device).is_err(), "there are no weights");
}

fn state_dict(bytes: &[u8]) {
    let _ = StateDict::read(file(bytes));
}

fn vectors(bytes: &[u8]) {
    static TOKENIZER: OnceLock<Tokenizer> = OnceLock::new();
    let tokenizer = TOKENIZER.get_or_init(|| {
        let config = TokenizerConfig::default();
        Tokenizer::train(&config, ["a dog runs"]).expect("there is text")
    });
    let _ = WordVectors::read(file(bytes), tokenizer);
}
