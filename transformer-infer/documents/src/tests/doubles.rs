//! Translators and a markup language for tests.

use std::cell::RefCell;
use std::ops::Range;

use crate::format::{PartReader, ReadError};
use crate::marks::{Unit, units};
use crate::{
    DocumentLine, DocumentRules, LineLimits, Mark, MarkKind, Part, Passage, Protection, Split,
    Splitter, TranslatedLine, Window,
};
use transformer_text::Link;

/// A model with known translations.
pub(crate) trait LineTranslator: LineLimits {
    fn translate_line(&self, line: &DocumentLine<'_>) -> TranslatedLine;
}

/// A translator that returns every line unchanged.
#[derive(Debug)]
pub(crate) struct Copies {
    /// Maximum number of bytes of a line.
    pub(crate) most: usize,
}

/// A translator that returns the words of every line in reverse order and in upper case, with the full stop at the end.
#[derive(Debug)]
pub(crate) struct Reverses;

impl LineLimits for Copies {
    fn longest_start(&self, text: &str) -> Option<usize> {
        (text.len() > self.most).then_some(self.most)
    }
}

impl LineTranslator for Copies {
    fn translate_line(&self, line: &DocumentLine<'_>) -> TranslatedLine {
        TranslatedLine::copy_of(line.text)
    }
}

impl LineLimits for Reverses {}

impl LineTranslator for Reverses {
    fn translate_line(&self, line: &DocumentLine<'_>) -> TranslatedLine {
        reversed(line.text)
    }
}

/// A translator by a function. It gives links only if it copies, and records the lines and their required texts.
pub(super) struct Writes {
    pub(super) write: fn(&DocumentLine<'_>) -> String,
    pub(super) can_write: bool,
    pub(super) lines: RefCell<Vec<(String, Vec<String>)>>,
}

impl Writes {
    pub(super) fn new(write: fn(&DocumentLine<'_>) -> String) -> Self {
        Self {
            write,
            can_write: true,
            lines: RefCell::default(),
        }
    }
}

impl LineLimits for Writes {
    fn can_write(&self, _: &str) -> bool {
        self.can_write
    }
}

impl LineTranslator for Writes {
    fn translate_line(&self, line: &DocumentLine<'_>) -> TranslatedLine {
        self.lines
            .borrow_mut()
            .push((line.text.to_owned(), line.terms.to_vec()));
        let text = (self.write)(line);
        let copy = TranslatedLine::copy_of(&text);
        let is_copy = text == line.text;
        let links = copy.links.into_iter().filter(|_| is_copy).collect();
        TranslatedLine { links, ..copy }
    }
}

/// Translates the parts of a document with an English source.
pub(crate) fn translate_parts(
    lines: &impl LineTranslator,
    parts: Vec<Part>,
    split: Split,
    protection: &Protection,
    on_split: &mut dyn FnMut(&str, usize),
) -> Vec<String> {
    let splitter = Splitter::new(split, "en");
    let rules = DocumentRules {
        limits: lines,
        splitter: &splitter,
        protection,
    };
    let mut window = Window::new(parts, 0);
    while window.begin_level(&rules, &mut *on_split) {
        while !window.is_level_done() {
            let sentences = window.sentences().into_iter();
            let translated = sentences.map(|line| lines.translate_line(&line)).collect();
            window.write(translated, protection);
        }
    }
    window.into_texts()
}

/// Translates the sentences of parts, with placeholders protected.
pub(crate) fn translate_sentences(lines: &impl LineTranslator, parts: Vec<Part>) -> String {
    let protection = Protection::placeholders();
    translate_parts(lines, parts, Split::Sentences, &protection, &mut |_, _| ()).concat()
}

/// Translates a document, in its encoding, as [`translate_sentences`] does.
pub(super) fn translate_document(
    lines: &impl LineTranslator,
    reader: PartReader,
) -> Result<Vec<u8>, ReadError> {
    let mut reader = reader;
    let mut translated = Vec::new();
    loop {
        let parts = reader.window()?;
        if parts.is_empty() {
            translated.extend(reader.end()?);
            return Ok(translated);
        }
        let text = translate_sentences(lines, parts);
        translated.extend_from_slice(&reader.written(&text)?);
    }
}

fn reversed(line: &str) -> TranslatedLine {
    let units = units(line, &[]);
    let is_stop = |unit: &&Unit| &line[unit.range.clone()] == ".";
    let (stops, words): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(is_stop);
    let mut translated = TranslatedLine::default();
    let mut add = |range: &Range<usize>, space: &str| {
        if !translated.text.is_empty() {
            translated.text.push_str(space);
        }
        let start = translated.text.len();
        translated
            .text
            .push_str(&line[range.clone()].to_ascii_uppercase());
        translated.links.push(Link {
            src: range.clone(),
            tgt: start..translated.text.len(),
        });
    };
    words.iter().rev().for_each(|unit| add(&unit.range, " "));
    stops.iter().for_each(|unit| add(&unit.range, ""));
    translated
}

/// Reads a passage of a small markup language: `<a>…</a>` is a pair, `<a/>` a point, `<br/>` a break.
///
/// # Panics
///
/// Panics if tags do not match.
pub(crate) fn markup(source: &str) -> Passage {
    let mut passage = Passage::plain("");
    let mut open: Vec<usize> = Vec::new();
    let mut rest = source;
    while let Some(start) = rest.find('<') {
        passage.text.push_str(&rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag ends") + 1;
        let tag = &rest[start..end];
        rest = &rest[end..];
        let at = passage.text.len();
        if tag.starts_with("</") {
            let index = open.pop().expect("a pair has begun");
            passage.marks[index].range.end = at;
            if let MarkKind::Pair { close, .. } = &mut passage.marks[index].kind {
                *close = tag.into();
            }
            continue;
        }
        let parent = open.last().copied();
        let is_pair = !tag.ends_with("/>");
        let (range, kind) = if is_pair {
            open.push(passage.marks.len());
            let pair = MarkKind::Pair {
                open: tag.into(),
                close: "".into(),
            };
            (at..at, pair)
        } else {
            let edge = passage
                .marks
                .iter()
                .map(|mark| mark.range.end)
                .max()
                .unwrap_or(0);
            let (range, raw) = absorb_spaces(&mut passage.text, edge, tag, &mut rest);
            let raw = raw.into();
            let kind = match tag {
                "<br/>" => MarkKind::Break { raw },
                _ => MarkKind::Point { raw },
            };
            (range, kind)
        };
        passage.marks.push(Mark {
            range,
            parent,
            kind,
        });
    }
    passage.text.push_str(rest);
    assert!(open.is_empty(), "a pair of `{source}` does not end");
    passage
}

/// Moves the spaces around a point into its text, and leaves one if words would touch.
fn absorb_spaces(
    text: &mut String,
    edge: usize,
    tag: &str,
    rest: &mut &str,
) -> (Range<usize>, String) {
    let kept = edge + text[edge..].trim_end_matches(' ').len();
    let before = text.split_off(kept);
    let after = &rest[..rest.len() - rest.trim_start_matches(' ').len()];
    *rest = &rest[after.len()..];
    let touches = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    let would_touch = touches(text.chars().next_back()) && touches(rest.chars().next());
    let start = text.len();
    if would_touch || !before.is_empty() && !after.is_empty() && !text.is_empty() {
        text.push(' ');
    }
    (start..text.len(), [&before, tag, after].concat())
}

/// Translates a passage of the markup language as English, with placeholders protected.
pub(super) fn translate(lines: &impl LineTranslator, source: &str) -> String {
    translate_sentences(lines, vec![Part::Passage(markup(source))])
}
