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
    DocumentError, DocumentLine, DocumentTranslator, LineTranslator, Protection, Split, Splitter,
    TranslatedLine,
};

/// Returns the words of every line in the opposite order.
struct Reverses;

impl LineTranslator for Reverses {
    fn translate_lines(
        &self,
        lines: &[DocumentLine<'_>],
        _: &mut dyn FnMut(usize),
    ) -> Result<Vec<TranslatedLine>, DocumentError> {
        Ok(lines.iter().map(|line| reversed(line.text)).collect())
    }

    fn longest_start(&self, _: &str) -> Option<usize> {
        None
    }
}

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
    let parts = format.read(format!("`{input}`"), File::open(input)?, &options)?;
    let splitter = Splitter::new(Split::Sentences, "en");
    let protection = Protection::placeholders();
    let mut translated = Vec::new();
    DocumentTranslator::new(&Reverses, &splitter, &protection).translate(
        parts,
        &mut translated,
        &mut |_| (),
    )?;
    Ok(fs::write(output, translated)?)
}
