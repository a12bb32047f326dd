//! [`Job`]: a text that is translated, some sentences at a time.

use std::io::{Cursor, Read};
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use transformer_infer::Glossary;
use transformer_infer::document::format::{Format, FormatOptions, PartReader};
use transformer_infer::document::{
    DocumentLine, DocumentRules, LineLimits, Protection, Split, Splitter, TokenLimits,
    TranslatedLine, Window, translate_lines,
};
use transformer_infer::search::Search;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::model::Loaded;
use crate::options::{JobOptions, refused};
use crate::sentence::{Line, Sentence};

/// The language of texts of an unknown language.
const DEFAULT_LANGUAGE: &str = "en";

/// Says that the text is in UTF-8, whatever its `<meta>` says.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text that is translated, some sentences at a time.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Job {
    model: Rc<Loaded>,
    search: Search,
    has_alignments: bool,
    glossary: Glossary,
    /// With a check of the translations of documents, as the native program has it.
    protection: Protection,
    splitter: Splitter,
    /// The parts of the text that have not begun.
    reader: PartReader,
    window: Option<Window>,
    /// The translations of the sentences of the window's round, as far as they are known.
    round: Vec<Option<TranslatedLine>>,
    n_sentences: u64,
    is_text: bool,
    /// The translation, up to the last part that is complete.
    written: Vec<u8>,
}

impl Job {
    pub(crate) fn new(
        model: &Rc<Loaded>,
        content: Vec<u8>,
        options: &JobOptions,
    ) -> Result<Self, JsError> {
        let translator = &model.translator;
        let of_model = translator.search();
        let beam_size = options.beam.unwrap_or(of_model.beam_size);
        let search = Search {
            beam_size,
            n_best: options.n_best.unwrap_or(1),
            ..of_model.clone()
        };
        search.validate().map_err(refused)?;
        let split = options.split.as_deref().map(str::parse::<Split>);
        let split = split.transpose().map_err(refused)?.unwrap_or_default();
        let language = translator.languages().src.as_ref();
        let language = options
            .language
            .clone()
            .or_else(|| language.map(ToString::to_string));
        let language = language.as_deref().unwrap_or(DEFAULT_LANGUAGE);
        let (format, mark) = match &options.document {
            Some(name) => (Format::of_path(Path::new(name)).map_err(refused)?, ""),
            None if options.html => (Format::Html, BYTE_ORDER_MARK),
            None => (Format::Text, ""),
        };
        let name = options.document.clone();
        let name = name.unwrap_or_else(|| "the text".to_owned());
        let protection = model.protection.clone();
        let protection = match options.html || options.document.is_some() {
            true => protection.with_check(translator.languages().tgt.as_ref()),
            false => protection,
        };
        let input = Cursor::new(mark).chain(Cursor::new(content));
        let reader = format.read(name, input, &FormatOptions::default());
        let pairs = options.glossary.iter();
        let pairs = pairs.map(|(src, tgt)| (src.as_str(), tgt.as_str()));
        let glossary = Glossary::from_pairs("the glossary", pairs).map_err(refused)?;
        Ok(Self {
            model: Rc::clone(model),
            search,
            has_alignments: options.alignments,
            glossary,
            protection,
            splitter: Splitter::new(split, language),
            reader: reader.map_err(refused)?,
            window: None,
            round: Vec::new(),
            n_sentences: 0,
            is_text: options.document.is_none(),
            written: Vec::new(),
        })
    }

    /// Returns the places of up to `n` sentences of the round.
    fn range(&self, from: usize, n: usize) -> Range<usize> {
        let from = from.min(self.round.len());
        from..from.saturating_add(n).min(self.round.len())
    }

    /// Goes on to the next sentences; returns whether there are any.
    fn advance(&mut self) -> Result<bool, JsError> {
        let translator = &self.model.translator;
        let tokenizers = translator.tokenizers();
        let max_src_len = translator.limits().max_src_len.max(1);
        let max_tokens = TokenLimits::MAX_TOKENS.min(max_src_len);
        let rules = DocumentRules {
            limits: &TokenLimits::new(tokenizers.src(), tokenizers.tgt(), max_tokens),
            splitter: &self.splitter,
            protection: &self.protection,
        };
        loop {
            if let Some(window) = &mut self.window {
                if !window.is_level_done() {
                    return Ok(true);
                }
                if window.begin_level(&rules, |_, _| ()) {
                    continue;
                }
            }
            if let Some(window) = self.window.take() {
                self.n_sentences = window.n_sentences();
                for text in window.into_texts() {
                    let bytes = self.reader.written(&text).map_err(refused)?;
                    self.written.extend_from_slice(&bytes);
                }
            }
            let parts = self.reader.window().map_err(refused)?;
            if parts.is_empty() {
                self.written.extend(self.reader.end().map_err(refused)?);
                return Ok(false);
            }
            self.window = Some(Window::new(parts, self.n_sentences));
        }
    }
}

