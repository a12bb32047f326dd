//! Prepares a run: from an experiment to tokenizers, ids, the plan of batches, and the model's config.

use std::sync::Arc;

use burn::tensor::Device;
use transformer_core::config::AdapterConfig;
use transformer_core::directory::{Languages, ModelDirectory, Tokenizers};
use transformer_core::text::{Tokenizer, UNK};
use transformer_core::{Transformer, TransformerConfig};
use transformer_translate::BatchLimits;

use super::finetune::{self, InitialEmbeddings, InitialState};
use super::mixture::{corpus_weights, log_corpus_shares};
use super::trained_tokens::TrainedTokens;
use super::validation_pairs::{ValidationPairs, n_seen};
use super::warnings::{Facts, n_required, warnings};
use crate::batching::{CorpusWeight, Plan};
use crate::config::{
    ConfigError, Copies, DataSettings, Duplicates, Experiment, Tags, ValidationSettings,
};
use crate::corpus::{
    BpeDropout, Cleaning, CorpusSummary, Fingerprint, LoadedData, PairDropout, SourceNoise,
    StoreLocation, TrainingText,
};
use crate::error::TrainError;
use crate::progress::{LogFn, Progress};
use crate::validation::{PairTranslator, Samples, TextMetrics};

pub(crate) struct Prepared {
    pub(crate) tokenizers: Tokenizers,
    pub(crate) config: TransformerConfig,
    /// The languages of the settings, or of the model that is trained further.
    pub(crate) languages: Languages,
    /// The languages by which the text is cleaned.
    pub(super) cleaned_as: Languages,
    /// The model with the initial weights; `None` if they are random, or in a checkpoint.
    base: Option<ModelDirectory>,
    embeddings: InitialEmbeddings,
    adapters: AdapterConfig,
    corpora: Vec<CorpusWeight>,
    pub(crate) train: Arc<TrainingText>,
    pub(crate) train_summary: CorpusSummary,
    /// The pairs that cleaning left out of each corpus; empty once they are written.
    pub(super) cleaning: Vec<Cleaning>,
    pub(crate) plan: Plan,
    pub(crate) fingerprint: u64,
    pub(super) valid: ValidationPairs,
    /// Number of validation pairs that are also in the training text; 0 if it is too large to look them up.
    n_valid_seen: usize,
    target_tags: Vec<Vec<u32>>,
    /// Test pairs, translated only at the end; only built-in tasks have any.
    pub(crate) test: Vec<(String, String)>,
}

impl Prepared {
    /// Reads the corpus twice if it is cleaned, once for the tokenizers, unless `initial` has them, and once for the ids.
    /// Reads nothing if the ids are in `store`.
    pub(crate) fn new(
        experiment: &Experiment,
        initial: InitialState,
        store: Option<StoreLocation>,
        progress: &Progress,
    ) -> Result<Self, TrainError> {
        let log = progress.log();
        let embeddings = initial.embeddings(experiment);
        let (is_fresh, base) = (initial.is_fresh, initial.base);
        let (tokenizers, cleaned_as) = (initial.tokenizers, initial.cleaned_as);
        let loaded = LoadedData::load(experiment, &cleaned_as, tokenizers, store, progress)?;
        let (tokenizers, store) = (loaded.tokenizers, loaded.store);
        log(&format!("data        {}", loaded.summary));
        let [source_tags, target_tags] = encoded_tags(experiment, &tokenizers)?;
        let filter = validation_filter(experiment);
        let valid =
            ValidationPairs::encode(&loaded.valid, &filter, &tokenizers, loaded.valid_corpora)?;
        let valid = valid.without_tags(&experiment.data.tags_of(|tags| &tags.tgt));
        log(&format!("validation  {}", valid.summary));
        let config = match &base {
            Some(base) => finetune::config(experiment, base.config(), log)?,
            None => model_config(experiment, &tokenizers)?,
        };
        let languages = finetune::languages(experiment, base.as_ref());
        if is_fresh && base.is_none() {
            tokenizers.check_tying(&config)?;
        }
        log(&format!("vocabulary  {}", vocabulary_sizes(&tokenizers)));
        let noise = source_noise(experiment, &tokenizers, source_tags);
        let bpe_dropout = bpe_dropout(experiment, &tokenizers)?;
        let embeddings = InitialEmbeddings::read(&embeddings, &config, &tokenizers, log)?;
        let temperature = experiment.data.sampling_temperature;
        let weights = corpus_weights(&loaded.summary, &loaded.weights, temperature);
        log_corpus_shares(&weights, experiment, log);
        let plan = Plan::weighted(store.lengths(), &experiment.training, &weights)?;
        Ok(Self {
            config,
            languages,
            cleaned_as,
            // The weights of a resumed run are in its checkpoint.
            base: base.filter(|_| is_fresh),
            embeddings,
            adapters: experiment.adapters.clone(),
            corpora: weights,
            fingerprint: loaded.fingerprint,
            tokenizers,
            train_summary: loaded.summary,
            cleaning: loaded.cleaning,
            plan,
            n_valid_seen: n_seen(&store, &valid.pairs)?,
            train: Arc::new(TrainingText::new(store, noise, bpe_dropout)),
            valid,
            target_tags,
            test: loaded.test,
        })
    }

