//! [`Translator`]: from lines to translations.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use burn::tensor::Device;
use transformer_core::directory::{Languages, ModelDirectory, ModelFiles, Tokenizers};
use transformer_core::text::{Direction, DirectionError, LanguageCode};
use transformer_core::{
    ComputePrecision, LoadError, PackedTransformer, Transformer, TransformerConfig, json,
};
use transformer_search::{Hypothesis, Search};

use super::loaded_model::{ARE_PACKED, LoadedModel};
use super::term_tokenizer::TermTokenizer;
use super::translation::PreparedLine;
use super::{Input, OpenOptions, Translation};
use crate::batch::{BatchLimits, Source, default_threads, translate_packed, translate_sources};
use crate::{ModelOrigin, TranslatorError};

/// The key of the manifest's `training` that stores the search settings of the model.
const SEARCH: &str = "search";

/// Translates lines of text with a model and its tokenizers.
///
/// # Example
///
/// ```
/// use transformer_core::directory::Tokenizers;
/// use transformer_core::text::{Tokenizer, TokenizerConfig};
/// use transformer_core::{TransformerConfig, device};
/// use transformer_translate::Translator;
///
/// let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"])?;
/// let n = tokenizer.vocab_size();
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(n, n) };
/// let (_, device) = device::choose(None)?;
/// let model = config.init(&device)?;
/// let translator = Translator::new(model, &config, Tokenizers::Joint(tokenizer))?;
///
/// let translations = translator.translate(&["ein Haus", ""])?;
/// assert_eq!(translations.len(), 2);
/// assert_eq!(translations[1].text(), "");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Translator {
    /// One model, or those of an ensemble.
    models: Vec<LoadedModel>,
    pub(crate) tokenizers: Tokenizers,
    pub(crate) limits: BatchLimits,
    search: Search,
    languages: Languages,
    /// The languages of a multilingual model.
    pub(super) direction: Option<Direction>,
    pub(crate) origin: ModelOrigin,
    pub(super) n_threads: usize,
    /// Made for the first line with terms.
    pub(super) terms: OnceLock<TermTokenizer>,
}

impl Translator {
    /// Creates a translator from a model, the config that it was built from, and its tokenizers.
    ///
    /// # Errors
    ///
    /// Returns [`TranslatorError::VocabSize`] if a tokenizer has more tokens than the config. Fewer are allowed,
    /// because embedding matrices may be padded.
    pub fn new(
        model: Transformer,
        config: &TransformerConfig,
        tokenizers: Tokenizers,
    ) -> Result<Self, TranslatorError> {
        Self::of(LoadedModel::in_memory(model, config), tokenizers)
    }

    pub(super) fn of(model: LoadedModel, tokenizers: Tokenizers) -> Result<Self, TranslatorError> {
        let config = &model.config;
        let sides = [
            ("src_vocab_size", config.src_vocab_size, tokenizers.src()),
            ("tgt_vocab_size", config.tgt_vocab_size, tokenizers.tgt()),
        ];
        for (field, expected, tokenizer) in sides {
            let found = tokenizer.vocab_size();
            if found > expected {
                return Err(TranslatorError::VocabSize {
                    field,
                    found,
                    expected,
                });
            }
        }
        Ok(Self {
            tokenizers,
            limits: BatchLimits::for_model(config),
            search: Search::default(),
            languages: Languages::default(),
            direction: None,
            origin: ModelOrigin::Unknown,
            n_threads: default_threads(),
            terms: OnceLock::new(),
            models: vec![model],
        })
    }

    /// Loads the model of a model directory, on disk or in memory, to the device.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] that names the faulty file.
    pub fn open(files: impl Into<ModelFiles>, device: &Device) -> Result<Self, TranslatorError> {
        Self::open_ensemble(&[files.into()], device, &OpenOptions::default())
    }

