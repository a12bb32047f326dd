//! Tests of the checks of settings.

use transformer_core::text::Case;

use crate::config::{
    Checkpointing, ComputePrecision, ConfigError, CorpusSettings, Experiment, ScheduleKind,
};
use crate::tasks::Task;

/// Makes the experiment of a task invalid, and returns the error message.
fn message(change: impl FnOnce(&mut Experiment)) -> String {
    let mut experiment = Experiment::for_task(Task::Copy);
    change(&mut experiment);
    experiment
        .validate()
        .expect_err("the setting is invalid")
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
    let expected = "`model.max_positions` (7) is too small for a sentence of `data.max_len` (7) tokens \
                    and EOS; choose at least 8, or lower `data.max_len`";
    assert_eq!(message, Err(expected.to_owned()));
    experiment.data.max_len = 6;
    assert_eq!(experiment.validate(), Ok(()));
}

#[test]
fn the_settings_of_every_task_are_valid() {
    assert_eq!(
        Task::ALL.map(|task| Experiment::for_task(task).validate()),
        [const { Ok(()) }; 3]
    );
}

#[test]
fn the_default_experiment_lacks_only_data() {
    assert_eq!(Experiment::default().validate(), Err(ConfigError::NoData));
    let mut experiment = Experiment::default();
    experiment.data.tsv = Some("pairs.tsv".into());
    assert_eq!(experiment.validate(), Ok(()));
}