    /// Returns the model with its initial weights, random or from a trained model, and its adapters, on an autodiff
    /// device.
    #[expect(
        clippy::disallowed_methods,
        reason = "a run draws its weights from its seed"
    )]
    pub(crate) fn model(&self, seed: u64, device: &Device) -> Result<Transformer, TrainError> {
        let device = device.clone().autodiff();
        device.seed(seed);
        let model = match &self.base {
            Some(base) => base.load_to_train(&self.config, &device)?,
            None => self.config.init(&device)?,
        };
        let model = self.embeddings.apply_to(model)?;
        let n_tokens = self.adapters.trained_tokens;
        let tokens = match self.base.is_some() && n_tokens > 0 {
            true => Some(TrainedTokens::most_frequent(
                n_tokens,
                &self.config,
                self.train.store(),
                &self.corpora,
            )?),
            false => None,
        };
        Ok(finetune::with_adapters(model, &self.adapters, tokens))
    }

    pub(crate) fn warn(&mut self, experiment: &Experiment, log: &LogFn) {
        let facts = Facts {
            updates_per_pass: experiment
                .training
                .updates_of(self.plan.batches_per_pass(0)),
            experiment,
            config: &self.config,
            train: &self.train_summary,
            valid: &self.valid.summary,
            n_valid_seen: self.n_valid_seen,
            n_required: [self.tokenizers.src(), self.tokenizers.tgt()].map(n_required),
        };
        for warning in warnings(&facts) {
            log(&format!("warning     {warning}"));
        }
    }

    /// Returns the text of the first validation targets, at most `max_references`.
    pub(crate) fn references(&self, max_references: usize) -> Vec<String> {
        let pairs = self.valid.text.iter().take(max_references);
        pairs.map(|(_, tgt)| tgt.clone()).collect()
    }

    pub(crate) fn samples(&self, max_samples: usize) -> Samples {
        let sentences = self.valid.pairs.iter().zip(&self.valid.text);
        Samples::new(sentences.take(max_samples))
    }

    pub(crate) fn text_metrics(&self, experiment: &Experiment) -> TextMetrics {
        TextMetrics::new(
            experiment.data.task.is_some(),
            experiment.validation.tokenize,
        )
    }

    /// Returns a translator of validation pairs. It cuts no source that the filters kept whole, unless the model has no
    /// positions for it.
    pub(crate) fn translator(&self, experiment: &Experiment, beam_size: usize) -> PairTranslator {
        let limits = BatchLimits::default();
        let max_src_len = limits.max_src_len.max(experiment.data.max_len);
        let limits = BatchLimits {
            max_src_len,
            ..limits
        };
        PairTranslator {
            search: experiment.validation.search(beam_size),
            limits: limits.within(&self.config),
            tokenizer: self.tokenizers.tgt().clone(),
            metrics: self.text_metrics(experiment),
            target_tags: self.target_tags.clone(),
        }
    }

    /// Returns a fingerprint of the validation pairs and settings: scores are comparable if their fingerprints are
    /// equal.
    pub(crate) fn validation_fingerprint(&self, validation: &ValidationSettings) -> u64 {
        let mut fingerprint = Fingerprint::default();
        for pair in &self.valid.pairs {
            fingerprint.push(&pair.src, &pair.tgt);
        }
        if self.valid.numbers.len() > 1 {
            let of_corpora = self.valid.corpora.iter().map(|it| *it as u32);
            fingerprint.push(&of_corpora.collect::<Vec<_>>(), &[]);
        }
        let search = validation.search(validation.interval_beam_size);
        let settings = (search, validation.max_sentences, validation.tokenize);
        let settings = serde_json::to_string(&settings).expect("settings are numbers and names");
        let settings: Vec<u32> = settings.bytes().map(u32::from).collect();
        fingerprint.push(&settings, &[]);
        if let Some(command) = &validation.command {
            let command: Vec<u32> = command.to_string().bytes().map(u32::from).collect();
            fingerprint.push(&command, &[]);
        }
        fingerprint.value()
    }
}

