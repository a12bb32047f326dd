//! Checks that the settings of an experiment are valid and consistent.

use toml::Table;
use transformer_core::text::{Case, N_SPECIAL, TokenizerConfig, TokenizerKind};
use transformer_search::{LengthLimit, LengthPenalty, Search};

use crate::config::adapters::validate_adapters;
use crate::config::range::{at_most, fraction, positive, require, setting, within};
use crate::config::{
    BestBy, Checkpointing, ConfigError, CorpusSettings, DataSettings, Experiment, ScheduleKind,
    TokenizerSettings, TrainingSettings, ValidationSettings, Vocabulary, check_sequences,
};

/// The largest integer of TOML.
const MAX_SEED: u64 = i64::MAX as u64;

// The largest values allowed: more than is ever useful, and small enough that nothing overflows.
const MAX_UPDATES: u64 = 1_000_000_000;
const MAX_BATCHES: u64 = 100_000;
const MAX_PAIRS: u64 = 100_000_000;
const MAX_TOKENIZER_PAIRS: u64 = 1_000_000_000;
const MAX_BATCH_TOKENS: u64 = 1_000_000_000;
const MAX_VOCAB_SIZE: u64 = 1 << 24;
const MAX_CHECKPOINTS: u64 = 10_000;
const MAX_WINDOW: u64 = 1_000_000_000;
const MAX_SAMPLES: u64 = 10_000;
const MAX_DEVICES: u64 = 1024;
const MAX_RANKS: u64 = 65_536;
const MAX_SECONDS: u64 = 1_000_000;
const MAX_LINE_BYTES: u64 = 1 << 30;
const MAX_TEMPERATURE: f64 = 1e6;

impl Experiment {
    /// Checks that each setting is valid and that they are consistent with each other. No file is opened.
    ///
    /// # Errors
    ///
    /// Returns the first [`ConfigError`] found; its message names the key and a valid choice.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { data, training, .. } = self;
        validate_paths(self)?;
        validate_data(data)?;
        validate_noise(self)?;
        validate_tokenizer(&self.tokenizer, self.finetune.model.is_some())?;
        for key in ["src_vocab_size", "tgt_vocab_size"] {
            if self.model.overrides.contains_key(key) {
                return Err(ConfigError::VocabularySizeInModel { key });
            }
        }

        match self.finetune.model {
            Some(_) => validate_finetuning(self)?,
            None => validate_model(self)?,
        }
        validate_adapters(self)?;

        within(setting!(training.tokens_per_batch), MAX_BATCH_TOKENS)?;
        let ((key, value), max_len) = (setting!(training.tokens_per_batch), data.max_len);
        if value <= max_len {
            return Err(ConfigError::TooSmallForSentences {
                key,
                value,
                max_len,
            });
        }
        validate_training(training)?;
        if training.best_by == BestBy::Command && self.validation.command.is_none() {
            let given = "training.best_by = \"command\"";
            return Err(ConfigError::missing("validation.command", given));
        }
        validate_validation(&self.validation, data)
    }
}

fn validate_paths(experiment: &Experiment) -> Result<(), ConfigError> {
    let (data, embeddings) = (&experiment.data, &experiment.embeddings);
    for (key, path) in [
        ("data.src", &data.src),
        ("data.tgt", &data.tgt),
        ("data.tsv", &data.tsv),
        ("data.valid_src", &data.valid_src),
        ("data.valid_tgt", &data.valid_tgt),
        ("data.valid_tsv", &data.valid_tsv),
        ("data.store_folder", &data.store_folder),
        ("finetune.model", &experiment.finetune.model),
        ("embeddings.src_word_vectors", &embeddings.src_word_vectors),
        ("embeddings.tgt_word_vectors", &embeddings.tgt_word_vectors),
    ] {
        let is_path = path
            .as_ref()
            .is_none_or(|path| !path.as_os_str().is_empty());
        require((key, "empty"), is_path, "the path of a file or folder")?;
    }
    for (corpus, number) in data.corpora.iter().zip(1..) {
        let checked = corpus.check_paths();
        checked.map_err(ConfigError::in_corpus(number))?;
    }
    Ok(())
}

