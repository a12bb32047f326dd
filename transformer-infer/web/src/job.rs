//! [`Job`]: a text that is translated, some sentences at a time.

use std::io::Cursor;
use std::mem;
use std::rc::Rc;

use transformer_infer::document::format::{Format, FormatOptions, PartReader};
use transformer_infer::document::{
    DocumentLine, DocumentRules, Split, Splitter, TokenLimits, TranslatedLine, Window,
    translate_lines,
};
use transformer_infer::search::Search;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::refused;
use crate::model::Loaded;
use crate::options::JobOptions;
use crate::sentence::Sentence;

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
    splitter: Splitter,
    /// The parts of the text that have not begun.
    reader: PartReader,
    window: Option<Window>,
    /// The translations of the first sentences of the window's round.
    round: Vec<TranslatedLine>,
    n_sentences: u64,
    text: String,
}

impl Job {
    pub(crate) fn new(
        model: &Rc<Loaded>,
        text: &str,
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
        let (format, mark) = match options.html {
            true => (Format::Html, BYTE_ORDER_MARK),
            false => (Format::Text, ""),
        };
        let input = Cursor::new(format!("{mark}{text}").into_bytes());
        let reader = format.read("the text".to_owned(), input, &FormatOptions::default());
        Ok(Self {
            model: Rc::clone(model),
            search,
            has_alignments: options.alignments,
            splitter: Splitter::new(split, language),
            reader: reader.map_err(refused)?,
            window: None,
            round: Vec::new(),
            n_sentences: 0,
            text: String::new(),
        })
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
            protection: &self.model.protection,
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
                self.text.extend(window.into_texts());
            }
            let parts = self.reader.window().map_err(refused)?;
            if parts.is_empty() {
                return Ok(false);
            }
            self.window = Some(Window::new(parts, self.n_sentences));
        }
    }
}

#[wasm_bindgen]
impl Job {
    /// Translates up to `n` sentences, and returns them as JSON; `undefined` if all are translated.
    ///
    /// A sentence comes again if its translation lacked text that must be copied.
    ///
    /// # Errors
    ///
    /// Returns an error if the model computes NaN, or if the HTML is nested too deeply.
    pub fn step(&mut self, n: usize) -> Result<Option<String>, JsError> {
        if !self.advance()? {
            return Ok(None);
        }
        let Some(window) = &mut self.window else {
            return Ok(None);
        };
        let lines = window.sentences();
        let n_lines = lines.len();
        let end = n_lines.min(self.round.len() + n.max(1));
        let has_alignments = self.has_alignments;
        let lines = lines[self.round.len()..end]
            .iter()
            .map(|line| DocumentLine {
                needs_links: line.needs_links || has_alignments,
                ..*line
            });
        let lines: Vec<DocumentLine<'_>> = lines.collect();
        let translator = &self.model.translator;
        let means = (translator, &self.search, &self.model.protection);
        let translated = translate_lines(means, &lines, |_| &[], &mut |_| ());
        let translated = translated.map_err(refused)?;
        let sentences = lines.iter().zip(&translated);
        let sentences = sentences.map(|(line, (translation, translated))| {
            let links = has_alignments.then_some(&translated.links[..]);
            Sentence::new(line.text, translation, links)
        });
        let sentences: Vec<Sentence<'_>> = sentences.collect();
        let json = serde_json::to_string(&sentences).map_err(refused)?;
        self.round
            .extend(translated.into_iter().map(|(_, line)| line));
        if self.round.len() == n_lines {
            window.write(mem::take(&mut self.round), &self.model.protection);
        }
        Ok(Some(json))
    }

    /// Returns the translated text, up to the last part that is complete.
    pub fn text(&self) -> String {
        let text = self.text.strip_prefix(BYTE_ORDER_MARK);
        text.unwrap_or(&self.text).to_owned()
    }
}
