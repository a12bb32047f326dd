//! [`DocumentTranslator`]: from the parts of a document to the translated document.

use std::io::Write;
use std::mem;
use std::ops::Range;

use super::copied::Copied;
use super::event::{DocumentEvent, DocumentSummary, start_of};
use super::format::PartReader;
use super::line_translator::{DocumentLine, LineTranslator, TranslatedLine};
use super::marks::{Chunk, Form, Piece, Sentence, cut, put_back};
use super::passage::{Mark, MarkKind, Part, Passage, Raw};
use super::segments::{few_marks, joined};
use super::split::{end_of_part, trimmed};
use super::{DocumentError, Protection, Splitter};

/// Number of bytes of text to translate together. Memory grows with it; smaller values make threads wait for each other
/// more often.
const WINDOW_BYTES: usize = 1 << 18;

/// Number of bytes of text and markup after which a window is translated, even if it is not full.
const VERBATIM_BYTES: usize = 1 << 22;

/// Number of bytes of a part or a mark, in addition to its text.
const PART_BYTES: usize = 128;

/// A translator of documents: splits passages into sentences, translates these together until their translations keep
/// the copied text, and puts markup back.
///
/// # Example
///
/// ```no_run
/// use transformer_core::device;
/// use transformer_infer::Translator;
/// use transformer_infer::document::format::{Format, FormatOptions};
/// use transformer_infer::document::{DocumentTranslator, ModelLines, Protection, Split, Splitter};
///
/// let (_, device) = device::choose(None)?;
/// let translator = Translator::open("runs/en-de", &device)?;
/// let lines = ModelLines::new(&translator, translator.search());
/// let splitter = Splitter::new(Split::Sentences, "en");
/// let protection = Protection::placeholders();
/// let mut documents = DocumentTranslator::new(&lines, &splitter, &protection);
///
/// let page = "<p>See <b>two dogs</b> in {place}.</p>".as_bytes();
/// let parts = Format::Html.read("a page".to_owned(), page, &FormatOptions::default())?;
/// let mut translated = Vec::new();
/// documents.translate(parts, &mut translated, &mut |event| eprintln!("{event}"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DocumentTranslator<'a, L> {
    pub(super) lines: &'a L,
    splitter: &'a Splitter,
    pub(super) protection: &'a Protection,
    summary: DocumentSummary,
}

impl<'a, L: LineTranslator> DocumentTranslator<'a, L> {
    /// Translates with `lines`, splits with `splitter`, and copies the text that `protection` finds.
    pub fn new(lines: &'a L, splitter: &'a Splitter, protection: &'a Protection) -> Self {
        Self {
            lines,
            splitter,
            protection,
            summary: DocumentSummary::default(),
        }
    }

    /// Translates a document, given as parts, into `output`, in the document's encoding, and returns the totals.
    ///
    /// Memory is bounded by a window of the document: about a quarter of a megabyte of text, or the largest part.
    ///
    /// # Errors
    ///
    /// Returns a [`DocumentError`] if the document cannot be read, translated or written. The output is incomplete
    /// then.
    pub fn translate(
        &mut self,
        parts: PartReader,
        output: &mut impl Write,
        on_event: &mut dyn FnMut(DocumentEvent),
    ) -> Result<DocumentSummary, DocumentError> {
        let mut parts = parts;
        let mut window = Vec::new();
        let (mut n_text, mut n_verbatim) = (0, 0);
        while let Some(part) = parts.next().transpose()? {
            n_verbatim += size(&part);
            if let Part::Passage(passage) = &part {
                n_text += passage.text.len();
            }
            window.push(part);
            if n_text >= WINDOW_BYTES || n_verbatim >= VERBATIM_BYTES {
                self.write(mem::take(&mut window), &parts, output, on_event)?;
                (n_text, n_verbatim) = (0, 0);
            }
        }
        self.write(window, &parts, output, on_event)?;
        output.flush().map_err(DocumentError::Write)?;
        Ok(self.summary)
    }

    /// Translates the parts of a document, and returns the text of each.
    ///
    /// # Errors
    ///
    /// Returns a [`DocumentError`] if the model cannot translate.
    pub fn translate_parts(
        &mut self,
        parts: Vec<Part>,
        on_event: &mut dyn FnMut(DocumentEvent),
    ) -> Result<Vec<String>, DocumentError> {
        let mut parts = parts;
        self.translate_inner_passages(&mut parts, on_event)?;
        let mut sentences: Vec<Sentence> = Vec::new();
        let prepared = parts.into_iter().map(|part| match part {
            Part::Verbatim(text) => Prepared::Verbatim(text),
            Part::Passage(passage) => {
                let copied = Copied::find(&passage, self.protection);
                let segments = self.segments(&passage, &copied, on_event);
                let can_write = |text: &str| self.lines.can_write(text);
                let pieces = cut(&passage, &segments, &copied, &can_write).into_iter();
                let pieces = pieces
                    .map(|piece| prepared(piece, &mut sentences))
                    .collect();
                Prepared::Passage { passage, pieces }
            }
        });
        let prepared: Vec<Prepared> = prepared.collect();
        let translated = self.translate_sentences(&sentences, on_event)?;
        let write = |part| match part {
            Prepared::Verbatim(text) => text,
            Prepared::Passage { passage, pieces } => {
                written(&passage, &pieces, &sentences, &translated, self.protection)
            }
        };
        Ok(prepared.into_iter().map(write).collect())
    }