#[test]
fn counts_that_no_run_can_have_are_refused() {
    type Change = fn(&mut Experiment);
    const HUGE: usize = 1_000_000_000_000_000_000;
    let all: [(&str, Change); 15] = [
        ("training.keep_best", |it| it.training.keep_best = HUGE),
        ("training.average_best", |it| {
            it.training.average_best = HUGE;
        }),
        ("training.average_last", |it| {
            it.training.average_last = HUGE;
        }),
        ("training.window", |it| it.training.window = HUGE),
        ("training.updates", |it| it.training.updates = HUGE as u64),
        ("training.warmup_steps", |it| {
            it.training.warmup_steps = HUGE as u64;
        }),
        ("training.validation_interval", |it| {
            it.training.validation_interval = HUGE as u64;
        }),
        ("training.patience", |it| {
            it.training.patience = Some(HUGE as u64);
        }),
        ("training.accumulate", |it| {
            it.training.accumulate = HUGE as u64;
        }),
        ("training.devices", |it| it.training.devices = HUGE as u64),
        ("training.ranks", |it| it.training.ranks = HUGE as u64),
        ("validation.max_sentences", |it| {
            it.validation.max_sentences = HUGE;
        }),
        ("validation.n_samples", |it| it.validation.n_samples = HUGE),
        ("data.tokenizer_sample", |it| {
            it.data.tokenizer_sample = HUGE;
        }),
        ("data.valid_pairs", |it| it.data.valid_pairs = HUGE),
    ];
    for (key, change) in all {
        let message = message(change);
        let expected = format!("`{key}` is {HUGE}; choose at most ");
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[test]
fn zero_updates_are_refused() {
    let message = message(|experiment| experiment.training.updates = 0);
    assert_eq!(message, "`training.updates` is 0; choose at least 1");
}

#[test]
fn values_that_single_precision_rounds_to_useless_ones_are_refused() {
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
        "`training.tokens_per_batch` (64) is too small for a sentence of `data.max_len` (64) \
         tokens and EOS; choose at least 65, or lower `data.max_len`"
    );
}

#[test]
fn a_batch_of_one_longest_sentence_is_allowed() {
    let mut experiment = Experiment::for_task(Task::Copy);
    experiment.training.tokens_per_batch = 65;
    assert_eq!(experiment.validate(), Ok(()));
}

#[test]
fn a_ratio_below_1_is_refused() {
    let message = message(|experiment| experiment.data.max_ratio = Some(0.5));
    assert_eq!(
        message,
        "`data.max_ratio` is 0.5; choose at least 1, for example 3"
    );
}

#[test]
fn a_label_smoothing_of_1_is_refused() {
    let message = message(|experiment| experiment.training.label_smoothing = 1.0);
    assert_eq!(
        message,
        "`training.label_smoothing` is 1; choose at least 0 and less than 1"
    );
}

#[test]
fn nan_is_refused() {
    let message = message(|experiment| experiment.training.learning_rate_factor = f64::NAN);
    assert_eq!(
        message,
        "`training.learning_rate_factor` is NaN; choose a number greater than 0"
    );
}

#[test]
fn a_clip_norm_of_0_is_refused() {
    let message = message(|experiment| experiment.training.clip_norm = Some(0.0));
    assert_eq!(
        message,
        "`training.clip_norm` is 0; choose a number greater than 0"
    );
}

#[test]
fn the_inverse_square_root_schedule_needs_a_peak() {
    let message = message(|experiment| experiment.training.schedule = ScheduleKind::InverseSqrt);
    assert_eq!(
        message,
        "`training.schedule` is `inverse-sqrt` without a peak; set `training.peak_learning_rate`, for example \
         0.0005"
    );
}

#[test]
fn half_precision_is_refused_with_the_reason() {
    let message = message(|experiment| {
        experiment.training.precision = ComputePrecision::F16;
    });
    assert!(
        message.starts_with("`training.precision` is `f16`; set it to `bf16` or `f32`: "),
        "{message}"
    );
}

#[test]
fn layers_are_not_computed_again_on_several_devices_of_one_process() {
    let message = message(|experiment| {
        experiment.training.checkpointing = Checkpointing::Layers;
        experiment.training.devices = 2;
    });
    assert_eq!(
        message,
        "`training.checkpointing` is `layers`; choose `none` if `training.devices` is not 1, or start one process \
         for each device"
    );
}

#[test]
fn target_keys_need_separate_vocabularies() {
    let message = message(|experiment| experiment.tokenizer.tgt_vocab_size = Some(40));
    assert_eq!(
        message,
        "`tokenizer.tgt_vocab_size` needs `vocabulary = \"separate\"`; set that, or remove the key"
    );
}

#[test]
fn bpe_dropout_needs_bpe() {
    let message = message(|experiment| experiment.tokenizer.dropout = 0.1);
    assert_eq!(
        message,
        "`tokenizer.dropout` needs the merges of BPE, but `kind` is `word`; choose `bpe`, or remove `dropout`"
    );
}

#[test]
fn vocabularies_with_only_special_tokens_are_refused() {
    let message = message(|experiment| experiment.tokenizer.vocab_size = 4);
    assert_eq!(
        message,
        "`tokenizer.vocab_size` is 4; choose more than the 4 special tokens, for example 8000"
    );
}

#[test]
fn vocabulary_sizes_cannot_be_set_in_the_model() {
    let message = message(|experiment| {
        experiment
            .model
            .overrides
            .insert("src_vocab_size".to_owned(), 5.into());
    });
    assert_eq!(
        message,
        "`model.src_vocab_size` cannot be set: it follows from the tokenizers; remove it, and set \
         `tokenizer.vocab_size`"
    );
}

#[test]
fn seeds_that_toml_cannot_hold_are_refused() {
    let message = message(|experiment| experiment.training.seed = 1 << 63);
    assert!(message.starts_with("`training.seed` is 9223372036854775808; choose at most"));
}

#[test]
fn a_weight_of_a_corpus_that_overflows_sums_is_refused() {
    let message = message(|experiment| {
        experiment.data.task = None;
        experiment.data.corpora = vec![CorpusSettings {
            tsv: Some("c".into()),
            weight: 1e300,
            ..CorpusSettings::default()
        }];
    });
    assert!(
        message.starts_with("in corpus 1 of `data.corpora`: `weight` is 1"),
        "{message}"
    );
    assert!(message.ends_with("; choose at most a million"), "{message}");
}

#[test]
fn an_empty_path_is_refused_by_name() {
    let expected = "`data.store_folder` is empty; choose the path of a file or folder";
    assert_eq!(
        message(|it| it.data.store_folder = Some("".into())),
        expected
    );
    let expected = "`finetune.model` is empty; choose the path of a file or folder";
    assert_eq!(message(|it| it.finetune.model = Some("".into())), expected);
    let expected = "in corpus 1 of `data.corpora`: `valid_tsv` is empty; choose the path of a file";
    let corpus = CorpusSettings {
        valid_tsv: Some("".into()),
        ..CorpusSettings::default()
    };
    assert_eq!(message(|it| it.data.corpora = vec![corpus]), expected);
}

#[test]
fn noise_without_effect_is_refused() {
    let expected = "`data.noise_typos` and `data.task` exclude each other; remove one of them";
    assert_eq!(message(|it| it.data.noise_typos = 0.1), expected);
    let message = message(|experiment| {
        experiment.data.task = None;
        experiment.data.tsv = Some("c".into());
        experiment.data.noise_uppercase = 0.1;
        experiment.tokenizer.case = Case::Lower;
    });
    let expected = "`data.noise_uppercase` and `tokenizer.case = \"lower\"` exclude each other; remove one of \
                    them";
    assert_eq!(message, expected);
}

#[test]
fn a_sampling_temperature_without_corpora_to_mix_is_refused() {
    let expected =
        "`data.sampling_temperature` is 5; choose 1, or at least two `data.corpora` to mix";
    assert_eq!(message(|it| it.data.sampling_temperature = 5.0), expected);
}

#[test]
fn a_symbol_that_cannot_be_a_token_is_refused() {
    let expected = "in `tokenizer.user_symbols`: \"</s>\" cannot be a user-defined symbol: it spells a \
                    special token or a byte; choose another one, for example <2de>";
    let symbols = ["<2de>", "</s>"].map(str::to_owned).to_vec();
    assert_eq!(message(|it| it.tokenizer.user_symbols = symbols), expected);
}

#[test]
fn a_sampling_temperature_below_1_is_refused() {
    let expected = "`data.sampling_temperature` is 0.5; choose 1 to 1,000,000, for example 5";
    assert_eq!(message(|it| it.data.sampling_temperature = 0.5), expected);
    let message = message(|it| it.data.sampling_temperature = f64::NAN);
    assert!(message.contains("is NaN; choose 1 to"), "{message}");
}

#[test]
fn every_corpus_that_is_validated_needs_a_translated_sentence() {
    let message = message(|experiment| {
        experiment.data.task = None;
        let corpus = CorpusSettings {
            tsv: Some("c".into()),
            valid_tsv: Some("v".into()),
            ..CorpusSettings::default()
        };
        experiment.data.corpora = vec![corpus.clone(), corpus];
        experiment.validation.max_sentences = 1;
    });
    let expected = "`validation.max_sentences` is 1; choose at least 1 for each of `data.corpora` with \
                    validation pairs";
    assert_eq!(message, expected);
}
