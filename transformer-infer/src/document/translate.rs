//! [`DocumentTranslator`]: from the parts of a document to the translated document.

use std::collections::BTreeMap;
use std::io::Write;

use super::event::{DocumentEvent, DocumentSummary, start_of};
use super::format::PartReader;
use super::model_lines::{ModelLines, Outcome};
use super::{DocumentError, DocumentRules, Protection, Splitter, TokenLimits, Window};
use transformer_documents::Part;

/// A translator of documents: splits passages into sentences, translates these together until their translations keep
/// the copied text and pass the check of the [`Protection`], if it has one, and puts markup back.
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
pub struct DocumentTranslator<'a> {
    lines: &'a ModelLines<'a>,
    limits: TokenLimits<'a>,
    splitter: &'a Splitter,
    protection: &'a Protection,
    summary: DocumentSummary,
}

impl<'a> DocumentTranslator<'a> {
    /// Translates with `lines`, splits with `splitter`, and copies the text that `protection` finds.
    pub fn new(
        lines: &'a ModelLines<'a>,
        splitter: &'a Splitter,
        protection: &'a Protection,
    ) -> Self {
        Self {
            lines,
            limits: lines.limits(),
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
        let mut reader = parts;
        loop {
            let parts = reader.window()?;
            if parts.is_empty() {
                break;
            }
            for text in self.translate_parts(parts, on_event)? {
                let written = output.write_all(&reader.written(&text)?);
                written.map_err(DocumentError::Write)?;
            }
        }
        let end = reader.end()?;
        output.write_all(&end).map_err(DocumentError::Write)?;
        output.flush().map_err(DocumentError::Write)?;
        Ok(self.summary)
    }

    /// Translates the parts of a document, and returns the text of each.
    fn translate_parts(
        &mut self,
        parts: Vec<Part>,
        on_event: &mut dyn FnMut(DocumentEvent),
    ) -> Result<Vec<String>, DocumentError> {
        let mut window = Window::new(parts, self.summary.n_sentences);
        loop {
            let on_split = |sentence: &str, n_parts| {
                let start = start_of(sentence);
                on_event(DocumentEvent::Split { start, n_parts });
            };
            if !window.begin_level(&self.rules(), on_split) {
                break;
            }
            let mut outcomes = BTreeMap::new();
            while !window.is_level_done() {
                let sentences = window.sentences();
                let is_first = outcomes.is_empty();
                let mut on_progress = |n_sentences| {
                    if is_first {
                        on_event(DocumentEvent::Progress { n_sentences });
                    }
                };
                let translated =
                    self.lines
                        .translate(&sentences, self.protection, &mut on_progress)?;
                let (translated, found): (Vec<_>, Vec<_>) = translated.into_iter().unzip();
                for (sentence, outcome) in sentences.iter().zip(found) {
                    // The first round has the whole sentence.
                    let start = || (start_of(sentence.text), Vec::new());
                    let (_, tried) = outcomes.entry(sentence.index).or_insert_with(start);
                    tried.push((sentence.attempt, outcome));
                }
                window.write(translated, self.protection);
            }
            for (index, (start, tried)) in outcomes {
                let kept = window.kept_attempt(index);
                let outcome = tried
                    .into_iter()
                    .find(|(attempt, _)| kept == Some(*attempt));
                if let Some((_, outcome)) = outcome {
                    self.report(&start, outcome, on_event);
                }
            }
        }
        for (index, faults) in window.doubtful() {
            self.summary.doubtful.add(index + 1, *faults);
        }
        self.summary.n_sentences = window.n_sentences();
        Ok(window.into_texts())
    }

    fn rules(&self) -> DocumentRules<'_, TokenLimits<'a>> {
        DocumentRules {
            limits: &self.limits,
            splitter: self.splitter,
            protection: self.protection,
        }
    }

    /// Reports the warnings of a translated sentence, and counts its terms.
    fn report(&mut self, start: &str, outcome: Outcome, on_event: &mut dyn FnMut(DocumentEvent)) {
        let start = || start.to_owned();
        if let Some(warning) = outcome.warning {
            let start = start();
            on_event(DocumentEvent::Limited { start, warning });
        }
        self.summary.n_terms += outcome.n_terms;
        self.summary.n_unmet_terms += outcome.unmet_terms.len();
        for term in outcome.unmet_terms {
            let start = start();
            on_event(DocumentEvent::UnmetTerm { start, term });
        }
    }
}