/// Checks the probabilities of noise, and refuses noise that would have no effect.
fn validate_noise(experiment: &Experiment) -> Result<(), ConfigError> {
    let data = &experiment.data;
    fraction(setting!(data.noise_lowercase))?;
    fraction(setting!(data.noise_uppercase))?;
    fraction(setting!(data.noise_typos))?;
    let is_allowed = data.noise_lowercase + data.noise_uppercase <= 1.0;
    let allowed = "at most 1 - `data.noise_lowercase`";
    require(setting!(data.noise_uppercase), is_allowed, allowed)?;
    let is_lower = experiment.tokenizer.case == Case::Lower && experiment.finetune.model.is_none();
    let of_task = data.task.map(|_| "data.task");
    let of_case = of_task.or(is_lower.then_some("tokenizer.case = \"lower\""));
    for ((first, rate), second) in [
        (setting!(data.noise_lowercase), of_case),
        (setting!(data.noise_uppercase), of_case),
        (setting!(data.noise_typos), of_task),
    ] {
        if let (true, Some(second)) = (rate > 0.0, second) {
            return Err(ConfigError::conflict(first, second));
        }
    }
    Ok(())
}

fn validate_update(training: &TrainingSettings) -> Result<(), ConfigError> {
    within(setting!(training.updates), MAX_UPDATES)?;
    within(setting!(training.accumulate), MAX_BATCHES)?;
    within(setting!(training.devices), MAX_DEVICES)?;
    within(setting!(training.ranks), MAX_RANKS)?;
    require(
        setting!(training.devices),
        training.devices == 1 || training.ranks == 1,
        "1 if `training.ranks` is not: start one process for each device",
    )?;
    // The devices of a process share one generator of dropout, which every layer seeds.
    let is_kept = training.checkpointing == Checkpointing::None;
    require(
        ("training.checkpointing", "`layers`"),
        is_kept || training.devices == 1,
        "`none` if `training.devices` is not 1, or start one process for each device",
    )
}

fn validate_training(training: &TrainingSettings) -> Result<(), ConfigError> {
    validate_update(training)?;
    within(setting!(training.window), MAX_WINDOW)?;
    within(setting!(training.warmup_steps), MAX_UPDATES)?;
    positive(setting!(training.learning_rate_factor))?;
    positive(setting!(training.peak_learning_rate))?;
    if training.schedule == ScheduleKind::InverseSqrt && training.peak_learning_rate.is_none() {
        return Err(ConfigError::MissingPeak);
    }
    if training.precision.matmul().is_none() {
        return Err(ConfigError::UnsupportedPrecision { precision: "f16" });
    }
    fraction(setting!(training.label_smoothing))?;
    // Adam computes in single precision, where values near 0 or 1 are rounded to them.
    let single = |(key, value): (_, f64)| (key, f64::from(value as f32));
    fraction(single(setting!(training.adam_beta1)))?;
    fraction(single(setting!(training.adam_beta2)))?;
    positive(single(setting!(training.adam_epsilon)))?;
    let is_decay = training.weight_decay.is_finite() && training.weight_decay >= 0.0;
    let allowed = "at least 0, for example 0.01";
    require(setting!(training.weight_decay), is_decay, allowed)?;
    fraction(setting!(training.ema_decay))?;
    positive(setting!(training.clip_norm))?;
    within(setting!(training.validation_interval), MAX_UPDATES)?;
    within(setting!(training.average_last), MAX_CHECKPOINTS)?;
    at_most(setting!(training.average_best), MAX_CHECKPOINTS)?;
    at_most(setting!(training.keep_last), MAX_CHECKPOINTS)?;
    at_most(setting!(training.keep_best), MAX_CHECKPOINTS)?;
    within(
        ("training.patience", training.patience.unwrap_or(1)),
        MAX_UPDATES,
    )?;
    let is_allowed = training.seed <= MAX_SEED;
    require(setting!(training.seed), is_allowed, "at most 2^63 - 1")
}

