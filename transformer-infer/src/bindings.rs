//! Translation for other languages: the options are JSON, with the names that settings have in files.
//!
//! [`ModelOptions`] opens a model, [`LineOptions`] translates lines and [`DocumentOptions`] documents.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use transformer_core::text::{Direction, LanguageCode};
use transformer_core::{device, json};
use transformer_documents::format::{Format, FormatOptions};
use transformer_documents::{Protection, Split, Splitter};
use transformer_search::{LengthLimit, LengthPenalty, Search};
use transformer_translate::attention::{Alignment, Attention, LayerHead};
use transformer_translate::{Glossary, Input, OpenOptions, Translation, Translator};

use crate::document::{DocumentError, DocumentTranslator, ModelLines};

/// The language of documents of an unknown language.
const DEFAULT_LANGUAGE: &str = "en";

/// An error of any kind.
pub type AnyError = Box<dyn Error + Send + Sync>;

/// The options for opening a model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelOptions {
    device: Option<String>,
    precision: Option<String>,
    threads: Option<NonZeroUsize>,
    shortlist: Option<bool>,
    source_lang: Option<String>,
    target_lang: Option<String>,
}

/// The options of a translation of lines.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct LineOptions {
    /// Set if alignments are returned.
    pub alignments: bool,
    /// Set if the attention of all heads is returned.
    pub attention: bool,
    /// The text that each translation begins with.
    pub prefixes: Vec<String>,
    /// Index of the first line in the whole input; samples depend on it.
    pub first_index: u64,
    source_lang: Option<String>,
    target_lang: Option<String>,
    #[serde(flatten)]
    common: CommonOptions,
}

/// The options of a translation of a document.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DocumentOptions {
    /// Name of the format.
    pub format: Option<String>,
    /// `sentences`, `lines` or `none`.
    split: Option<String>,
    /// False if translations are not checked.
    check: Option<bool>,
    /// Set if the output may replace a file.
    pub overwrite: bool,
    #[serde(flatten)]
    common: CommonOptions,
}

/// The options of both.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CommonOptions {
    /// The terms and their translations.
    glossary: BTreeMap<String, String>,
    #[serde(flatten)]
    search: Map<String, Value>,
}

/// A translation of lines with its options, checked.
#[derive(Debug)]
pub struct LineRequest {
    /// The options.
    pub options: LineOptions,
    /// The search.
    pub search: Search,
    glossary: Option<Glossary>,
    /// The tokens of the languages, if they were given.
    pub direction: Option<Direction>,
}

/// Translations, and the alignment and the attention of each of their candidates, if wanted.
#[derive(Debug)]
pub struct TranslatedLines {
    /// The translations.
    pub translations: Vec<Translation>,
    /// The alignments of each line's candidates.
    pub alignments: Vec<Vec<Alignment>>,
    /// The attention of each line's candidates; empty for a blank line.
    pub attention: Vec<Vec<Attention>>,
}

/// Reads options. Those that are `null` count as missing.
///
/// # Errors
///
/// Returns an error that names the option.
pub fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, AnyError> {
    from_map(json::from_slice(json)?)
}

/// Reads options like [`read`].
///
/// # Errors
///
/// Returns an error that names the option.
pub fn from_map<T: DeserializeOwned>(mut options: Map<String, Value>) -> Result<T, AnyError> {
    options.retain(|_, value| !value.is_null());
    Ok(json::from_value(&Value::Object(options))?)
}

impl ModelOptions {
    /// Opens a model directory, or several as an ensemble.
    ///
    /// # Errors
    ///
    /// Returns an error that names the faulty file or option.
    pub fn open<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Translator, AnyError> {
        let precision = self.precision.as_deref().map(str::parse);
        let open = OpenOptions {
            precision: precision.transpose()?,
            without_shortlist: self.shortlist == Some(false),
            n_threads: self.threads,
            ..OpenOptions::default()
        };
        let (_, device) = device::choose(self.device.as_deref())?;
        let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
        let translator = Translator::open_ensemble(&paths, &device, &open)?;
        Ok(match (&self.source_lang, &self.target_lang) {
            (None, None) => translator,
            (src, tgt) => translator.with_direction(src.as_deref(), tgt.as_deref())?,
        })
    }
}

impl CommonOptions {
    fn glossary(&self) -> Result<Option<Glossary>, AnyError> {
        let pairs = self.glossary.iter();
        let pairs = pairs.map(|(src, tgt)| (src.as_str(), tgt.as_str()));
        let is_given = !self.glossary.is_empty();
        let glossary = is_given.then(|| Glossary::from_pairs("the glossary", pairs));
        Ok(glossary.transpose()?)
    }
}

/// Returns a search with other settings, under the names of [`Search`]'s fields.
///
/// Lengths and the length penalty may be written as the program's flags have them, such as `1x+50` and `gnmt:0.6`. More
/// hypotheses than the beam size raise it, unless it is given.
///
/// # Errors
///
/// Returns an error that names the setting.
pub fn change_search(search: &Search, settings: &Map<String, Value>) -> Result<Search, AnyError> {
    let mut value = json!(search);
    for (key, given) in settings {
        value[key] = match (key.as_str(), given) {
            ("length_penalty", Value::String(text)) => json!(text.parse::<LengthPenalty>()?),
            ("max_len" | "min_len", Value::String(_) | Value::Number(_)) => {
                let text = given
                    .as_str()
                    .map_or_else(|| given.to_string(), str::to_owned);
                json!(text.parse::<LengthLimit>()?)
            }
            _ => given.clone(),
        };
    }
    let mut search: Search = json::from_value(&value)?;
    if !settings.contains_key("beam_size") {
        search.beam_size = search
            .beam_size
            .max(search.n_best.min(Search::MOST_HYPOTHESES));
    }
    search.validate()?;
    Ok(search)
}

