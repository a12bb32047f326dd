//! Translates a document by reversing the words of each clause, to see what becomes of its structure.
//!
//! `benchmarks/document_structure.py` counts what is kept with this program in place of `transformer-infer`:
//!
//! ```text
//! reverse_document translate --in FILE --out FILE --format md [--columns 1,2] [--retranslate]
//! ```

use std::error::Error;
use std::fs::{self, File};

use transformer_infer::attention::Link;
use transformer_infer::document::format::{Filled, Format, FormatOptions};
use transformer_infer::document::{
    DocumentRules, LineLimits, Protection, Split, Splitter, TranslatedLine, Window,
};

/// Takes lines of any length.
struct Reverses;

impl LineLimits for Reverses {}

/// Reverses the words of each clause. The punctuation stays in its place, as models leave it.
fn reversed(line: &str) -> TranslatedLine {
    let mut translated = TranslatedLine::default();
    // Words have single spaces between them.
    let words: Vec<&str> = line.split(' ').collect();
    let goes_on = |before: &&str, after: &&str| {
        with_punctuation(before)[2].is_empty() && with_punctuation(after)[0].is_empty()
    };
    for clause in words.chunk_by(goes_on) {
        for (place, word) in clause.iter().zip(clause.iter().rev()) {
            if !translated.text.is_empty() {
                translated.text.push(' ');
            }
            let [open, _, close] = with_punctuation(place);
            for part in [open, with_punctuation(word)[1], close] {
                let src = part.as_ptr().addr() - line.as_ptr().addr();
                let tgt = translated.text.len();
                translated.text.push_str(part);
                translated.links.push(Link {
                    src: src..src + part.len(),
                    tgt: tgt..tgt + part.len(),
                });
            }
        }
    }
    translated
}

/// Returns the punctuation before a word, the word, and the punctuation after it.
fn with_punctuation(word: &str) -> [&str; 3] {
    let rest = word.trim_start_matches(['(', '[', '“', '"']);
    let middle = rest.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '”', '"']);
    [
        &word[..word.len() - rest.len()],
        middle,
        &rest[middle.len()..],
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| {
        let at = arguments.iter().position(|it| it == flag);
        at.and_then(|at| arguments.get(at + 1))
            .ok_or_else(|| format!("no value of `{flag}` was given; give one"))
    };
    let (input, output) = (value("--in")?, value("--out")?);
    let format: Format = value("--format")?.parse()?;
    let mut options = FormatOptions::default();
    if let Ok(columns) = value("--columns") {
        options.table.columns = columns.split(',').map(Into::into).collect();
    }
    if arguments.iter().any(|it| it == "--retranslate") {
        options.po.filled = Filled::Overwrite;
    }
    let mut reader = format.read(format!("`{input}`"), File::open(input)?, &options)?;
    let splitter = Splitter::new(Split::Sentences, "en");
    let protection = Protection::placeholders();
    let rules = DocumentRules {
        limits: &Reverses,
        splitter: &splitter,
        protection: &protection,
    };
    let (mut translated, mut n_sentences) = (Vec::new(), 0);
    loop {
        let parts = reader.window()?;
        if parts.is_empty() {
            break;
        }
        let mut window = Window::new(parts, n_sentences);
        while window.begin_level(&rules, |_, _| ()) {
            while !window.is_level_done() {
                let sentences = window.sentences();
                let lines = sentences.iter().map(|line| reversed(line.text)).collect();
                window.write(lines, &protection);
            }
        }
        n_sentences = window.n_sentences();
        for text in window.into_texts() {
            translated.extend_from_slice(&reader.written(&text)?);
        }
    }
    translated.extend(reader.end()?);
    Ok(fs::write(output, translated)?)
}