    fn write(
        &mut self,
        parts: Vec<Part>,
        reader: &PartReader,
        output: &mut impl Write,
        on_event: &mut dyn FnMut(DocumentEvent),
    ) -> Result<(), DocumentError> {
        for text in self.translate_parts(parts, on_event)? {
            output
                .write_all(&reader.encoded(&text))
                .map_err(DocumentError::Write)?;
        }
        Ok(())
    }

    /// Replaces the passages inside marks, such as those of attributes, by their translations.
    fn translate_inner_passages(
        &mut self,
        parts: &mut [Part],
        on_event: &mut dyn FnMut(DocumentEvent),
    ) -> Result<(), DocumentError> {
        let mut inner = Vec::new();
        let mut is_passage = Vec::new();
        for_each_inner(parts, &mut |part| {
            is_passage.push(matches!(part, Part::Passage(_)));
            if matches!(part, Part::Passage(_)) {
                inner.push(mem::replace(part, Part::Verbatim(String::new())));
            }
        });
        if inner.is_empty() {
            return Ok(());
        }
        let mut translated = self.translate_parts(inner, on_event)?.into_iter();
        let mut is_passage = is_passage.into_iter();
        for_each_inner(parts, &mut |part| {
            if is_passage.next() == Some(true)
                && let Some(text) = translated.next()
            {
                *part = Part::Verbatim(text);
            }
        });
        Ok(())
    }

    /// Returns the ranges of the passage that are translated individually.
    fn segments(
        &self,
        passage: &Passage,
        copied: &[Copied],
        on_event: &mut dyn FnMut(DocumentEvent),
    ) -> Vec<Range<usize>> {
        let mut segments = Vec::new();
        for parts in self.sentences(passage, copied) {
            if let [first, .., last] = parts.as_slice() {
                let start = start_of(&passage.text[first.start..last.end]);
                let n_parts = parts.len();
                on_event(DocumentEvent::Split { start, n_parts });
            }
            segments.extend(parts);
        }
        segments
    }

    /// Returns the sentences of a passage that contain text to translate: each as one range, or as several if it is too
    /// long.
    pub(super) fn sentences(&self, passage: &Passage, copied: &[Copied]) -> Vec<Vec<Range<usize>>> {
        let text = &passage.text;
        let protected: Vec<Range<usize>> = copied.iter().map(|it| it.range.clone()).collect();
        let is_soft = passage.notation.has_soft_line_ends();
        let marks = passage.marks.iter().map(|mark| mark.range.start);
        let mut starts: Vec<usize> = marks.chain(protected.iter().map(|it| it.start)).collect();
        starts.sort_unstable();
        let sentences = joined(self.splitter.segments(text, is_soft), &protected).into_iter();
        // Without letters there is nothing to translate.
        sentences
            .filter(|sentence| text[sentence.clone()].contains(char::is_alphabetic))
            .map(|sentence| {
                let mut segments = Vec::new();
                for part in few_marks(text, &starts, sentence) {
                    self.split_long(text, part, &protected, &mut segments);
                }
                segments
            })
            .collect()
    }

    /// Adds a sentence, or its parts if it is too long for the model.
    fn split_long(
        &self,
        text: &str,
        sentence: Range<usize>,
        protected: &[Range<usize>],
        segments: &mut Vec<Range<usize>>,
    ) {
        let mut rest = sentence;
        while let Some(most) = self.lines.longest_start(&text[rest.clone()]) {
            let mut end = rest.start + end_of_part(&text[rest.clone()], most);
            // Protected text is not divided.
            let next = protected.partition_point(|range| range.end <= end);
            if let Some(range) = protected.get(next).filter(|range| range.start < end) {
                end = if range.start > rest.start {
                    range.start
                } else {
                    range.end
                };
            }
            segments.extend(trimmed(text, rest.start..end));
            rest = trimmed(text, end..rest.end).unwrap_or(rest.end..rest.end);
        }
        segments.extend(trimmed(text, rest));
    }