fn validate_validation(
    validation: &ValidationSettings,
    data: &DataSettings,
) -> Result<(), ConfigError> {
    within(setting!(validation.max_sentences), MAX_PAIRS)?;
    let valid = data.corpora.iter().map(CorpusSettings::valid);
    let valid = valid.collect::<Result<Vec<_>, _>>()?;
    require(
        setting!(validation.max_sentences),
        validation.max_sentences >= valid.iter().flatten().count(),
        "at least 1 for each of `data.corpora` with validation pairs",
    )?;
    at_most(setting!(validation.n_samples), MAX_SAMPLES)?;
    within(setting!(validation.command_time_limit), MAX_SECONDS)?;
    let max_beam_size = Search::MOST_HYPOTHESES as u64;
    within(setting!(validation.interval_beam_size), max_beam_size)?;
    within(setting!(validation.beam_size), max_beam_size)?;
    let max_len = LengthLimit::MOST_TOKENS as u64;
    at_most(setting!(validation.max_extra_len), max_len)?;
    let alpha = match validation.length_penalty {
        LengthPenalty::None => 0.0,
        LengthPenalty::Gnmt { alpha } | LengthPenalty::Power { alpha } => alpha,
    };
    let is_penalty = alpha.is_finite() && alpha >= 0.0;
    let allowed = "at least 0, for example 0.6";
    require(("validation.length_penalty", alpha), is_penalty, allowed)
}

fn validate_data(data: &DataSettings) -> Result<(), ConfigError> {
    data.source()?;
    let temperature = data.sampling_temperature;
    require(
        setting!(data.sampling_temperature),
        (1.0..=MAX_TEMPERATURE).contains(&temperature),
        "1 to 1,000,000, for example 5",
    )?;
    require(
        setting!(data.sampling_temperature),
        temperature == 1.0 || data.corpora.len() > 1,
        "1, or at least two `data.corpora` to mix",
    )?;
    within(setting!(data.max_line_bytes), MAX_LINE_BYTES)?;
    within(setting!(data.max_len), LengthLimit::MOST_TOKENS as u64)?;
    within(setting!(data.tokenizer_sample), MAX_TOKENIZER_PAIRS)?;
    within(setting!(data.valid_pairs), MAX_PAIRS)?;
    within(setting!(data.task_pairs), MAX_PAIRS)?;
    let ratio = data.max_ratio.unwrap_or(1.0);
    let is_ratio = ratio.is_finite() && ratio >= 1.0;
    let allowed = "at least 1, for example 3";
    require(("data.max_ratio", ratio), is_ratio, allowed)
}

/// Checks the model with the maximum sizes of the vocabularies. Their actual sizes follow from the text.
fn validate_model(experiment: &Experiment) -> Result<(), ConfigError> {
    let tokenizer = &experiment.tokenizer;
    let src = tokenizer.vocab_size;
    let tgt = match tokenizer.vocabulary {
        Vocabulary::Joint => src,
        Vocabulary::Separate => tokenizer.tgt_vocab_size.unwrap_or(src),
    };
    let config = experiment.model.config(src, tgt, tokenizer.vocabulary)?;
    config.validate().map_err(ConfigError::InvalidModel)?;
    check_sequences(&config, experiment.data.max_len)
}

