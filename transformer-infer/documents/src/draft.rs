//! [`TextDraft`]: the sentences of a plain text, for callers that translate them individually.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Protection;
use super::copied::Copied;
use super::line::DocumentLine;
use super::marks::{Chunk, Sentence, Unit, put_back, units};
use super::passage::Passage;
use super::rules::DocumentRules;
use super::rules::LineLimits;
use super::split::trimmed;
use super::trial::{Attempt, Trial};
use transformer_text::Link;

/// The sentences of a plain text. The text between them, mostly whitespace, stays in the translation.
///
/// A [`Window`](super::Window) translates whole documents. A draft gives the same translations to callers that
/// need the translation of each sentence, or several translations of each.
#[derive(Clone, Debug)]
pub struct TextDraft {
    /// The sentences, in order.
    pub sentences: Vec<DraftSentence>,
}

/// A sentence of a text, or a part of a sentence that is too long.
#[derive(Clone, Debug)]
pub struct DraftSentence {
    /// Its bytes in the text, without the whitespace around it.
    pub range: Range<usize>,
    /// Number of parts of the sentence, including this one; 1 unless the sentence is too long.
    pub n_parts: usize,
    sentence: Sentence,
}

/// A translation of a sentence, including copied text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftTranslation {
    /// The text.
    pub text: String,
    /// The pieces of the model's translation, in order: the range of bytes there, and the start in `text`.
    pieces: Vec<(Range<usize>, usize)>,
    /// The copied text, as ranges of bytes of `text` without the whitespace around it.
    copied: Vec<Range<usize>>,
}

impl<L: LineLimits> DocumentRules<'_, L> {
    /// Finds the sentences of a plain text and the text to copy in them.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_documents::{Attempt, DocumentRules, LineLimits, Protection, Split, Splitter};
    ///
    /// /// A model of lines of any length.
    /// struct AnyLength;
    ///
    /// impl LineLimits for AnyLength {}
    ///
    /// let (splitter, protection) = (Splitter::new(Split::Sentences, "en"), Protection::default());
    /// let rules = DocumentRules { limits: &AnyLength, splitter: &splitter, protection: &protection };
    ///
    /// let draft = rules.draft("A dog runs.  It is fast.");
    /// let shown = Attempt::default();
    /// let texts: Vec<&str> = draft.sentences.iter().map(|it| it.line(shown)).collect();
    /// assert_eq!(texts, ["A dog runs.", "It is fast."]);
    /// assert_eq!(draft.sentences[1].range, 13..24);
    /// ```
    pub fn draft(&self, text: &str) -> TextDraft {
        let passage = Passage::plain(text);
        let copied = Copied::find(&passage, self.protection);
        let can_write = |text: &str| self.limits.can_write(text);
        let sentences = self.sentences(&passage, &copied).into_iter();
        let sentences = sentences.flat_map(|parts| {
            let n_parts = parts.len();
            parts.into_iter().map(move |range| (range, n_parts))
        });
        let sentence = |(range, n_parts): (Range<usize>, usize)| {
            let inside = Copied::inside(&copied, &range);
            DraftSentence {
                sentence: Sentence::new(&passage, &range, inside, &[], &can_write),
                n_parts,
                range,
            }
        };
        TextDraft {
            sentences: sentences.map(sentence).collect(),
        }
    }
}

impl DraftSentence {
    /// Returns the line to translate: the sentence with single spaces.
    pub fn line(&self, attempt: Attempt) -> &str {
        self.sentence.line(attempt)
    }

