//! [`Glossary`]: terms of the source, each with the term that its translation must contain.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use transformer_core::lines::LineReader;

use super::contained::{Piece, capitalized, continues_word, pieces};
use crate::TranslatorError;

/// Terms of the source, each with the term that its translation must contain.
///
/// # Example
///
/// ```
/// use transformer_translate::Glossary;
///
/// let file = "dog\tHund\n# of ice cream\nice cream\tEis\n";
/// let glossary = Glossary::from_reader("`terms.tsv`", file.as_bytes())?;
/// let terms = glossary.terms_in("Dogs eat ice cream with a dog.");
/// let targets: Vec<&str> = terms.iter().map(|term| term.target).collect();
/// assert_eq!(targets, ["Eis", "Hund"]);
/// assert_eq!(terms[0].range, 9..18);
/// # Ok::<(), transformer_translate::TranslatorError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Glossary {
    entries: Vec<Entry>,
    /// The terms as paths of pieces; the first node is the root.
    nodes: Vec<Node>,
}

/// A term found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term<'a> {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// The term in the glossary's spelling.
    pub source: &'a str,
    /// The text that the translation must contain.
    pub target: &'a str,
}

#[derive(Clone, Debug)]
struct Entry {
    source: String,
    target: String,
    line: u64,
    /// True if it has no upper-case letter, so that it may begin a sentence with a capital.
    is_lower: bool,
}

/// A sequence of pieces: the pieces that can follow it, and the term that it spells, if any.
#[derive(Clone, Debug, Default)]
struct Node {
    next: HashMap<Box<str>, usize>,
    entry: Option<usize>,
}

impl Glossary {
    /// Maximum number of terms of a glossary.
    pub const MOST_TERMS: usize = 100_000;

    /// Maximum size of a line, in bytes.
    pub const MOST_LINE_BYTES: usize = 4096;

    /// Maximum size of a file, unpacked, in bytes.
    pub const MOST_BYTES: usize = 16 << 20;

    /// Maximum number of words, spaces and signs of the terms, each of which takes memory; beginnings that terms share
    /// count once.
    pub const MOST_PIECES: usize = 1 << 19;

