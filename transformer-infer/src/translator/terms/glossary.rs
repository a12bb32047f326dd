//! [`Glossary`]: terms of the source, each with the term that its translation must contain.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use transformer_core::lines::LineReader;

use super::GlossaryError;
use super::contained::capitalized;
use super::pieces::{Piece, continues_word, pieces};

/// Terms of the source, each with the term that its translation must contain.
///
/// # Example
///
/// ```
/// use transformer_infer::Glossary;
///
/// let file = "dog\tHund\n# of ice cream\nice cream\tEis\n";
/// let glossary = Glossary::from_reader("`terms.tsv`", file.as_bytes())?;
/// let terms = glossary.terms_in("Dogs eat ice cream with a dog.");
/// let targets: Vec<&str> = terms.iter().map(|term| term.target).collect();
/// assert_eq!(targets, ["Eis", "Hund"]);
/// assert_eq!(terms[0].range, 9..18);
/// # Ok::<(), transformer_infer::GlossaryError>(())
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
    /// The term as the glossary spells it.
    pub source: &'a str,
    /// The text that the translation must contain.
    pub target: &'a str,
}

#[derive(Clone, Debug)]
struct Entry {
    source: String,
    target: String,
    line: u64,
    /// Whether it has no upper-case letter, so that it may begin a sentence with a capital.
    is_lower: bool,
}

/// The pieces that can follow a sequence of pieces, and the term that it is.
#[derive(Clone, Debug, Default)]
struct Node {
    next: HashMap<Box<str>, usize>,
    entry: Option<usize>,
}

impl Glossary {
    /// Most terms of a glossary.
    pub const MOST_TERMS: usize = 100_000;

    /// Most bytes of a line.
    pub const MOST_LINE_BYTES: usize = 4096;

    /// Most bytes of a file, unpacked.
    pub const MOST_BYTES: usize = 16 << 20;