impl LineRequest {
    /// Checks the options of a translation of `n_lines` lines.
    ///
    /// # Errors
    ///
    /// Returns an error that names the faulty option.
    pub fn new(
        translator: &Translator,
        options: LineOptions,
        n_lines: usize,
    ) -> Result<Self, AnyError> {
        let n = options.prefixes.len();
        if n != 0 && n != n_lines {
            return Err(format!(
                "there are {n} prefixes and {n_lines} lines; give a prefix for each line, `\"\"` for none"
            )
            .into());
        }
        let (src, tgt) = (&options.source_lang, &options.target_lang);
        let is_given = src.is_some() || tgt.is_some();
        let direction = is_given.then(|| translator.direction(src.as_deref(), tgt.as_deref()));
        Ok(Self {
            search: change_search(translator.search(), &options.common.search)?,
            glossary: options.common.glossary()?,
            direction: direction.transpose()?,
            options,
        })
    }

    /// Returns the translations of the glossary's terms in a line.
    pub fn terms_in<'a>(&'a self, line: &str) -> Vec<&'a str> {
        let glossary = self.glossary.iter();
        let terms = glossary.flat_map(|glossary| glossary.terms_in(line));
        terms.map(|term| term.target).collect()
    }

    /// Translates the lines of a range.
    ///
    /// # Errors
    ///
    /// Returns an error if the model computes NaN.
    pub fn translate(
        &self,
        translator: &Translator,
        lines: &[String],
        range: Range<usize>,
    ) -> Result<TranslatedLines, AnyError> {
        let (start, options) = (range.start, &self.options);
        let lines = &lines[range];
        let terms: Vec<_> = lines.iter().map(|line| self.terms_in(line)).collect();
        let inputs = (start..).zip(lines).zip(&terms);
        let inputs = inputs.map(|((index, text), terms)| Input {
            text,
            prefix: options.prefixes.get(index).map_or("", String::as_str),
            terms,
            index: options.first_index + index as u64,
            direction: self.direction,
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        let translations = translator
            .translate_inputs(&inputs, &self.search, &mut |_| ())
            .map_err(|error| error.with_line(|line| start + line))?;
        let alignments = match options.alignments {
            true => translator.alignments(lines, &translations, LayerHead::default())?,
            false => Vec::new(),
        };
        let mut attention = Vec::new();
        if options.attention {
            for (line, translation) in lines.iter().zip(&translations) {
                let candidates = translation.candidates.iter();
                let candidates = candidates
                    .filter(|_| !line.trim().is_empty())
                    .map(|it| translator.attention_in(translation.direction, line, &it.hypothesis));
                attention.push(candidates.collect::<Result<_, _>>()?);
            }
        }
        Ok(TranslatedLines {
            translations,
            alignments,
            attention,
        })
    }
}

impl DocumentOptions {
    /// Translates a document of a format, and keeps its markup. `name` is its name in errors.
    ///
    /// # Errors
    ///
    /// Returns an error that names the faulty option, or the line of a document that is not of its format.
    pub fn translate(
        &self,
        translator: &Translator,
        format: Format,
        name: String,
        input: impl Read + Send + 'static,
    ) -> Result<Vec<u8>, AnyError> {
        let search = change_search(translator.search(), &self.common.search)?;
        let glossary = self.common.glossary()?;
        let mut lines = ModelLines::new(translator, &search);
        if let Some(glossary) = &glossary {
            lines = lines.with_glossary(glossary);
        }
        let split = self.split.as_deref().map(str::parse::<Split>).transpose()?;
        let language = translator.languages().src.as_ref();
        let language = language.map_or(DEFAULT_LANGUAGE, LanguageCode::as_str);
        let splitter = Splitter::new(split.unwrap_or_default(), language);
        let target = translator.languages().tgt.as_ref();
        let protection = Protection::placeholders();
        let protection = match self.check {
            Some(false) => protection,
            _ => protection.with_check(target),
        };
        let parts = format.read(name, input, &FormatOptions::default())?;
        let mut translated = Vec::new();
        DocumentTranslator::new(&lines, &splitter, &protection)
            .translate(parts, &mut translated, &mut |_| ())
            .map_err(|error| match error {
                DocumentError::Translator(error) => AnyError::from(error),
                error => error.into(),
            })?;
        Ok(translated)
    }

    /// Translates a text of a format, and keeps its markup. A character encoding that HTML declares has no effect; other
    /// formats must not declare one but UTF-8.
    ///
    /// # Errors
    ///
    /// Returns an error like [`translate`](Self::translate), or one that the translation is not UTF-8.
    pub fn translate_text(
        &self,
        translator: &Translator,
        format: Format,
        text: &str,
    ) -> Result<String, AnyError> {
        const BYTE_ORDER_MARK: &str = "\u{feff}";
        let mark = match format {
            // It goes before a declared encoding.
            Format::Html | Format::Xhtml if !text.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK,
            _ => "",
        };
        let input = Cursor::new(format!("{mark}{text}").into_bytes());
        let translated = self.translate(translator, format, "the text".to_owned(), input)?;
        let text = String::from_utf8(translated).map_err(|error| {
            format!("the text declares another encoding than UTF-8, which it is in: {error}")
        })?;
        Ok(text.strip_prefix(mark).unwrap_or(&text).to_owned())
    }
}