    /// Returns the line to translate, with the texts to copy. `index` is its number.
    pub fn document_line(&self, attempt: Attempt, index: u64) -> DocumentLine<'_> {
        self.sentence.document_line(attempt, index)
    }

    /// Returns the bytes of the line that are copied; they contain no glossary terms.
    pub fn copied(&self, attempt: Attempt) -> &[Range<usize>] {
        &self.sentence.in_form(attempt.form).copied
    }

    /// Takes the translation of the next attempt, with its text. Returns whether there is another attempt.
    pub fn take<T>(
        &self,
        trial: &mut Trial<T>,
        text: &str,
        translation: T,
        protection: &Protection,
    ) -> bool {
        trial.take(&self.sentence, text, translation, protection)
    }

    /// Returns whether a translation of the line keeps the copied text.
    pub fn keeps(&self, attempt: Attempt, line: &str, protection: &Protection) -> bool {
        let next = self.sentence.next_form(attempt.form, line, protection);
        next.is_none()
    }

    /// Returns whether the line has nothing to translate, so that its translation is the line itself.
    pub fn is_copied(&self) -> bool {
        !self.sentence.text.contains(char::is_alphabetic)
    }

    /// Returns whether [`translation`](Self::translation) needs the links between the line and its translation.
    pub fn needs_links(&self, attempt: Attempt) -> bool {
        !self.sentence.in_form(attempt.form).marks.is_empty()
    }

    /// Puts the text that was taken out into a translation of the line.
    pub fn translation(
        &self,
        attempt: Attempt,
        line: &str,
        links: &[Link],
        protection: &Protection,
    ) -> DraftTranslation {
        let mut translation = DraftTranslation::default();
        let start_of_line = line.as_ptr() as usize;
        for chunk in put_back(self.sentence.in_form(attempt.form), line, links, protection) {
            match chunk {
                Chunk::Text(text) => {
                    // The text is a part of the line.
                    let start = (text.as_ptr() as usize).saturating_sub(start_of_line);
                    let range = start..start + text.len();
                    translation.pieces.push((range, translation.text.len()));
                    translation.text.push_str(text);
                }
                mark @ Chunk::Raw { .. } => {
                    let start = translation.text.len();
                    translation.text.push_str(&mark.source());
                    let copied = trimmed(&translation.text, start..translation.text.len());
                    translation.copied.extend(copied);
                }
            }
        }
        translation
    }

    /// Returns the pairs of corresponding words and copied texts, in the order of the translation: ranges of bytes of
    /// the whole `source` text and of the translation of this sentence. `links` are those of the lines.
    pub fn words(
        &self,
        attempt: Attempt,
        source: &str,
        translation: &DraftTranslation,
        links: &[Link],
    ) -> Vec<Link> {
        let sentence = self.sentence.in_form(attempt.form);
        let src_positions = self.positions(sentence, source);
        let src_words = units(&source[self.range.clone()], &[]);
        let tgt_words = units(&translation.text, &[]);
        let mut pairs = BTreeSet::new();
        for link in links {
            let src = src_positions.get(link.src.clone()).unwrap_or_default();
            let src = src.iter().flatten().map(|at| at - self.range.start);
            let src: BTreeSet<usize> = src.filter_map(|at| word_at(&src_words, at)).collect();
            let tgt = link.tgt.clone().filter_map(|at| translation.position(at));
            let tgt: BTreeSet<usize> = tgt.filter_map(|at| word_at(&tgt_words, at)).collect();
            for tgt in tgt {
                pairs.extend(src.iter().map(|src| (tgt, *src)));
            }
        }
        let link = |(tgt, src): (usize, usize)| {
            let Range { start, end } = src_words[src].range.clone();
            Link {
                src: self.range.start + start..self.range.start + end,
                tgt: tgt_words[tgt].range.clone(),
            }
        };
        let mut words: Vec<Link> = pairs.into_iter().map(link).collect();
        let mut copied = translation.copied.clone();
        for src in &sentence.taken_out {
            let is_same = |tgt: &Range<usize>| translation.text[tgt.clone()] == source[src.clone()];
            if let Some(index) = copied.iter().position(is_same) {
                let (src, tgt) = (src.clone(), copied.remove(index));
                words.push(Link { src, tgt });
            }
        }
        words.sort_by_key(|link| (link.tgt.start, link.src.start));
        words
    }

    /// Returns the position in the whole text of each byte of the line; `None` for spaces that replace other text.
    fn positions(&self, sentence: &Sentence, source: &str) -> Vec<Option<usize>> {
        let mut protected = sentence.taken_out.iter().peekable();
        let mut copied = |at: usize| {
            while protected.next_if(|range| range.end <= at).is_some() {}
            protected.peek().is_some_and(|range| range.start <= at)
        };
        let characters = source[self.range.clone()].char_indices();
        let characters = characters.map(|(at, c)| (self.range.start + at, c));
        let mut characters = characters.filter(|(at, c)| !c.is_whitespace() && !copied(*at));
        let mut positions = Vec::with_capacity(sentence.text.len());
        for c in sentence.text.chars() {
            let found = match c.is_whitespace() {
                true => None,
                // The line's characters other than spaces are those of the text, in the same order.
                false => characters.next().filter(|(_, same)| *same == c),
            };
            let start = found.map(|(at, _)| at);
            positions.extend((0..c.len_utf8()).map(|byte| Some(start? + byte)));
        }
        positions
    }
}