    /// Reads a file, plain or gzip, of lines with a term, a tab, and the term of the translation.
    ///
    /// Blank lines are skipped, and lines that begin with `#`, which are comments; a space before a `#` makes it part of
    /// the term. Whitespace around terms is ignored, and inside of them counts as one space.
    ///
    /// # Errors
    ///
    /// Returns a [`GlossaryError`] that names the file and the line.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, GlossaryError> {
        Self::from_lines(LineReader::open(path.as_ref())?)
    }

    /// Reads the same from a stream, which errors call by `name`.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    pub fn from_reader(name: impl Into<String>, input: impl Read) -> Result<Self, GlossaryError> {
        Self::from_lines(LineReader::new(name, input)?)
    }

    /// Makes a glossary of terms and their translations, without a file. Errors call the collection by `name`, and count
    /// pairs as lines.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    pub fn from_pairs<'a>(
        name: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, GlossaryError> {
        let mut glossary = Self::empty();
        let mut n_bytes = 0;
        for (pair, number) in pairs.into_iter().zip(1..) {
            let n_pair_bytes = pair.0.len() + pair.1.len();
            n_bytes += n_pair_bytes;
            for (n, most) in [
                (n_pair_bytes, Self::MOST_LINE_BYTES),
                (n_bytes, Self::MOST_BYTES),
            ] {
                if n > most {
                    return Err(too_large(name, number, most, "bytes"));
                }
            }
            glossary.add(pair, number, name)?;
        }
        Ok(glossary)
    }

    /// Returns an empty glossary: a tree with a root alone.
    fn empty() -> Self {
        Self {
            entries: Vec::new(),
            nodes: vec![Node::default()],
        }
    }

    fn from_lines<R: Read>(lines: LineReader<R>) -> Result<Self, GlossaryError> {
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
                return Err(GlossaryError::Columns {
                    name,
                    line: number,
                    n_tabs: columns.len() - 1,
                });
            };
            glossary.add((source, target), number, &name)?;
        }
        Ok(glossary)
    }

    /// Adds a term and its translation, from a line of a file.
    fn add(&mut self, pair: (&str, &str), line: u64, name: &str) -> Result<(), GlossaryError> {
        if self.entries.len() == Self::MOST_TERMS {
            return Err(too_large(name, line, Self::MOST_TERMS, "terms"));
        }
        let entry = Entry::new(pair, line, name)?;
        match self.insert(entry) {
            None => Ok(()),
            Some(first) => Err(GlossaryError::Duplicate {
                name: name.to_owned(),
                line,
                first,
            }),
        }
    }

    /// Inserts an entry; returns the line of an earlier one with the same term, if there is one.
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

    /// Returns whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the terms of a sentence, from left to right, which do not overlap.
    ///
    /// A term is found as whole words, in the case in which it is written; one without upper-case letters also with a
    /// capital at the start of the sentence. Of several at the same place the longest counts. The time does not depend on
    /// the number of terms.
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
            let lower = lower
                .flatten()
                .and_then(|first| self.longest(rest, &first, |entry| entry.is_lower));
            // Of equal lengths, the one as it is written.
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

    /// Returns the longest term at the start of some pieces, the first of which is spelled `first`, and its number of
    /// pieces.
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
    fn new((source, target): (&str, &str), line: u64, name: &str) -> Result<Self, GlossaryError> {
        let column = |text: &str, column| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let text = words.join(" ");
            let blank = || GlossaryError::Blank {
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

fn too_large(name: &str, line: u64, most: usize, unit: &'static str) -> GlossaryError {
    GlossaryError::TooLarge {
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
    // A word whose capital is not that of the lower-case letter is another word.
    (capitalized(&lower).as_deref() == Some(word)).then_some(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Glossary, GlossaryError> {
        Glossary::from_reader("`terms.tsv`", text.as_bytes())
    }

    fn targets(glossary: &str, sentence: &str) -> Vec<String> {
        let glossary = read(glossary).expect("the glossary is valid");
        let terms = glossary.terms_in(sentence).into_iter();
        terms.map(|term| term.target.to_owned()).collect()
    }

    fn refusal(text: &str) -> String {
        read(text)
            .expect_err("the glossary is not valid")
            .to_string()
    }

    #[test]
    fn terms_are_whole_words() {
        assert!(targets("dog\tHund", "The dogs of hotdog stands").is_empty());
        assert_eq!(targets("dog\tHund", "(dog), a dog's tail"), ["Hund"; 2]);
    }

    #[test]
    fn the_longest_term_counts_and_terms_do_not_overlap() {
        let glossary = "dog\tHund\nguard dog\tWachhund\ndog house\tHundehütte";
        assert_eq!(
            targets(glossary, "a guard  dog house for a dog"),
            ["Wachhund", "Hund"]
        );
    }

    #[test]
    fn a_term_that_was_only_begun_is_no_term() {
        assert_eq!(targets("a b c\t1\nb\t2", "a b d"), ["2"]);
    }

    #[test]
    fn a_lower_case_term_may_begin_the_sentence_with_a_capital() {
        let glossary = "dog\tHund";
        assert_eq!(targets(glossary, "\"Dog bites Dog\""), ["Hund"]);
        assert!(targets("dog Rex\tHund", "Dog Rex").is_empty());
    }

    #[test]
    fn a_term_as_it_is_written_counts_before_one_with_another_capital() {
        let glossary = "polish\tpolieren\nPolish\tpolnisch";
        assert_eq!(targets(glossary, "Polish polish"), ["polnisch", "polieren"]);
    }

    #[test]
    fn terms_may_have_characters_that_are_no_letters() {
        assert_eq!(
            targets(" #1\tNr. 1\nC++\tC++", "the #1 in C++."),
            ["Nr. 1", "C++"]
        );
    }

    #[test]
    fn comments_blank_lines_and_spaces_are_ignored() {
        let glossary = read("# a comment\n\n  ice \u{a0} cream \t Eis\r\n").expect("it is valid");
        assert_eq!(glossary.len(), 1);
        assert_eq!(glossary.terms_in("ice cream")[0].source, "ice cream");
    }

    #[test]
    fn a_line_without_a_tab_is_refused_with_its_number() {
        assert_eq!(
            refusal("dog\tHund\ncat Katze"),
            "`terms.tsv`, line 2 has 0 tabs; write a term, one tab, and its translation, or begin a comment with #"
        );
    }

    #[test]
    fn pairs_make_the_glossary_that_their_lines_do() {
        let pairs = [("ice\n cream", "Eis"), ("#1", "Nr.\t1")];
        let glossary = Glossary::from_pairs("`terms`", pairs).expect("it is valid");
        let terms = glossary.terms_in("#1 ice cream");
        let targets: Vec<&str> = terms.iter().map(|term| term.target).collect();
        assert_eq!(targets, ["Nr. 1", "Eis"]);
        let twice = Glossary::from_pairs("`terms`", [("a b", "c"), ("a  b", "d")]);
        assert!(matches!(
            twice,
            Err(GlossaryError::Duplicate {
                line: 2,
                first: 1,
                ..
            })
        ));
    }

    #[test]
    fn too_many_bytes_of_pairs_are_refused() {
        let terms: Vec<String> = (0..4200).map(|n| format!("a{n}")).collect();
        let target = "b".repeat(4000);
        let pairs = terms.iter().map(|term| (term.as_str(), target.as_str()));
        let message = Glossary::from_pairs("`terms`", pairs)
            .expect_err("it has 16.8 million bytes")
            .to_string();
        assert!(message.contains("more than 16777216 bytes"), "{message}");
    }

    #[test]
    fn a_term_without_a_translation_is_refused() {
        assert_eq!(
            refusal("dog\t "),
            "`terms.tsv`, line 1 has no translation; add it, or remove the line"
        );
    }

    #[test]
    fn a_term_that_occurs_twice_is_refused_with_both_lines() {
        assert_eq!(
            refusal("big dog\tHund\n\nbig  dog\tKöter"),
            "`terms.tsv`, line 3: the term is that of line 1, too; keep one of the lines, since a term has one \
             translation"
        );
    }

    #[test]
    fn a_long_line_is_refused() {
        let message = refusal(&format!("{}\tHund", "dog".repeat(2000)));
        assert!(
            message.contains("line 1 has more than 4096 bytes"),
            "{message}"
        );
    }

    #[test]
    fn too_many_terms_are_refused() {
        let lines = (0..=Glossary::MOST_TERMS).map(|n| format!("a{n}\tb\n"));
        let message = refusal(&lines.collect::<String>());
        assert!(
            message.contains("more than 100000 terms at line 100001"),
            "{message}"
        );
    }

    #[test]
    fn an_empty_glossary_finds_nothing() {
        assert!(targets("", "a dog").is_empty());
        assert!(Glossary::default().terms_in("a dog").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn every_range_is_text_that_spells_the_term(text in "[abAB \u{301}é-]{0,40}") {
            let glossary = read("a\t1\nab a\t2\nb-a\t3\né\t4").expect("it is valid");
            let mut end = 0;
            for term in glossary.terms_in(&text) {
                proptest::prop_assert!(term.range.start >= end);
                end = term.range.end;
                let words = text[term.range].split_whitespace().collect::<Vec<_>>().join(" ");
                let lower = uncapitalized(&words).unwrap_or_default();
                proptest::prop_assert!(words == term.source || lower == term.source);
            }
        }
    }
}
