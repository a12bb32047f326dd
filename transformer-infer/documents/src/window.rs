//! [`Window`]: from the parts of a document to their translations, without a model.

use std::mem;
use std::ops::Range;

use super::Protection;
use super::copied::Copied;
use super::line::{DocumentLine, TranslatedLine};
use super::marks::{Chunk, Piece, Sentence, cut, put_back};
use super::passage::{MarkKind, Part, Passage};
use super::rules::DocumentRules;
use super::rules::LineLimits;
use super::trial::{Attempt, Trial, Tried};
use transformer_protection::Faults;

/// Parts of a document that are translated together.
///
/// Passages inside marks, such as those of attributes, are translated first, and then the passages around them: each
/// is a level. A level takes one or more rounds, because a sentence is translated again in another form while its
/// translation lacks text that must be copied.
///
/// # Example
///
/// ```
/// use transformer_documents::format::{Format, FormatOptions};
/// use transformer_documents::{
///     DocumentRules, LineLimits, Protection, Split, Splitter, TranslatedLine, Window,
/// };
///
/// /// A model that repeats each line.
/// struct Echo;
///
/// impl LineLimits for Echo {}
///
/// let splitter = Splitter::new(Split::Sentences, "en");
/// let protection = Protection::placeholders();
/// let rules = DocumentRules { limits: &Echo, splitter: &splitter, protection: &protection };
///
/// let page = "<p title='A cat.'>See <b>two dogs</b>.</p>".as_bytes();
/// let mut reader = Format::Html.read("a page".to_owned(), page, &FormatOptions::default())?;
/// let mut window = Window::new(reader.window()?, 0);
/// while window.begin_level(&rules, |_, _| ()) {
///     while !window.is_level_done() {
///         let sentences = window.sentences();
///         let echo = sentences.iter().map(|line| TranslatedLine::copy_of(line.text));
///         let translated = echo.collect();
///         window.write(translated, &protection);
///     }
/// }
/// assert_eq!(window.into_texts().concat().as_bytes(), page);
/// # Ok::<(), transformer_documents::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Window {
    /// The levels to translate after this one, the innermost last.
    levels: Vec<Vec<Part>>,
    /// The level that is being translated.
    level: Option<Level>,
    /// The text of each part of the last level that was translated.
    texts: Vec<String>,
    /// Number of the next sentence in the document.
    next_index: u64,
    doubtful: Vec<(u64, Faults)>,
}

/// Parts without the translations of their sentences.
#[derive(Debug)]
struct Level {
    /// The parts, each passage with its pieces.
    parts: Vec<(Part, Vec<Piece>)>,
    sentences: Vec<Sentence>,
    trials: Vec<Trial<TranslatedLine>>,
    /// The indices of the sentences to translate in this round.
    waiting: Vec<usize>,
    /// Number of the first sentence in the document.
    first_index: u64,
}

impl Window {
    /// Takes parts of a document. `n_sentences` is the number of sentences before them.
    pub fn new(parts: Vec<Part>, n_sentences: u64) -> Self {
        let mut levels = Vec::new();
        let mut outer = parts;
        loop {
            let mut has_passages = false;
            for_each_inner(&mut outer, |part| {
                has_passages |= matches!(part, Part::Passage(_));
            });
            if !has_passages {
                levels.push(outer);
                break;
            }
            let mut inner = Vec::new();
            for_each_inner(&mut outer, |part| {
                inner.push(mem::replace(part, Part::Verbatim(String::new())));
            });
            levels.push(mem::replace(&mut outer, inner));
        }
        Self {
            levels,
            level: None,
            texts: Vec::new(),
            next_index: n_sentences,
            doubtful: Vec::new(),
        }
    }

    /// Ends the current level, if any, and finds the sentences of the next; returns whether there is one. `on_split` is
    /// called with each sentence that is too long for the model, and its number of parts.
    pub fn begin_level<L: LineLimits>(
        &mut self,
        rules: &DocumentRules<'_, L>,
        on_split: impl FnMut(&str, usize),
    ) -> bool {
        if let Some(level) = self.level.take() {
            self.texts = level.into_texts(rules.protection, &mut self.doubtful);
        }
        let Some(mut parts) = self.levels.pop() else {
            return false;
        };
        let mut inner = mem::take(&mut self.texts).into_iter();
        for_each_inner(&mut parts, |part| {
            if let Some(text) = inner.next() {
                *part = Part::Verbatim(text);
            }
        });
        let level = Level::new(parts, self.next_index, rules, on_split);
        self.next_index += level.sentences.len() as u64;
        self.level = Some(level);
        true
    }

