//! Text in, text out.

use std::path::Path;

use burn::tensor::Device;
use transformer_core::directory::{DirectoryError, ModelDirectory, Tokenizers};
use transformer_core::{LoadError, Transformer, TransformerConfig};

use crate::search::{Hypothesis, Search, SearchError};
use crate::{BatchLimits, translate_ids};

/// Translates lines of text with a model and its tokenizers.
///
/// # Example
///
/// ```
/// use transformer_core::directory::Tokenizers;
/// use transformer_core::text::{Tokenizer, TokenizerConfig};
/// use transformer_core::{TransformerConfig, device};
/// use transformer_infer::Translator;
/// use transformer_infer::search::Search;
///
/// let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"])?;
/// let n = tokenizer.vocab_size();
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(n, n) };
/// let (_, device) = device::choose(None)?;
/// let model = config.init(&device)?;
/// let translator = Translator::new(model, &config, Tokenizers::Joint(tokenizer));
///
/// let translations = translator.translate(&["ein Haus", ""], &Search::default())?;
/// assert_eq!(translations.len(), 2);
/// assert_eq!(translations[1].text(), "");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Translator {
    pub(crate) model: Transformer,
    config: TransformerConfig,
    pub(crate) tokenizers: Tokenizers,
    pub(crate) limits: BatchLimits,
}

/// Holds what became of one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// What was found, the best first; never empty.
    pub candidates: Vec<Candidate>,
    /// What the reader of the translation should know about it.
    pub warning: Option<Warning>,
}

/// Holds one translation of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The translated text.
    pub text: String,
    /// The tokens behind the text, and how likely the model finds them.
    pub hypothesis: Hypothesis,
}

/// Says that a line was translated in part only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The line had too many tokens, and its end was not translated.
    Cut {
        /// Number of tokens in the line.
        n_tokens: usize,
        /// Number of tokens that were translated.
        n_kept: usize,
    },
}

/// Says why there is no translation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranslatorError {
    /// The directory holds no model that can be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The weights do not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The search cannot be done as asked.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The model computed NaN or infinity where probabilities belong.
    #[error(
        "the model computes NaN for line {line}; its weights are of no use: train again, with a lower \
         learning rate if it happens again"
    )]
    NotANumber {
        /// The line's place among those given, counted from 1.
        line: usize,
    },
}

impl Translation {
    /// Returns the text of the best translation.
    pub fn text(&self) -> &str {
        self.candidates
            .first()
            .map_or("", |candidate| candidate.text.as_str())
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cut { n_tokens, n_kept } => write!(
                f,
                "the line has {n_tokens} tokens, of which only the first {n_kept} were translated; \
                 split it"
            ),
        }
    }
}

impl Translator {
    /// Puts a model and its tokenizers together; `config` is the one the model was built from.
    pub fn new(model: Transformer, config: &TransformerConfig, tokenizers: Tokenizers) -> Self {
        let limits = BatchLimits::for_model(config);
        Self {
            model,
            config: config.clone(),
            tokenizers,
            limits,
        }
    }

    /// Reads a model directory and puts the model on the device.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] that names the file at fault.
    pub fn open(path: impl AsRef<Path>, device: &Device) -> Result<Self, TranslatorError> {
        let directory = ModelDirectory::open(path.as_ref())?;
        let model = directory.load(device)?;
        Ok(Self::new(
            model,
            directory.config(),
            directory.tokenizers().clone(),
        ))
    }

    /// Sets how much is translated at once, as far as the model allows.
    #[must_use]
    pub fn with_limits(self, limits: BatchLimits) -> Self {
        Self {
            limits: limits.within(&self.config),
            ..self
        }
    }

    /// Returns the config of the model.
    pub fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Translates lines, and returns as many translations in the same order.
    ///
    /// A translation does not depend on the other lines. A line of whitespace has the empty
    /// translation; an over-long line is cut, and its translation says so.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the search is impossible, or if the model computes NaN.
    pub fn translate<T: AsRef<str>>(
        &self,
        lines: &[T],
        search: &Search,
    ) -> Result<Vec<Translation>, TranslatorError> {
        search.validate()?;
        let mut sources = self.tokenizers.src().encode_all(lines);
        for (source, line) in sources.iter_mut().zip(lines) {
            if line.as_ref().trim().is_empty() {
                source.clear(); // a tokenizer may spell spaces
            }
        }
        let found = translate_ids(&self.model, &sources, search, &self.limits);
        let translated = sources.iter().zip(found).enumerate();
        translated
            .map(|(index, (source, hypotheses))| {
                if hypotheses
                    .iter()
                    .any(|hypothesis| !hypothesis.log_prob.is_finite())
                {
                    return Err(TranslatorError::NotANumber { line: index + 1 });
                }
                let candidates = hypotheses
                    .into_iter()
                    .map(|hypothesis| self.candidate(hypothesis));
                Ok(Translation {
                    candidates: candidates.collect(),
                    warning: self.warning(source.len()),
                })
            })
            .collect()
    }

    fn candidate(&self, hypothesis: Hypothesis) -> Candidate {
        Candidate {
            text: self.tokenizers.tgt().decode(&hypothesis.ids),
            hypothesis,
        }
    }

    fn warning(&self, n_tokens: usize) -> Option<Warning> {
        let n_kept = self.limits.max_src_len;
        (n_tokens > n_kept).then_some(Warning::Cut { n_tokens, n_kept })
    }
}