impl DraftTranslation {
    /// Returns the position in the text of a byte of the model's translation.
    fn position(&self, at: usize) -> Option<usize> {
        let next = self.pieces.partition_point(|(range, _)| range.end <= at);
        let (range, start) = self.pieces.get(next)?;
        Some(start + at.checked_sub(range.start)?)
    }
}

fn word_at(words: &[Unit], at: usize) -> Option<usize> {
    let index = words.partition_point(|word| word.range.end <= at);
    words.get(index).filter(|word| word.range.start <= at)?;
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Form, Protection, Split, Splitter, TranslatedLine, Way};

    /// The limits of lines with at most so many bytes.
    struct AtMost(usize);

    impl LineLimits for AtMost {
        fn longest_start(&self, text: &str) -> Option<usize> {
            (text.len() > self.0).then_some(self.0)
        }
    }

    fn sentences(text: &str, most: usize) -> Vec<DraftSentence> {
        let (splitter, protection) = (
            Splitter::new(Split::Sentences, "en"),
            Protection::placeholders(),
        );
        let rules = DocumentRules {
            limits: &AtMost(most),
            splitter: &splitter,
            protection: &protection,
        };
        rules.draft(text).sentences
    }

    /// The attempt without copied text.
    const HIDDEN: Attempt = Attempt {
        form: Form::Hidden,
        way: Way::Usual,
    };

    fn link(src: Range<usize>, tgt: Range<usize>) -> Link {
        Link { src, tgt }
    }

    #[test]
    fn a_long_sentence_has_parts_and_a_short_one_is_its_own() {
        let found = sentences("A dog.  One and two.", 10);
        let parts: Vec<_> = found
            .iter()
            .map(|it| (it.range.clone(), it.n_parts))
            .collect();
        assert_eq!(parts, [(0..6, 1), (8..15, 2), (16..20, 2)]);
    }

    #[test]
    fn what_is_copied_is_not_in_the_line_and_comes_back() {
        let sentence = &sentences("is  {a} x", 99)[0];
        let attempt = HIDDEN;
        let line = (sentence.line(attempt), sentence.needs_links(attempt));
        assert_eq!(line, ("is x", true));
        let links = [link(0..2, 2..4), link(3..4, 0..1)];
        let translation =
            sentence.translation(attempt, "X IS", &links, &Protection::placeholders());
        assert!(translation.text.contains("{a}"), "{translation:?}");
    }

    #[test]
    fn words_are_found_in_the_text_whatever_is_copied_before_them() {
        let text = "Oh. É {a}  x y";
        let sentence = &sentences(text, 99)[1];
        let attempt = HIDDEN;
        let copy = TranslatedLine::copy_of(sentence.line(attempt));
        let translation = sentence.translation(
            attempt,
            &copy.text,
            &copy.links,
            &Protection::placeholders(),
        );
        assert_eq!(translation.text, "É {a}  x y");
        let words = sentence.words(attempt, text, &translation, &copy.links);
        let expected = [
            link(4..6, 0..2),
            link(7..10, 3..6),
            link(12..13, 8..9),
            link(14..15, 10..11),
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_sentence_of_what_is_copied_has_nothing_to_translate() {
        assert!(sentences("{name}.", 99)[0].is_copied());
    }
}