    /// Returns the sentences to translate in this round; none if the level is done or has not begun.
    pub fn sentences(&self) -> Vec<DocumentLine<'_>> {
        self.level.as_ref().map_or_else(Vec::new, Level::lines)
    }

    /// Returns whether all sentences of the level are translated.
    pub fn is_level_done(&self) -> bool {
        self.level
            .as_ref()
            .is_none_or(|level| level.waiting.is_empty())
    }

    /// Takes the translations of [`sentences`](Self::sentences), in the same order, and begins the next round, with
    /// those that lack text that must be copied, or have other faults that `protection` checks.
    ///
    /// # Panics
    ///
    /// Panics if the number of translations is not that of the sentences.
    pub fn write(&mut self, translations: Vec<TranslatedLine>, protection: &Protection) {
        let n_waiting = self.level.as_ref().map_or(0, |level| level.waiting.len());
        let n_translations = translations.len();
        assert_eq!(n_translations, n_waiting, "each sentence has a translation");
        if let Some(level) = &mut self.level {
            level.write(translations, protection);
        }
    }

    /// Returns the attempt at a sentence of the level, by its number in the document, of which the translation is kept;
    /// `None` before the first translation is checked.
    pub fn kept_attempt(&self, index: u64) -> Option<Attempt> {
        let level = self.level.as_ref()?;
        let index = usize::try_from(index.checked_sub(level.first_index)?).ok()?;
        level.trials.get(index)?.best_attempt()
    }

    /// Returns the number of sentences of the document so far, including those before this window.
    pub fn n_sentences(&self) -> u64 {
        self.next_index
    }

    /// Returns the number and the faults of each sentence in the levels that are done with a doubtful translation.
    pub fn doubtful(&self) -> &[(u64, Faults)] {
        &self.doubtful
    }

    /// Returns the text of each part, once [`begin_level`](Self::begin_level) has returned false.
    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

impl Level {
    fn new<L: LineLimits>(
        parts: Vec<Part>,
        first_index: u64,
        rules: &DocumentRules<'_, L>,
        mut on_split: impl FnMut(&str, usize),
    ) -> Self {
        let mut sentences = Vec::new();
        let can_write = |text: &str| rules.limits.can_write(text);
        let prepare = |part| {
            let Part::Passage(passage) = &part else {
                return (part, Vec::new());
            };
            let copied = Copied::find(passage, rules.protection);
            let mut segments: Vec<Range<usize>> = Vec::new();
            for parts in rules.sentences(passage, &copied) {
                if let [first, .., last] = parts.as_slice() {
                    on_split(&passage.text[first.start..last.end], parts.len());
                }
                segments.extend(parts);
            }
            let pieces = cut(passage, &segments, &copied, &can_write, &mut sentences);
            (part, pieces)
        };
        let parts = parts.into_iter().map(prepare).collect();
        // Without letters there is nothing to translate.
        let (waiting, copied): (Vec<usize>, Vec<usize>) = (0..sentences.len())
            .partition(|index| sentences[*index].text.contains(char::is_alphabetic));
        let mut trials = vec![Trial::default(); sentences.len()];
        for index in copied {
            trials[index] = Trial::done(TranslatedLine::copy_of(&sentences[index].text));
        }
        Self {
            parts,
            sentences,
            trials,
            waiting,
            first_index,
        }
    }

    fn lines(&self) -> Vec<DocumentLine<'_>> {
        let line = |index: &usize| {
            let attempt = self.trials[*index].attempt();
            self.sentences[*index].document_line(attempt, self.first_index + *index as u64)
        };
        self.waiting.iter().map(line).collect()
    }

    fn write(&mut self, translations: Vec<TranslatedLine>, protection: &Protection) {
        for (index, mut line) in mem::take(&mut self.waiting).into_iter().zip(translations) {
            let (trial, sentence) = (&mut self.trials[index], &self.sentences[index]);
            line.text = sentence.written(trial.attempt(), line.text, protection);
            let text = line.text.clone();
            if trial.take(sentence, &text, line, protection) {
                self.waiting.push(index);
            }
        }
    }

    fn into_texts(self, protection: &Protection, doubtful: &mut Vec<(u64, Faults)>) -> Vec<String> {
        let Self {
            parts,
            sentences,
            trials,
            ..
        } = self;
        let best = trials.into_iter().map(|mut it| it.take_best());
        let tried: Vec<Tried<TranslatedLine>> = best.map(Option::unwrap_or_default).collect();
        let numbered = (self.first_index..).zip(&tried);
        let faulty = numbered.filter(|(_, tried)| !tried.faults.is_empty());
        doubtful.extend(faulty.map(|(index, tried)| (index, tried.faults)));
        let text = |(part, pieces): (Part, Vec<Piece>)| match part {
            Part::Verbatim(text) => text,
            Part::Passage(passage) => written(&passage, &pieces, &sentences, &tried, protection),
        };
        parts.into_iter().map(text).collect()
    }
}

fn for_each_inner(parts: &mut [Part], mut call: impl FnMut(&mut Part)) {
    for part in parts {
        let Part::Passage(passage) = part else {
            continue;
        };
        for mark in &mut passage.marks {
            let raws = match &mut mark.kind {
                MarkKind::Pair { open, close } => vec![open, close],
                MarkKind::Point { raw } | MarkKind::Break { raw } => vec![raw],
            };
            let parts = raws.into_iter().flat_map(|raw| &mut raw.0);
            parts.for_each(&mut call);
        }
    }
}

fn written(
    passage: &Passage,
    pieces: &[Piece],
    sentences: &[Sentence],
    tried: &[Tried<TranslatedLine>],
    protection: &Protection,
) -> String {
    let notation = &passage.notation;
    let mut written = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => notation.append(&mut written, &notation.escape(text)),
            Piece::Raw(raw) => notation.append(&mut written, &raw.source()),
            Piece::Sentence(index) => {
                let Tried {
                    attempt,
                    translation: TranslatedLine { text, links },
                    ..
                } = &tried[*index];
                let sentence = sentences[*index].in_form(attempt.form);
                for chunk in put_back(sentence, text, links, protection) {
                    let piece = match chunk {
                        Chunk::Text(text) => notation.escape(text),
                        mark @ Chunk::Raw { .. } => mark.source().into(),
                    };
                    notation.append(&mut written, &piece);
                }
            }
        }
    }
    notation.complete(written)
}
