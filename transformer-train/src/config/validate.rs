//! Whether the settings of an experiment have a meaning.

use std::fmt::Display;

use transformer_core::text::{N_SPECIAL, TokenizerKind};
use transformer_infer::search::{LengthLimit, LengthPenalty, Search};

use crate::config::{
    ComputePrecision, ConfigError, DataSettings, Experiment, TokenizerSettings, TrainingSettings,
    Vocabulary, check_positions, finetune,
};
use crate::optim::ScheduleKind;

/// The largest integer of TOML.
const MAX_SEED: u64 = i64::MAX as u64;

const FRACTION: &str = "at least 0 and less than 1";

/// The largest numbers that are allowed: beyond what anybody waits for, and small enough to be counted with.
const MOST_UPDATES: u64 = 1_000_000_000;
const MOST_BATCHES: u64 = 100_000;
const MOST_PAIRS: u64 = 100_000_000;
const MOST_CELLS: u64 = 1_000_000_000;
const MOST_WORDS: u64 = 1 << 24;

pub(super) fn validate(experiment: &Experiment) -> Result<(), ConfigError> {
    let Experiment {
        data,
        tokenizer,
        model,
        finetune: _,
        embeddings: _,
        training,
        validation,
    } = experiment;
    validate_data(data)?;
    validate_tokenizer(tokenizer, experiment.finetune.model.is_some())?;
    for key in ["src_vocab_size", "tgt_vocab_size"] {
        if model.overrides.contains_key(key) {
            return Err(ConfigError::VocabularySizeInModel { key });
        }
    }

    match experiment.finetune.model {
        Some(_) => finetune::validate(experiment)?,
        None => validate_model(experiment)?,
    }

    let (tokens_per_batch, max_len) = (training.tokens_per_batch, data.max_len);
    within(
        "training.tokens_per_batch",
        tokens_per_batch as u64,
        MOST_CELLS,
    )?;
    if tokens_per_batch <= max_len {
        return Err(ConfigError::BatchTooSmall {
            tokens_per_batch,
            max_len,
        });
    }
    validate_training(training)?;

    at_least_one("validation.max_sentences", validation.max_sentences as u64)?;
    let interval_beam_size = validation.interval_beam_size as u64;
    let most = Search::MOST_HYPOTHESES as u64;
    within("validation.interval_beam_size", interval_beam_size, most)?;
    within("validation.beam_size", validation.beam_size as u64, most)?;
    let max_extra_len = validation.max_extra_len as u64;
    let most = LengthLimit::MOST_TOKENS as u64;
    at_most("validation.max_extra_len", max_extra_len, most)?;
    let alpha = match validation.length_penalty {
        LengthPenalty::None => 0.0,
        LengthPenalty::Gnmt { alpha } | LengthPenalty::Power { alpha } => alpha,
    };
    let allowed = "at least 0, for example 0.6";
    require(
        "validation.length_penalty",
        alpha,
        alpha.is_finite() && alpha >= 0.0,
        allowed,
    )
}

fn validate_training(training: &TrainingSettings) -> Result<(), ConfigError> {
    within("training.updates", training.updates, MOST_UPDATES)?;
    within("training.accumulate", training.accumulate, MOST_BATCHES)?;
    within("training.devices", training.devices, MOST_BATCHES)?;
    at_least_one("training.window", training.window as u64)?;
    at_least_one("training.warmup_steps", training.warmup_steps)?;
    positive(
        "training.learning_rate_factor",
        training.learning_rate_factor,
    )?;
    training
        .peak_learning_rate
        .map_or(Ok(()), |rate| positive("training.peak_learning_rate", rate))?;
    if training.schedule == ScheduleKind::InverseSqrt && training.peak_learning_rate.is_none() {
        return Err(ConfigError::NoPeak);
    }
    let refused = match training.precision {
        ComputePrecision::F32 => None,
        ComputePrecision::Bf16 => Some("bf16"),
        ComputePrecision::F16 => Some("f16"),
    };
    refused.map_or(Ok(()), |precision| {
        Err(ConfigError::Precision { precision })
    })?;
    fraction("training.label_smoothing", training.label_smoothing)?;
    // Adam computes in single precision.
    let single = |number: f64| f64::from(number as f32);
    fraction("training.adam_beta1", single(training.adam_beta1))?;
    fraction("training.adam_beta2", single(training.adam_beta2))?;
    positive("training.adam_epsilon", single(training.adam_epsilon))?;
    let weight_decay = training.weight_decay;
    let is_decay = weight_decay.is_finite() && weight_decay >= 0.0;
    let allowed = "at least 0, for example 0.01";
    require("training.weight_decay", weight_decay, is_decay, allowed)?;
    training
        .ema_decay
        .map_or(Ok(()), |decay| fraction("training.ema_decay", decay))?;
    training
        .clip_norm
        .map_or(Ok(()), |norm| positive("training.clip_norm", norm))?;
    at_least_one("training.validation_interval", training.validation_interval)?;
    at_least_one("training.average_last", training.average_last as u64)?;
    training.patience.map_or(Ok(()), |patience| {
        at_least_one("training.patience", patience)
    })?;
    let seed = training.seed;
    require("training.seed", seed, seed <= MAX_SEED, "at most 2^63 - 1")
}