/// Returns the filter of validation pairs: a pair that is bad for training can still be measured.
fn validation_filter(experiment: &Experiment) -> DataSettings {
    DataSettings {
        max_ratio: None,
        duplicates: Duplicates::Keep,
        copies: Copies::Keep,
        ..experiment.data.clone()
    }
}

fn source_noise(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
    tags: Vec<Vec<u32>>,
) -> Option<SourceNoise> {
    let data = &experiment.data;
    data.has_noise().then(|| SourceNoise {
        tokenizer: tokenizers.src().clone(),
        symbols: tokenizers.src().user_symbols(),
        tags,
        settings: data.clone(),
        seed: experiment.training.seed,
    })
}

fn bpe_dropout(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
) -> Result<Option<PairDropout>, ConfigError> {
    let rate = experiment.tokenizer.dropout;
    if rate == 0.0 {
        return Ok(None);
    }
    let dropout = |tokenizer| {
        // A tokenizer that is trained in this run has merges, or the settings are refused.
        let key = "tokenizer.dropout".to_owned();
        BpeDropout::new(tokenizer).ok_or(ConfigError::FixedByModel { key })
    };
    Ok(Some(PairDropout {
        src: dropout(tokenizers.src())?,
        tgt: dropout(tokenizers.tgt())?,
        rate,
        seed: experiment.training.seed,
        max_len: experiment.data.max_len,
    }))
}

fn model_config(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
) -> Result<TransformerConfig, TrainError> {
    let vocabulary = experiment.tokenizer.vocabulary;
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    let config = experiment.model.config(src, tgt, vocabulary)?;
    config.validate()?;
    Ok(config)
}

fn vocabulary_sizes(tokenizers: &Tokenizers) -> String {
    match tokenizers {
        Tokenizers::Joint(tokenizer) => format!("{} tokens, joint", tokenizer.vocab_size()),
        Tokenizers::Separate { src, tgt } => {
            format!(
                "{} source and {} target tokens",
                src.vocab_size(),
                tgt.vocab_size()
            )
        }
    }
}

/// Checks that the tokenizers know the tags of the corpora, and returns the tags of sources and of targets as ids.
///
/// Tokenizers that are trained in this run have each tag as a token. The tokenizers of a model that is trained further
/// may split a tag into several.
fn encoded_tags(
    experiment: &Experiment,
    tokenizers: &Tokenizers,
) -> Result<[Vec<Vec<u32>>; 2], ConfigError> {
    let data = &experiment.data;
    Ok([
        encoded_side(data, |tags| tags.src, tokenizers.src())?,
        encoded_side(data, |tags| tags.tgt, tokenizers.tgt())?,
    ])
}

fn encoded_side(
    data: &DataSettings,
    side: impl Fn(Tags) -> Option<String>,
    tokenizer: &Tokenizer,
) -> Result<Vec<Vec<u32>>, ConfigError> {
    let mut encoded = Vec::new();
    for (corpus, number) in data.corpora.iter().zip(1..) {
        let Some(tag) = side(corpus.tags()) else {
            continue;
        };
        let ids = tokenizer.encode(&tag);
        if ids.is_empty() || ids.contains(&UNK) {
            return Err(ConfigError::UnknownTag { tag, number });
        }
        if !encoded.contains(&ids) {
            encoded.push(ids);
        }
    }
    Ok(encoded)
}