    /// Reads a file, plain or gzip, of lines with a term, a tab, and the term of the translation.
    ///
    /// Blank lines are skipped, and so are comments, which are lines that begin with `#`; with a space before it, `#`
    /// is part of the term. Whitespace around terms is ignored, and whitespace inside them counts as one space.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] that names the file and the line.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TranslatorError> {
        Self::from_lines(LineReader::open(path.as_ref())?)
    }

    /// Reads a glossary from a stream; errors call it by `name`.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    pub fn from_reader(name: impl Into<String>, input: impl Read) -> Result<Self, TranslatorError> {
        Self::from_lines(LineReader::new(name, input)?)
    }

    /// Creates a glossary from terms and their translations, without a file. Errors call the collection by `name`, and
    /// count pairs as lines.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    pub fn from_pairs<'a>(
        name: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, TranslatorError> {
        let mut glossary = Self::empty();
        let mut n_bytes = 0;
        for (pair, number) in pairs.into_iter().zip(1..) {
            let n_pair_bytes = pair.0.len() + pair.1.len();
            n_bytes += n_pair_bytes;
            if n_pair_bytes > Self::MOST_LINE_BYTES {
                return Err(too_large(name, number, Self::MOST_LINE_BYTES, "bytes"));
            }
            if n_bytes > Self::MOST_BYTES {
                return Err(too_large(name, number, Self::MOST_BYTES, "bytes"));
            }
            glossary.add(pair, number, name)?;
        }
        Ok(glossary)
    }

    fn empty() -> Self {
        Self {
            entries: Vec::new(),
            nodes: vec![Node::default()],
        }
    }

    fn from_lines<R: Read>(lines: LineReader<R>) -> Result<Self, TranslatorError> {
        let remedy = "a glossary has one term and its translation in a line: check that it is one";
        let mut lines = lines.with_max_bytes(Self::MOST_LINE_BYTES, remedy);
        let name = lines.name().to_owned();
        let mut glossary = Self::empty();
        let mut n_bytes = 0;
        let mut number = 0;
        while let Some(line) = lines.next_line()? {
            number += 1;
            n_bytes += line.len() + 1;
            if n_bytes > Self::MOST_BYTES {
                return Err(too_large(&name, number, Self::MOST_BYTES, "bytes"));
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let columns: Vec<&str> = line.split('\t').collect();
            let [source, target] = columns[..] else {
                return Err(TranslatorError::TermColumns {
                    name,
                    line: number,
                    n_tabs: columns.len() - 1,
                });
            };
            glossary.add((source, target), number, &name)?;
        }
        Ok(glossary)
    }

    fn add(&mut self, pair: (&str, &str), line: u64, name: &str) -> Result<(), TranslatorError> {
        if self.entries.len() == Self::MOST_TERMS {
            return Err(too_large(name, line, Self::MOST_TERMS, "terms"));
        }
        let entry = Entry::new(pair, line, name)?;
        let first = self.insert(entry);
        if self.nodes.len() - 1 > Self::MOST_PIECES {
            let unit = "words, spaces and signs";
            return Err(too_large(name, line, Self::MOST_PIECES, unit));
        }
        match first {
            None => Ok(()),
            Some(first) => Err(TranslatorError::DuplicateTerm {
                name: name.to_owned(),
                line,
                first,
            }),
        }
    }

    /// Inserts an entry; returns the line of an earlier one with the same term, if any.
    fn insert(&mut self, entry: Entry) -> Option<u64> {
        let mut node = 0;
        for piece in pieces(&entry.source) {
            let n_nodes = self.nodes.len();
            let next = &mut self.nodes[node].next;
            node = match next.get(piece.text) {
                Some(next) => *next,
                None => {
                    next.insert(piece.text.into(), n_nodes);
                    self.nodes.push(Node::default());
                    n_nodes
                }
            };
        }
        let known = self.nodes[node].entry.replace(self.entries.len());
        self.entries.push(entry);
        known.map(|known| self.entries[known].line)
    }

    /// Returns the number of terms.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the terms of a sentence, from left to right, without overlaps.
    ///
    /// A term is found as whole words, in the same case; a term without upper-case letters also with a capital at the
    /// start of the sentence. Among several terms at a position the longest counts. The time does not depend on the
    /// number of terms.
    pub fn terms_in(&self, sentence: &str) -> Vec<Term<'_>> {
        let pieces = pieces(sentence);
        let is_word = |piece: &Piece<'_>| piece.text.starts_with(continues_word);
        let first_word = pieces.iter().position(is_word);
        let mut found = Vec::new();
        let mut start = 0;
        while start < pieces.len() {
            let rest = &pieces[start..];
            let as_written = self.longest(rest, rest[0].text, |_| true);
            let lower = (Some(start) == first_word).then(|| uncapitalized(rest[0].text));
            let lower = lower.flatten();
            let lower = lower.and_then(|it| self.longest(rest, &it, |entry| entry.is_lower));
            // If the lengths are equal, the term as it is written.
            let longest = match (as_written, lower) {
                (Some(a), Some(b)) => Some(if b.1 > a.1 { b } else { a }),
                (a, b) => a.or(b),
            };
            let Some((entry, n_pieces)) = longest else {
                start += 1;
                continue;
            };
            let last = &pieces[start + n_pieces - 1];
            found.push(Term {
                range: pieces[start].range.start..last.range.end,
                source: &entry.source,
                target: &entry.target,
            });
            start += n_pieces;
        }
        found
    }

    /// Returns the [terms of a sentence](Self::terms_in), except those that touch text that is copied.
    pub fn terms_outside(&self, sentence: &str, copied: &[Range<usize>]) -> Vec<Term<'_>> {
        let mut terms = self.terms_in(sentence);
        terms.retain(|Term { range, .. }| {
            let meets = |it: &Range<usize>| it.start < range.end && range.start < it.end;
            !copied.iter().any(meets)
        });
        terms
    }

    /// Returns the longest term at the start of some pieces, the first one spelled `first`, and its number of pieces.
    fn longest(
        &self,
        rest: &[Piece<'_>],
        first: &str,
        is_possible: impl Fn(&Entry) -> bool,
    ) -> Option<(&Entry, usize)> {
        let mut node = self.nodes.first()?;
        let mut longest = None;
        let others = rest[1..].iter().map(|piece| piece.text);
        for (n_pieces, text) in (1..).zip([first].into_iter().chain(others)) {
            let Some(next) = node.next.get(text) else {
                break;
            };
            node = &self.nodes[*next];
            let entry = node.entry.map(|entry| &self.entries[entry]);
            if let Some(entry) = entry.filter(|entry| is_possible(entry)) {
                longest = Some((entry, n_pieces));
            }
        }
        longest
    }
}

impl Entry {
    fn new((source, target): (&str, &str), line: u64, name: &str) -> Result<Self, TranslatorError> {
        let column = |text: &str, column| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let text = words.join(" ");
            let blank = || TranslatorError::BlankTerm {
                name: name.to_owned(),
                line,
                column,
            };
            (!text.is_empty()).then_some(text).ok_or_else(blank)
        };
        let source = column(source, "term")?;
        Ok(Self {
            is_lower: !source.contains(char::is_uppercase),
            target: column(target, "translation")?,
            source,
            line,
        })
    }
}

fn too_large(name: &str, line: u64, most: usize, unit: &'static str) -> TranslatorError {
    TranslatorError::LargeGlossary {
        name: name.to_owned(),
        line,
        most,
        unit,
    }
}

/// Returns a word with a lower-case initial, if it has an upper-case one.
fn uncapitalized(word: &str) -> Option<String> {
    let mut rest = word.chars();
    let first = rest.next().filter(|first| first.is_uppercase())?;
    let lower: String = first.to_lowercase().chain(rest).collect();
    // If the capital is not that of the lower-case letter, the word is another one.
    (capitalized(&lower).as_deref() == Some(word)).then_some(lower)
}

#[cfg(test)]
#[path = "glossary_tests.rs"]
mod tests;
