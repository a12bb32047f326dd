//! Translates a document by reversing the words of each sentence, to see what becomes of its structure.
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

fn reversed(line: &str) -> TranslatedLine {
    let mut translated = TranslatedLine::default();
    let mut end = line.len();
    // Words have single spaces between them.
    for word in line.rsplit(' ') {
        let src = end - word.len()..end;
        end = src.start.saturating_sub(1);
        if !translated.text.is_empty() {
            translated.text.push(' ');
        }
        let at = translated.text.len();
        translated.text.push_str(word);
        let tgt = at..translated.text.len();
        translated.links.push(Link { src, tgt });
    }
    translated
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