fn validate_data(data: &DataSettings) -> Result<(), ConfigError> {
    data.source()?;
    within(
        "data.max_len",
        data.max_len as u64,
        LengthLimit::MOST_TOKENS as u64,
    )?;
    at_least_one("data.tokenizer_sample", data.tokenizer_sample as u64)?;
    within("data.valid_pairs", data.valid_pairs as u64, MOST_PAIRS)?;
    within("data.task_pairs", data.task_pairs as u64, MOST_PAIRS)?;
    let allowed = "at least 1, for example 3";
    data.max_ratio.map_or(Ok(()), |ratio| {
        let holds = ratio.is_finite() && ratio >= 1.0;
        require("data.max_ratio", ratio, holds, allowed)
    })
}

/// Builds the model's config for vocabularies as large as they may become: their real sizes come from the
/// text, but nothing else does.
fn validate_model(experiment: &Experiment) -> Result<(), ConfigError> {
    let tokenizer = &experiment.tokenizer;
    let src = tokenizer.vocab_size;
    let tgt = match tokenizer.vocabulary {
        Vocabulary::Joint => src,
        Vocabulary::Separate => tokenizer.tgt_vocab_size.unwrap_or(src),
    };
    let config = experiment.model.config(src, tgt, tokenizer.vocabulary)?;
    config.validate().map_err(ConfigError::Shape)?;
    check_positions(&config, experiment.data.max_len)
}

/// Checks the settings; a model that the run begins with has tokenizers of its own.
fn validate_tokenizer(tokenizer: &TokenizerSettings, is_known: bool) -> Result<(), ConfigError> {
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
        require(key, size, size > N_SPECIAL, allowed)?;
        at_most(key, size as u64, MOST_WORDS)?;
    }
    fraction("tokenizer.dropout", tokenizer.dropout)?;
    let kinds = [
        ("kind", tokenizer.kind),
        ("tgt_kind", tokenizer.tgt_kind.unwrap_or(tokenizer.kind)),
    ];
    let without_merges = kinds
        .into_iter()
        .find(|(_, kind)| *kind != TokenizerKind::Bpe);
    match without_merges {
        Some((key, kind)) if tokenizer.dropout > 0.0 && !is_known => {
            Err(ConfigError::DropoutWithoutMerges { key, kind })
        }
        _ => Ok(()),
    }
}

fn require(
    key: &'static str,
    value: impl Display,
    holds: bool,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    match holds {
        true => Ok(()),
        false => Err(ConfigError::OutOfRange {
            key,
            value: value.to_string(),
            allowed,
        }),
    }
}

/// Checks that a number is from 1 to the most that there may be.
fn within(key: &'static str, value: u64, most: u64) -> Result<(), ConfigError> {
    at_least_one(key, value)?;
    at_most(key, value, most)
}

fn at_most(key: &'static str, value: u64, most: u64) -> Result<(), ConfigError> {
    match value <= most {
        true => Ok(()),
        false => Err(ConfigError::TooLarge { key, value, most }),
    }
}

fn at_least_one(key: &'static str, value: u64) -> Result<(), ConfigError> {
    require(key, value, value > 0, "at least 1")
}

fn positive(key: &'static str, value: f64) -> Result<(), ConfigError> {
    require(
        key,
        value,
        value.is_finite() && value > 0.0,
        "a number greater than 0",
    )
}