    /// Loads one model, or several that predict together as set by [`Search::ensemble`]. All must have the same
    /// tokenizers.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] that names the faulty file, or the model with other tokenizers, or if the device
    /// cannot compute in the precision.
    ///
    /// # Panics
    ///
    /// Panics if no directory is given.
    pub fn open_ensemble<P: Clone + Into<ModelFiles>>(
        models: &[P],
        device: &Device,
        options: &OpenOptions,
    ) -> Result<Self, TranslatorError> {
        let mut models = models.iter().cloned().map(P::into);
        let first = models.next().expect("an ensemble has at least one model");
        let (directory, model) = LoadedModel::open(first.clone(), device, options)?;
        let n_threads = options.n_threads;
        let mut ensemble = Self {
            search: Self::search_of(&directory)?,
            languages: directory.languages().clone(),
            origin: ModelOrigin::of(&directory.manifest().training),
            n_threads: n_threads.map_or_else(default_threads, NonZeroUsize::get),
            ..Self::of(model, directory.tokenizers().clone())?
        };
        let json = |it: &Tokenizers| (it.src().to_json(), it.tgt().to_json());
        for files in models {
            let (other, model) = LoadedModel::open(files.clone(), device, options)?;
            if json(other.tokenizers()) != json(&ensemble.tokenizers) {
                return Err(TranslatorError::Tokenizers {
                    first: first.path().to_owned(),
                    other: files.path().to_owned(),
                });
            }
            ensemble.languages = ensemble.languages.or(other.languages());
            ensemble.models.push(model);
        }
        let (limits, languages) = (ensemble.limits.clone(), ensemble.languages.clone());
        Ok(ensemble.with_languages(languages).with_limits(limits))
    }

    /// Sets the limits of batches and lengths, lowered to the maxima of the models.
    #[must_use]
    pub fn with_limits(self, limits: BatchLimits) -> Self {
        let configs = self.models.iter().map(|model| &model.config);
        let limits = configs.fold(limits, BatchLimits::within);
        Self { limits, ..self }
    }

    /// Returns the tokenizers of the model.
    pub fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// Sets the search settings of the model, which [`search`](Self::search) returns.
    #[must_use]
    pub(crate) fn with_search(self, search: Search) -> Self {
        Self { search, ..self }
    }

    /// Returns the languages of the model, if known; for an ensemble, those of the first model that has them.
    pub fn languages(&self) -> &Languages {
        &self.languages
    }

    /// Sets the languages of the model. They do not change translations, except those of a multilingual model, which
    /// has them as its default.
    #[must_use]
    pub fn with_languages(self, languages: Languages) -> Self {
        let codes =
            [&languages.src, &languages.tgt].map(|it| it.as_ref().map(LanguageCode::as_str));
        let direction = self.tokenizers.tgt().languages();
        let direction = direction.and_then(|_| self.direction(codes[0], codes[1]).ok());
        Self {
            languages,
            direction,
            ..self
        }
    }

