//! Tests of the warnings, with invented corpora.

use transformer_core::config::Positions;
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerError, TokenizerKind};
use transformer_core::{Preset, TransformerConfig};

use super::warnings::{Facts, n_required, warnings};
use crate::config::{Experiment, Vocabulary};
use crate::corpus::CorpusSummary;
use crate::tasks::Task;

/// A corpus like Multi30k, with the recipe for its size.
fn check(
    change: impl FnOnce(&mut Experiment, &mut CorpusSummary, &mut CorpusSummary),
) -> Vec<String> {
    check_model(|_| (), change)
}

/// Like `check`, with a changed model.
fn check_model(
    change_model: impl FnOnce(&mut TransformerConfig),
    change: impl FnOnce(&mut Experiment, &mut CorpusSummary, &mut CorpusSummary),
) -> Vec<String> {
    let mut experiment = Experiment::for_preset(Preset::Tiny);
    let mut train = CorpusSummary {
        read: 29_000,
        kept: 29_000,
        src_tokens: 400_000,
        tgt_tokens: 400_000,
        longest: 50,
        ..CorpusSummary::default()
    };
    let mut valid = CorpusSummary {
        read: 1014,
        kept: 1014,
        src_tokens: 14_000,
        tgt_tokens: 14_000,
        ..CorpusSummary::default()
    };
    change(&mut experiment, &mut train, &mut valid);
    let vocabulary = experiment.tokenizer.vocab_size;
    let mut config = experiment.model.preset.config(vocabulary, vocabulary);
    change_model(&mut config);
    warnings(&Facts {
        config: &config,
        experiment: &experiment,
        train: &train,
        valid: &valid,
        n_valid_seen: 0,
        n_required: [100; 2],
        updates_per_pass: 110,
    })
}

#[test]
fn a_recipe_on_the_data_it_is_for_is_silent() {
    assert_eq!(check(|_, _, _| {}), Vec::<String>::new());
}

#[test]
fn a_rate_that_never_reaches_its_peak_causes_a_warning() {
    let warnings = check(|experiment, _, _| experiment.training.updates = 500);
    assert_eq!(
        warnings,
        [
            "the learning rate rises for 500 updates, and the run ends after 500; lower \
         `training.warmup_steps`, for example to 50 and, so that it rises no higher, \
         `training.learning_rate_factor` to 0.25"
        ]
    );
}

#[test]
fn a_rate_at_which_nothing_is_learnt_causes_a_warning() {
    let warnings = check(|experiment, _, _| experiment.training.learning_rate_factor = 8.0);
    assert_eq!(
        warnings,
        [
            "the learning rate rises to 3.2e-2, at which few models learn; lower `training.learning_rate_factor`"
        ]
    );
}

#[test]
fn a_run_that_saves_nothing_before_its_end_causes_a_warning() {
    let warnings = check(|experiment, _, _| {
        experiment.training.updates = 2000;
        experiment.training.validation_interval = 2000;
    });
    let expected = "nothing is saved before the last of 2000 updates; lower `training.validation_interval`, for \
                    example to 200";
    assert_eq!(warnings, [expected]);
}

#[test]
fn a_run_shorter_than_a_pass_causes_a_warning() {
    let warnings = check(|experiment, _, _| {
        experiment.training.updates = 109;
        experiment.training.validation_interval = 50;
        experiment.training.warmup_steps = 10;
    });
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0]
            .starts_with("the run ends after 109 updates, and one pass over the data has 110;")
    );
}

#[test]
fn many_passes_over_little_text_cause_a_warning_unless_patience_ends_them() {
    let many = |patience| {
        check(|experiment, _, _| {
            experiment.training.updates = 110 * 50_000;
            experiment.training.patience = patience;
        })
    };
    let warnings = many(None);
    assert_eq!(warnings.len(), 1);
    let start = "the run makes 50000 passes over the data, which it will know by heart; lower `training.updates`, for \
                 example to 11000,";
    assert!(warnings[0].starts_with(start), "{warnings:?}");
    assert_eq!(many(Some(5)), Vec::<String>::new());
}