fn fraction(key: &'static str, value: f64) -> Result<(), ConfigError> {
    require(key, value, (0.0..1.0).contains(&value), FRACTION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Task;

    /// Changes the experiment of a task so that it is wrong, and returns what is said about it.
    fn message(change: impl FnOnce(&mut Experiment)) -> String {
        let mut experiment = Experiment::for_task(Task::Copy);
        change(&mut experiment);
        experiment
            .validate()
            .expect_err("the setting is wrong")
            .to_string()
    }

    #[test]
    fn learned_positions_must_reach_the_longest_sentence() {
        let mut experiment = Experiment::for_task(Task::Copy);
        experiment.model.overrides.extend(toml::toml! {
            positions = "learned"
            max_positions = 7
        });
        experiment.data.max_len = 7;
        let message = experiment.validate().map_err(|error| error.to_string());
        let expected = "`model.max_positions` (7) has no place for the end of a sentence of \
                        `data.max_len` (7) tokens; choose at least 8, or lower `data.max_len`";
        assert_eq!(message, Err(expected.to_owned()));
        experiment.data.max_len = 6;
        assert_eq!(experiment.validate(), Ok(()));
    }

    #[test]
    fn the_settings_of_every_task_are_right() {
        assert_eq!(
            Task::ALL.map(|task| Experiment::for_task(task).validate()),
            [const { Ok(()) }; 3]
        );
    }

    #[test]
    fn the_paper_lacks_data_only() {
        assert_eq!(Experiment::default().validate(), Err(ConfigError::NoData));
        let mut experiment = Experiment::default();
        experiment.data.tsv = Some("pairs.tsv".into());
        assert_eq!(experiment.validate(), Ok(()));
    }

    #[test]
    fn no_updates_are_refused() {
        let message = message(|experiment| experiment.training.updates = 0);
        assert_eq!(message, "`training.updates` is 0; choose at least 1");
    }

    #[test]
    fn what_single_precision_makes_useless_for_adam_is_refused() {
        let near_one = message(|experiment| experiment.training.adam_beta2 = 0.999_999_99);
        assert!(
            near_one.starts_with("`training.adam_beta2` is 1;"),
            "{near_one}"
        );
        let tiny = message(|experiment| experiment.training.adam_epsilon = 1e-50);
        assert!(tiny.starts_with("`training.adam_epsilon` is 0;"), "{tiny}");
    }

    #[test]
    fn batches_smaller_than_a_sentence_are_refused() {
        let message = message(|experiment| experiment.training.tokens_per_batch = 64);
        assert_eq!(
            message,
            "`training.tokens_per_batch` (64) has no room for a sentence of `data.max_len` (64) \
             tokens and its end; choose at least 65, or lower `data.max_len`"
        );
    }

    #[test]
    fn a_batch_of_one_longest_sentence_is_allowed() {
        let mut experiment = Experiment::for_task(Task::Copy);
        experiment.training.tokens_per_batch = 65;
        assert_eq!(experiment.validate(), Ok(()));
    }

    #[test]
    fn a_ratio_that_no_pair_can_have_is_refused() {
        let message = message(|experiment| experiment.data.max_ratio = Some(0.5));
        assert_eq!(
            message,
            "`data.max_ratio` is 0.5; choose at least 1, for example 3"
        );
    }

    #[test]
    fn smoothing_everything_is_refused() {
        let message = message(|experiment| experiment.training.label_smoothing = 1.0);
        assert_eq!(
            message,
            "`training.label_smoothing` is 1; choose at least 0 and less than 1"
        );
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let message = message(|experiment| experiment.training.learning_rate_factor = f64::NAN);
        assert_eq!(
            message,
            "`training.learning_rate_factor` is NaN; choose a number greater than 0"
        );
    }

    #[test]
    fn clipping_to_nothing_is_refused() {
        let message = message(|experiment| experiment.training.clip_norm = Some(0.0));
        assert_eq!(
            message,
            "`training.clip_norm` is 0; choose a number greater than 0"
        );
    }

    #[test]
    fn an_inverse_square_root_needs_its_peak() {
        let message =
            message(|experiment| experiment.training.schedule = ScheduleKind::InverseSqrt);
        assert_eq!(
            message,
            "`training.schedule` is `inverse-sqrt` without a peak; set `training.peak_learning_rate`, for example \
             0.0005"
        );
    }

    #[test]
    fn sixteen_bits_are_refused_by_name() {
        let message = message(|experiment| {
            experiment.training.precision = ComputePrecision::Bf16;
        });
        assert!(
            message.starts_with("`training.precision` is `bf16`; set it to `f32`: "),
            "{message}"
        );
    }

    #[test]
    fn target_keys_need_separate_vocabularies() {
        let message = message(|experiment| experiment.tokenizer.tgt_vocab_size = Some(40));
        assert_eq!(
            message,
            "`tokenizer.tgt_vocab_size` needs `vocabulary = \"separate\"`; change that, or remove \
             the key"
        );
    }

    #[test]
    fn dropping_merges_needs_merges() {
        let message = message(|experiment| experiment.tokenizer.dropout = 0.1);
        assert_eq!(
            message,
            "`tokenizer.dropout` leaves out merges, and `kind` is `word`, which has none; choose `bpe`, or \
             remove `dropout`"
        );
    }

    #[test]
    fn vocabularies_of_special_tokens_only_are_refused() {
        let message = message(|experiment| experiment.tokenizer.vocab_size = 4);
        assert_eq!(
            message,
            "`tokenizer.vocab_size` is 4; choose more than the 4 special tokens, for example 8000"
        );
    }

    #[test]
    fn vocabulary_sizes_do_not_belong_to_the_model() {
        let message = message(|experiment| {
            experiment
                .model
                .overrides
                .insert("src_vocab_size".to_owned(), 5.into());
        });
        assert_eq!(
            message,
            "`model.src_vocab_size` cannot be set: it comes from the text; remove it, and set \
             `tokenizer.vocab_size`"
        );
    }

    #[test]
    fn seeds_that_toml_cannot_hold_are_refused() {
        let message = message(|experiment| experiment.training.seed = 1 << 63);
        assert!(message.starts_with("`training.seed` is 9223372036854775808; choose at most"));
    }
}