    /// Returns the tokens for a translation between two languages by a multilingual model. A language is given by a
    /// code of BCP 47, such as `de` or `zh-Hant`, or by the model's own, such as `deu_Latn`; by default it is that of
    /// [`languages`](Self::languages).
    ///
    /// # Errors
    ///
    /// Returns a [`DirectionError`] if the model does not have a language, or needs one that is not given. Models that
    /// are not multilingual refuse all.
    pub fn direction(
        &self,
        src: Option<&str>,
        tgt: Option<&str>,
    ) -> Result<Direction, DirectionError> {
        let tokenizer = self.tokenizers.tgt();
        let known = tokenizer.languages().map(|_| &self.languages);
        let or = |given: Option<&'_ str>, known: Option<&Option<LanguageCode>>| {
            let known = known.and_then(Option::as_ref).map(LanguageCode::to_string);
            given.map(str::to_owned).or(known)
        };
        let src = or(src, known.map(|it| &it.src));
        let tgt = or(tgt, known.map(|it| &it.tgt));
        tokenizer.direction(src.as_deref(), tgt.as_deref())
    }

    /// Sets the languages between which a multilingual model translates, unless [`Input::direction`] has others; they
    /// are given as to [`direction`](Self::direction).
    ///
    /// # Errors
    ///
    /// Returns a [`DirectionError`] as `direction` does.
    pub fn with_direction(
        self,
        src: Option<&str>,
        tgt: Option<&str>,
    ) -> Result<Self, DirectionError> {
        self.direction(src, tgt)?;
        let table = self.tokenizers.tgt().languages();
        let code = |given: Option<&str>| Some(table?.find(given?).ok()?.code.clone());
        let (src, tgt) = (code(src), code(tgt));
        let languages = Languages { src, tgt }.or(&self.languages);
        Ok(self.with_languages(languages))
    }

    /// Returns the model, or the first one of an ensemble, as a module in 32-bit floats.
    ///
    /// On CPUs, a model from a directory is read again at the first call, because translation uses the weights in
    /// another form. Scores and attention need this one.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the weights can no longer be read.
    pub fn model(&self) -> Result<&Transformer, LoadError> {
        self.models[0].tensors()
    }

    /// Returns the same model in its form for generation on CPUs; `None` if the tensors are elsewhere.
    pub(crate) fn packed(&self) -> Option<&PackedTransformer> {
        self.models[0].packed()
    }

    /// Returns the number format of the matrix products of translation, for each model; empty on devices other than
    /// CPUs.
    pub fn precisions(&self) -> Vec<ComputePrecision> {
        let models = self.models.iter();
        models.filter_map(LoadedModel::precision).collect()
    }

    /// Returns the limits of batches and lengths.
    pub fn limits(&self) -> &BatchLimits {
        &self.limits
    }

    /// Returns the search settings in the manifest of a model, or the default.
    ///
    /// # Errors
    ///
    /// Returns [`TranslatorError::StoredSearch`] if the manifest has other data under this key, and
    /// [`TranslatorError::InvalidStoredSearch`] if the search is not valid.
    pub fn search_of(directory: &ModelDirectory) -> Result<Search, TranslatorError> {
        let Some(search) = directory.manifest().training.get(SEARCH) else {
            return Ok(Search::default());
        };
        let path = || directory.path().to_owned();
        let search: Search = json::from_value(search).map_err(|source| {
            let path = path();
            TranslatorError::StoredSearch { path, source }
        })?;
        search.validate().map_err(|source| {
            let path = path();
            TranslatorError::InvalidStoredSearch { path, source }
        })?;
        Ok(search)
    }

    /// Returns the search settings of the model's manifest, or the default.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// Returns the config of the model, or of the first one of an ensemble.
    pub fn config(&self) -> &TransformerConfig {
        &self.models[0].config
    }

    /// Translates lines with the model's own [`search`](Self::search), and returns one translation per line in the same
    /// order.
    ///
    /// A translation does not depend on the other lines. A blank line gets the empty translation; a line that is too
    /// long is cut, and its translation has a [`Warning`](super::Warning).
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the search is not valid, or if the model computes NaN.
    pub fn translate<T: AsRef<str>>(
        &self,
        lines: &[T],
    ) -> Result<Vec<Translation>, TranslatorError> {
        self.translate_with(lines, &self.search)
    }

    /// Like [`translate`](Self::translate), with another search: a changed copy of the model's, for example.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] as `translate` does.
    pub fn translate_with<T: AsRef<str>>(
        &self,
        lines: &[T],
        search: &Search,
    ) -> Result<Vec<Translation>, TranslatorError> {
        let inputs = (0..).zip(lines).map(|(index, line)| Input {
            text: line.as_ref(),
            index,
            ..Input::default()
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        self.translate_inputs(&inputs, search, &mut |_| ())
    }

    /// Like [`translate`](Self::translate), with a prefix, terms and an index for each line.
    ///
    /// `on_progress` is called after every batch with the number of its lines.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] as `translate` does, if a prefix has unknown characters or reaches the length
    /// limit, or if there are terms and the search draws samples. Terms that cannot be met are not an error
    /// ([`Translation::unmet_terms`]).
    pub fn translate_inputs(
        &self,
        inputs: &[Input<'_>],
        search: &Search,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Translation>, TranslatorError> {
        let prepared = self.prepare(inputs, search)?;
        let prepared: Vec<PreparedLine> = prepared.into_iter().collect::<Result<_, _>>()?;
        let sources = prepared.iter().zip(inputs);
        let sources: Vec<Source<'_>> = sources.map(|(it, input)| it.source(input.index)).collect();
        let found = self.translate_sources(&sources, search, on_progress)?;
        let found = inputs.iter().zip(&prepared).zip(found).enumerate();
        found
            .map(|(line, ((input, prepared), hypotheses))| {
                let (n_tokens, direction) = (prepared.ids.len(), prepared.direction);
                self.translation(line, n_tokens, hypotheses, (input.terms, direction), search)
            })
            .collect()
    }

    pub(crate) fn packed_models(&self) -> Option<Vec<&PackedTransformer>> {
        self.models.iter().map(LoadedModel::packed).collect()
    }

    /// Returns the maximum number of threads that translate at the same time.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// Translates token ids with the models in the form for their device; see
    /// [`translate_ids`](crate::translate_ids).
    ///
    /// # Errors
    ///
    /// Returns [`TranslatorError::Load`] if the weights can no longer be read.
    #[doc(hidden)]
    pub fn translate_sources(
        &self,
        sources: &[Source<'_>],
        search: &Search,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Hypothesis>>, TranslatorError> {
        let (limits, n_threads) = (&self.limits, self.n_threads);
        Ok(match self.packed_models() {
            Some(models) => {
                translate_packed(&models, sources, search, limits, n_threads, on_progress)
            }
            None if ARE_PACKED => unreachable!("models are packed when they are opened"),
            None => {
                let models = self.models.iter().map(LoadedModel::tensors);
                let models: Vec<&Transformer> = models.collect::<Result<_, _>>()?;
                translate_sources(&models, sources, search, limits, on_progress)
            }
        })
    }
}