    /// Translates sentences; repeats each in the next form until its translation keeps the copied text.
    fn translate_sentences(
        &mut self,
        sentences: &[Sentence],
        on_event: &mut dyn FnMut(DocumentEvent),
    ) -> Result<Vec<(Form, TranslatedLine)>, DocumentError> {
        let first_index = self.summary.n_sentences;
        self.summary.n_sentences += sentences.len() as u64;
        let mut translated = vec![(Form::default(), TranslatedLine::default()); sentences.len()];
        // Without letters there is nothing to translate.
        let (mut waiting, copied): (Vec<usize>, Vec<usize>) = (0..sentences.len())
            .partition(|index| sentences[*index].text.contains(char::is_alphabetic));
        for index in copied {
            translated[index].1 = TranslatedLine::copy_of(&sentences[index].text);
        }
        let lines = waiting.clone();
        let mut is_again = false;
        while !waiting.is_empty() {
            let to_translate = waiting.iter().map(|index| {
                let (form, _) = translated[*index];
                let sentence = sentences[*index].in_form(form);
                DocumentLine {
                    text: &sentence.text,
                    needs_links: !sentence.marks.is_empty(),
                    index: first_index + *index as u64,
                    copied: &sentence.copied,
                    terms: sentences[*index].terms(form),
                }
            });
            let to_translate: Vec<DocumentLine<'_>> = to_translate.collect();
            let is_first = !mem::replace(&mut is_again, true);
            let mut on_progress = |n_sentences| {
                if is_first {
                    on_event(DocumentEvent::Progress { n_sentences });
                }
            };
            let found = self
                .lines
                .translate_lines(&to_translate, &mut on_progress)?;
            let mut again = Vec::new();
            for (index, line) in waiting.into_iter().zip(found) {
                let (form, _) = translated[index];
                match sentences[index].next_form(form, &line.text, self.protection) {
                    Some(next) => {
                        translated[index].0 = next;
                        again.push(index);
                    }
                    None => translated[index].1 = line,
                }
            }
            waiting = again;
        }
        for index in lines {
            self.report(&sentences[index].text, &translated[index].1, on_event);
        }
        Ok(translated)
    }

    /// Reports the warnings of a translated line, and counts its terms.
    fn report(
        &mut self,
        text: &str,
        line: &TranslatedLine,
        on_event: &mut dyn FnMut(DocumentEvent),
    ) {
        let start = || start_of(text);
        if let Some(warning) = line.warning {
            let start = start();
            on_event(DocumentEvent::Limited { start, warning });
        }
        self.summary.n_terms += line.n_terms;
        self.summary.n_unmet_terms += line.unmet_terms.len();
        for term in line.unmet_terms.clone() {
            let start = start();
            on_event(DocumentEvent::UnmetTerm { start, term });
        }
    }
}

/// A part of a document without the translations of its sentences.
enum Prepared {
    Verbatim(String),
    Passage {
        passage: Passage,
        pieces: Vec<PreparedPiece>,
    },
}

enum PreparedPiece {
    Text(String),
    Raw(Raw),
    /// The index of a sentence.
    Sentence(usize),
}

/// Adds the sentence of a piece to the others.
fn prepared(piece: Piece, sentences: &mut Vec<Sentence>) -> PreparedPiece {
    match piece {
        Piece::Text(text) => PreparedPiece::Text(text),
        Piece::Raw(raw) => PreparedPiece::Raw(raw),
        Piece::Sentence(sentence) => {
            sentences.push(sentence);
            PreparedPiece::Sentence(sentences.len() - 1)
        }
    }
}

/// Returns the approximate size of a part, in bytes.
fn size(part: &Part) -> usize {
    let of_raw = |raw: &Raw| raw.0.iter().map(size).sum::<usize>();
    let of_mark = |mark: &Mark| match &mark.kind {
        MarkKind::Pair { open, close } => PART_BYTES + of_raw(open) + of_raw(close),
        MarkKind::Point { raw } | MarkKind::Break { raw } => PART_BYTES + of_raw(raw),
    };
    PART_BYTES
        + match part {
            Part::Verbatim(text) => text.len(),
            Part::Passage(passage) => {
                passage.text.len() + passage.marks.iter().map(of_mark).sum::<usize>()
            }
        }
}

/// Calls a function with each part inside marks.
fn for_each_inner(parts: &mut [Part], call: &mut dyn FnMut(&mut Part)) {
    for part in parts {
        let Part::Passage(passage) = part else {
            continue;
        };
        for mark in &mut passage.marks {
            let raws = match &mut mark.kind {
                MarkKind::Pair { open, close } => vec![open, close],
                MarkKind::Point { raw } | MarkKind::Break { raw } => vec![raw],
            };
            raws.into_iter()
                .flat_map(|raw| &mut raw.0)
                .for_each(&mut *call);
        }
    }
}

/// Writes a passage with the translations of its sentences.
fn written(
    passage: &Passage,
    pieces: &[PreparedPiece],
    sentences: &[Sentence],
    translated: &[(Form, TranslatedLine)],
    protection: &Protection,
) -> String {
    let notation = &passage.notation;
    let mut written = String::new();
    for piece in pieces {
        match piece {
            PreparedPiece::Text(text) => written.push_str(&notation.escape(text)),
            PreparedPiece::Raw(raw) => written.push_str(&raw.source()),
            PreparedPiece::Sentence(index) => {
                let (form, TranslatedLine { text, links, .. }) = &translated[*index];
                let sentence = sentences[*index].in_form(*form);
                for chunk in put_back(sentence, text, links, protection) {
                    match chunk {
                        Chunk::Text(text) => written.push_str(&notation.escape(text)),
                        mark @ Chunk::Raw { .. } => written.push_str(&mark.source()),
                    }
                }
            }
        }
    }
    notation.complete(written)
}