#[test]
fn nobody_is_told_to_lower_and_to_raise_the_vocabulary() {
    let warnings = check(|experiment, train, _| {
        experiment.tokenizer.vocab_size = 37_000;
        train.src_unknown = 20_000;
    });
    let advice: Vec<&String> = warnings
        .iter()
        .filter(|it| it.contains("vocab_size"))
        .collect();
    assert_eq!(advice.len(), 1, "{warnings:?}");
    assert!(
        advice[0].contains("lower `tokenizer.vocab_size`"),
        "{advice:?}"
    );
    let unknown = "train on text that has their characters";
    assert!(
        warnings.iter().any(|it| it.ends_with(unknown)),
        "{warnings:?}"
    );
}

#[test]
fn a_vocabulary_that_the_text_did_not_fill_need_not_be_raised() {
    let few_entries = |config: &mut TransformerConfig| {
        (config.src_vocab_size, config.tgt_vocab_size) = (300, 300);
    };
    let warnings = check_model(few_entries, |_, train, _| train.src_unknown = 20_000);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(!warnings[0].contains("raise"), "{warnings:?}");
}

#[test]
fn the_smallest_preset_is_not_to_be_replaced_by_a_smaller_one() {
    let warnings = check(|_, train, _| (train.src_tokens, train.tgt_tokens) = (200_000, 15_000));
    let size = warnings
        .iter()
        .find(|it| it.contains("parameters for each target token"));
    let size = size.expect("the model is too large for this text");
    assert!(size.ends_with("train on more text, or lower `model.d_model` and `model.d_ff`"));
}

#[test]
fn the_papers_vocabulary_and_model_on_little_text_cause_a_warning() {
    let warnings = check(|experiment, _, _| {
        experiment.tokenizer.vocab_size = 37_000;
        experiment.model.preset = Preset::Base;
    });
    let expected = "the text has 800000 tokens for a vocabulary of 37000, 21 for each; lower \
                    `tokenizer.vocab_size`, for example to 13333";
    assert_eq!(warnings[0], expected);
    assert!(warnings[1].starts_with("the model has 157 parameters for each target token"));
    assert_eq!(warnings.len(), 2);
}

/// Returns the warning about a vocabulary of this size for 5200 tokens of text, of which 100 are required.
fn for_vocabulary(n_entries: usize) -> Option<String> {
    let of_size = |config: &mut TransformerConfig| {
        (config.src_vocab_size, config.tgt_vocab_size) = (n_entries, n_entries);
    };
    let warnings = check_model(of_size, |_, train, _| {
        (train.src_tokens, train.tgt_tokens) = (2600, 2600);
    });
    let mut warnings = warnings.into_iter();
    warnings.find(|it| it.starts_with("the text has 5200 tokens for a vocabulary of "))
}

#[test]
fn the_example_for_a_smaller_vocabulary_has_room_for_every_character() {
    let warning = for_vocabulary(6000).expect("the text is too small");
    let remedy = "; lower `tokenizer.vocab_size`, for example to 200";
    assert!(warning.ends_with(remedy), "{warning}");
}

#[test]
fn a_vocabulary_with_little_more_than_its_characters_is_not_to_be_lowered() {
    let warning = for_vocabulary(250).expect("the text is too small");
    assert!(warning.ends_with("; train on more text"), "{warning}");
}

#[test]
fn the_required_tokens_are_those_of_the_smallest_vocabulary() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let with_size = |vocab_size| {
            let config = TokenizerConfig {
                kind,
                vocab_size,
                byte_fallback: true,
                user_symbols: vec!["<2de>".to_owned(), "€".to_owned()],
                ..TokenizerConfig::default()
            };
            Tokenizer::train(&config, ["a dog and a cat", "two dogs <2de> bark"])
        };
        let tokenizer = with_size(290).expect("it has room for the bytes");
        let error = with_size(7).expect_err("it has no room for the bytes");
        let TokenizerError::VocabTooSmall { smallest, .. } = error else {
            panic!("{kind}: {error}");
        };
        assert_eq!(n_required(&tokenizer), smallest as u64, "{kind}");
        assert!(tokenizer.vocab_size() > smallest, "{kind}");
    }
}

#[test]
fn a_batch_of_a_few_sentences_causes_a_warning() {
    let warnings = check(|experiment, _, _| experiment.training.tokens_per_batch = 100);
    let expected = "an update has room for 7 sentences of 14 tokens; raise `training.tokens_per_batch`, \
                    for example to 448";
    assert_eq!(warnings, [expected]);
}