/// Checks `[tokenizer]`. With `is_finetuning`, the tokenizers are those of another model and `kind` is ignored.
fn validate_tokenizer(
    tokenizer: &TokenizerSettings,
    is_finetuning: bool,
) -> Result<(), ConfigError> {
    if tokenizer.vocabulary == Vocabulary::Joint {
        let target_keys = [
            ("tgt_kind", tokenizer.tgt_kind.is_some()),
            ("tgt_vocab_size", tokenizer.tgt_vocab_size.is_some()),
            ("tgt_case", tokenizer.tgt_case.is_some()),
        ];
        if let Some((key, _)) = target_keys.into_iter().find(|(_, given)| *given) {
            return Err(ConfigError::TargetKeyWithJointVocabulary { key });
        }
    }
    let sizes = [
        ("tokenizer.vocab_size", tokenizer.vocab_size),
        (
            "tokenizer.tgt_vocab_size",
            tokenizer.tgt_vocab_size.unwrap_or(tokenizer.vocab_size),
        ),
    ];
    for (key, size) in sizes {
        let allowed = "more than the 4 special tokens, for example 8000";
        require((key, size), size > N_SPECIAL, allowed)?;
        at_most((key, size), MAX_VOCAB_SIZE)?;
    }
    let symbols = TokenizerConfig {
        user_symbols: tokenizer.user_symbols.clone(),
        ..TokenizerConfig::default()
    };
    symbols
        .check_user_symbols()
        .map_err(ConfigError::UserSymbol)?;
    fraction(setting!(tokenizer.dropout))?;
    if is_finetuning {
        return Ok(());
    }
    let kinds = [
        ("kind", tokenizer.kind),
        ("tgt_kind", tokenizer.tgt_kind.unwrap_or(tokenizer.kind)),
    ];
    for (key, kind) in kinds {
        if tokenizer.dropout > 0.0 && kind != TokenizerKind::Bpe {
            return Err(ConfigError::DropoutWithoutMerges { key, kind });
        }
    }
    for (key, kind) in kinds {
        if tokenizer.byte_fallback && matches!(kind, TokenizerKind::Word | TokenizerKind::Char) {
            return Err(ConfigError::BytesWithoutPieces { key, kind });
        }
    }
    Ok(())
}

/// Refuses the settings that the model that a run starts from determines.
fn validate_finetuning(experiment: &Experiment) -> Result<(), ConfigError> {
    const FREE: [&str; 3] = ["dropout", "attention_dropout", "activation_dropout"];
    let shape = experiment.model.overrides.keys();
    let shape = shape.filter(|key| !FREE.contains(&key.as_str()));
    let embeddings = &experiment.embeddings;
    let vectors = [
        ("embeddings.src_word_vectors", &embeddings.src_word_vectors),
        ("embeddings.tgt_word_vectors", &embeddings.tgt_word_vectors),
    ];
    let vectors = vectors.into_iter().filter(|(_, path)| path.is_some());
    let mut fixed = shape
        .map(|key| format!("model.{key}"))
        .chain(vectors.map(|(key, _)| key.to_owned()));
    let first = fixed.next();
    first.map_or(Ok(()), |key| Err(ConfigError::FixedByModel { key }))
}

/// Refuses settings in `[tokenizer]`, other than `dropout`, for a run that starts from another
/// model. To be called when a run starts; a resumed run has the settings that it started with.
pub(crate) fn check_tokenizer(experiment: &Experiment) -> Result<(), ConfigError> {
    if experiment.finetune.model.is_none() {
        return Ok(());
    }
    let table = |experiment: &Experiment| Table::try_from(&experiment.tokenizer);
    let settings = table(experiment).map_err(ConfigError::Write)?;
    let defaults = table(&experiment.defaults()).map_err(ConfigError::Write)?;
    let mut changed = settings.iter().filter(|(key, value)| {
        key.as_str() != "dropout" && defaults.get(key.as_str()) != Some(value)
    });
    changed.next().map_or(Ok(()), |(key, _)| {
        let key = format!("tokenizer.{key}");
        Err(ConfigError::FixedByModel { key })
    })
}