#[wasm_bindgen]
impl Job {
    /// Goes on to the next round, and returns its number of sentences; `undefined` if all are translated.
    ///
    /// A round has the next sentences of the text, or those again that lacked text that must be copied.
    ///
    /// # Errors
    ///
    /// Returns an error if a sentence of the last round is not translated, or if the HTML is nested too deeply.
    pub fn begin_round(&mut self) -> Result<Option<usize>, JsError> {
        if let Some(window) = self.window.as_mut().filter(|_| !self.round.is_empty()) {
            let round: Option<Vec<TranslatedLine>> =
                mem::take(&mut self.round).into_iter().collect();
            let round = round.ok_or_else(|| JsError::new("sentences are not translated"))?;
            window.write(round, &self.protection);
        }
        if !self.advance()? {
            return Ok(None);
        }
        let n = self.window.as_ref().map_or(0, |it| it.sentences().len());
        self.round = vec![None; n];
        Ok(Some(n))
    }

    /// Translates up to `n` sentences of the round from a place on, and returns them as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the model computes NaN.
    pub fn translate(&mut self, from: usize, n: usize) -> Result<String, JsError> {
        let lines = self.window.as_ref().map(Window::sentences);
        let lines = lines.unwrap_or_default();
        let range = self.range(from, n);
        let has_alignments = self.has_alignments;
        let lines = lines[range.clone()].iter().map(|line| {
            let mut line = *line;
            line.needs_links |= has_alignments;
            line
        });
        let lines: Vec<DocumentLine<'_>> = lines.collect();
        let translator = &self.model.translator;
        let means = (translator, &self.search, &self.protection);
        let terms = |line: &DocumentLine<'_>| -> Vec<&str> {
            let text = line.in_its_case();
            let terms = self.glossary.terms_outside(text, line.copied);
            terms.iter().map(|term| term.target).collect()
        };
        let terms: Vec<Vec<&str>> = lines.iter().map(terms).collect();
        let translated = translate_lines(means, &lines, |line| &terms[line], &mut |_| ());
        let translated = translated.map_err(refused)?;
        let sentences = lines.iter().zip(&translated);
        let sentences = sentences.map(|(line, (translation, translated))| {
            let links = has_alignments.then_some(&translated.links[..]);
            Sentence::new(line.text, translation, links)
        });
        let sentences: Vec<Sentence<'_>> = sentences.collect();
        let json = serde_json::to_string(&sentences).map_err(refused)?;
        for (line, (_, translated)) in self.round[range].iter_mut().zip(translated) {
            *line = Some(translated);
        }
        Ok(json)
    }

    /// Returns the translations of up to `n` sentences of the round for [`Job::supply`].
    ///
    /// # Errors
    ///
    /// Does not fail: translations can be written as JSON.
    pub fn translated(&self, from: usize, n: usize) -> Result<String, JsError> {
        let lines = self.round[self.range(from, n)].iter().flatten();
        let lines: Vec<Line> = lines.map(Line::from).collect();
        serde_json::to_string(&lines).map_err(refused)
    }

    /// Takes translations of the same sentences that a job of another worker has.
    ///
    /// # Errors
    ///
    /// Returns an error if `lines` is not of [`Job::translated`].
    pub fn supply(&mut self, from: usize, lines: &str) -> Result<(), JsError> {
        let lines: Vec<Line> = serde_json::from_str(lines).map_err(refused)?;
        let range = self.range(from, lines.len());
        for (line, translated) in self.round[range].iter_mut().zip(lines) {
            *line = Some(translated.into());
        }
        Ok(())
    }

    /// Returns the translated text without a byte order mark, or the document.
    pub fn take(&mut self) -> Vec<u8> {
        let mark = BYTE_ORDER_MARK.as_bytes();
        let mut written = mem::take(&mut self.written);
        if self.is_text && written.starts_with(mark) {
            written.drain(..mark.len());
        }
        written
    }
}

/// Compiles the patterns that every text needs, of sentences and of text to copy, which takes longer than translating a
/// sentence. A worker does it while the files of the model are read.
///
/// # Errors
///
/// Does not fail: the text is fixed.
#[wasm_bindgen]
pub fn prepare() -> Result<(), JsError> {
    struct Unlimited;

    impl LineLimits for Unlimited {}

    let rules = DocumentRules {
        limits: &Unlimited,
        splitter: &Splitter::new(Split::default(), DEFAULT_LANGUAGE),
        protection: &Protection::placeholders(),
    };
    let text = Cursor::new("Two dogs. One cat.");
    let reader = Format::Text.read("a text".to_owned(), text, &FormatOptions::default());
    let parts = reader.map_err(refused)?.window().map_err(refused)?;
    Window::new(parts, 0).begin_level(&rules, |_, _| ());
    Ok(())
}