#[test]
fn all_batches_of_an_update_count() {
    let with_batches = |accumulate| {
        check(|experiment, _, _| {
            experiment.training.tokens_per_batch = 60;
            experiment.training.accumulate = accumulate;
        })
    };
    let expected = "an update has room for 4 sentences of 14 tokens; raise `training.tokens_per_batch`, \
                    for example to 448";
    assert_eq!(with_batches(1), [expected]);
    assert!(with_batches(2).is_empty());
}

#[test]
fn the_example_for_larger_batches_counts_all_of_an_update() {
    let warnings = check(|experiment, _, _| {
        experiment.training.tokens_per_batch = 30;
        experiment.training.accumulate = 2;
    });
    let expected = "an update has room for 4 sentences of 14 tokens; raise `training.tokens_per_batch`, \
                    for example to 224";
    assert_eq!(warnings, [expected]);
}

#[test]
fn files_of_one_language_cause_a_warning() {
    let warnings = check(|_, train, _| train.copies = 20_000);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("source and target are the same line in 69% of the pairs"));
}

#[test]
fn copies_are_what_the_task_copy_is_about() {
    let warnings = check(|experiment, train, _| {
        experiment.data.task = Some(Task::Copy);
        train.copies = 29_000;
    });
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn more_validation_than_training_causes_a_warning() {
    let warnings = check(|_, _, valid| valid.kept = 29_001);
    assert_eq!(warnings.len(), 1);
}

#[test]
fn unknown_tokens_cause_a_warning_for_their_side() {
    let warnings = check(|_, train, valid| {
        train.tgt_unknown = 3999;
        valid.tgt_unknown = 280;
    });
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("2.0% of the validation target tokens are not in the vocabulary")
    );
}

#[test]
fn what_is_advised_for_unknown_tokens_is_not_set_already() {
    let advice = |vocabulary, kind, tgt_kind| {
        let warnings = check(|experiment, train, _| {
            experiment.tokenizer.vocabulary = vocabulary;
            experiment.tokenizer.kind = kind;
            experiment.tokenizer.tgt_kind = tgt_kind;
            train.tgt_unknown = 40_000;
        });
        let advice = warnings.iter().find_map(|warning| warning.split_once("; "));
        advice.map(|(_, advice)| advice.to_owned())
    };
    let (joint, separate) = (Vocabulary::Joint, Vocabulary::Separate);
    let (word, bpe) = (TokenizerKind::Word, TokenizerKind::Bpe);
    let cases = [
        (joint, bpe, None, "raise `tokenizer.vocab_size`"),
        (separate, bpe, None, "raise `tokenizer.tgt_vocab_size`"),
        (
            joint,
            word,
            None,
            "raise `tokenizer.vocab_size`, or choose `tokenizer.kind = \"bpe\"`",
        ),
        (
            separate,
            bpe,
            Some(word),
            "raise `tokenizer.tgt_vocab_size`, or choose `tokenizer.tgt_kind = \"bpe\"`",
        ),
    ];
    for (vocabulary, kind, tgt_kind, expected) in cases {
        assert_eq!(
            advice(vocabulary, kind, tgt_kind).as_deref(),
            Some(expected)
        );
    }
}

#[test]
fn a_corpus_of_which_much_is_left_out_causes_a_warning() {
    let warnings = check(|_, train, _| train.read = 40_000);
    assert_eq!(
        warnings,
        ["28% of the pairs are left out, for the reasons above"]
    );
}

#[test]
fn translations_longer_than_the_positions_of_the_model_cause_a_warning() {
    let learned = |config: &mut TransformerConfig| {
        config.positions = Positions::Learned;
        config.max_positions = 300;
    };
    let with_extra = |extra| {
        check_model(learned, |experiment, _, _| {
            experiment.validation.max_extra_len = extra;
        })
    };
    assert_eq!(
        with_extra(300),
        [
            "translations end after 300 tokens, the positions of the model; lower `validation.max_extra_len` (300), \
         or raise `model.max_positions`"
        ]
    );
    assert!(with_extra(299).is_empty());
}
