//! What will not train, told before an hour is spent on it.

use std::path::PathBuf;

use transformer_core::TransformerConfig;
use transformer_core::text::TokenizerKind;

use crate::config::{Experiment, TokenizerSettings, Vocabulary};
use crate::corpus::CorpusSummary;
use crate::tasks::Task;

/// Fewest tokens of text for each entry of a vocabulary; Multi30k has 130 for each of 6000.
const MIN_TOKENS_AN_ENTRY: u64 = 30;

/// Fewest sentences of an update; gradients of fewer are mostly noise.
const MIN_SENTENCES: u64 = 8;

/// Most parameters for each target token; the models for Multi30k and IWSLT have 6 and 10.
const MAX_PARAMETERS_A_TOKEN: u64 = 50;

/// Largest share of unknown tokens.
const MAX_UNKNOWN: f64 = 0.01;

/// Largest share of pairs that are left out.
const MAX_LEFT_OUT: f64 = 0.1;

/// Holds what is known about a run before its first update.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) config: &'a TransformerConfig,
    pub(crate) train: &'a CorpusSummary,
    pub(crate) valid: &'a CorpusSummary,
    pub(crate) updates_per_pass: u64,
}

/// Lists what makes a run unlikely to learn, each with its remedy.
pub(crate) fn warnings(facts: &Facts<'_>) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(schedule(facts));
    all.extend(length(facts));
    all.extend(vocabulary(facts));
    all.extend(size(facts));
    all.extend(batch(facts));
    all.extend(text(facts));
    all
}

fn schedule(facts: &Facts<'_>) -> Option<String> {
    let training = &facts.experiment.training;
    let (rising, updates) = (training.warmup_steps, training.updates);
    let remedy = (updates / 10).max(1);
    if rising >= updates {
        return Some(format!(
            "the learning rate rises for {rising} updates, and the run ends after {updates}; lower \
             `training.warmup_steps`, for example to {remedy}"
        ));
    }
    (2 * rising > updates).then(|| {
        format!(
            "the learning rate rises for {rising} of {updates} updates; lower `training.warmup_steps`, for \
             example to {remedy}"
        )
    })
}

fn length(facts: &Facts<'_>) -> Option<String> {
    let (updates, pass) = (facts.experiment.training.updates, facts.updates_per_pass);
    (updates < pass).then(|| {
        format!(
            "the run ends after {updates} updates, and one pass over the data has {pass}; raise \
             `training.updates`, or `training.tokens_per_batch`"
        )
    })
}

fn vocabulary(facts: &Facts<'_>) -> Option<String> {
    if facts.experiment.finetune.model.is_some() {
        return None; // It is learnt already.
    }
    let Facts { config, train, .. } = facts;
    let (src, tgt) = (config.src_vocab_size as u64, config.tgt_vocab_size as u64);
    let sides = match facts.experiment.tokenizer.vocabulary {
        Vocabulary::Joint => vec![("vocab_size", train.src_tokens + train.tgt_tokens, src)],
        Vocabulary::Separate => vec![
            ("vocab_size", train.src_tokens, src),
            ("tgt_vocab_size", train.tgt_tokens, tgt),
        ],
    };
    let too_large =
        |(_, tokens, entries): &(&str, u64, u64)| tokens / entries < MIN_TOKENS_AN_ENTRY;
    let (key, tokens, entries) = sides.into_iter().find(too_large)?;
    Some(format!(
        "the text has {tokens} tokens for a vocabulary of {entries}, {} for each; lower `tokenizer.{key}`, \
         for example to {}",
        tokens / entries,
        (tokens / (2 * MIN_TOKENS_AN_ENTRY)).max(5),
    ))
}

fn size(facts: &Facts<'_>) -> Option<String> {
    if facts.experiment.finetune.model.is_some() {
        return None;
    }
    let (n_parameters, tokens) = (
        facts.config.parameter_count() as u64,
        facts.train.tgt_tokens,
    );
    let share = n_parameters / tokens.max(1);
    (share > MAX_PARAMETERS_A_TOKEN).then(|| {
        format!(
            "the model has {share} parameters for each target token of the text; choose a smaller `--preset`"
        )
    })
}

fn batch(facts: &Facts<'_>) -> Option<String> {
    let budget = facts.experiment.training.tokens_per_batch as u64;
    let train = facts.train;
    let mean = train.src_tokens.max(train.tgt_tokens) / train.kept.max(1) + 1;
    (budget / mean < MIN_SENTENCES).then(|| {
        format!(
            "an update has room for {} sentences of {mean} tokens; raise `training.tokens_per_batch`, for \
             example to {}",
            budget / mean,
            32 * mean
        )
    })
}

fn text(facts: &Facts<'_>) -> Vec<String> {
    let Facts { train, valid, .. } = facts;
    let mut all = Vec::new();
    let left_out = share(train.read - train.kept, train.read);
    if left_out > MAX_LEFT_OUT {
        all.push(format!(
            "{:.0}% of the pairs are left out, for the reasons above",
            100.0 * left_out
        ));
    }
    let is_copy = facts.experiment.data.task == Some(Task::Copy);
    let copies = share(train.copies, train.read);
    if copies > 0.5 && !is_copy {
        all.push(format!(
            "source and target are the same line in {:.0}% of the pairs; check that the files are two languages",
            100.0 * copies
        ));
    }
    all.extend(validation(facts));
    if valid.kept > train.kept {
        all.push(format!(
            "there are more pairs to validate on ({}) than to train on ({}); check that the files are not swapped",
            valid.kept, train.kept
        ));
    }
    let unknown = [
        ("source", train.src_unknown, train.src_tokens, Side::Src),
        ("target", train.tgt_unknown, train.tgt_tokens, Side::Tgt),
        (
            "validation source",
            valid.src_unknown,
            valid.src_tokens,
            Side::Src,
        ),
        (
            "validation target",
            valid.tgt_unknown,
            valid.tgt_tokens,
            Side::Tgt,
        ),
    ];
    for (what, unknown, tokens, side) in unknown {
        let unknown = share(unknown, tokens);
        if unknown > MAX_UNKNOWN {
            all.push(format!(
                "{:.1}% of the {what} tokens are not in the vocabulary; {}",
                100.0 * unknown,
                for_fewer_unknown(&facts.experiment.tokenizer, side)
            ));
        }
    }
    all
}

/// Compares the files to validate on with those to train on.
fn validation(facts: &Facts<'_>) -> Option<String> {
    let data = &facts.experiment.data;
    let is_same = |files: [&Option<PathBuf>; 2]| files[0].is_some() && files[0] == files[1];
    let are_same = is_same([&data.src, &data.valid_src]) && is_same([&data.tgt, &data.valid_tgt])
        || is_same([&data.tsv, &data.valid_tsv]);
    are_same.then(|| {
        "the run is validated on the text that it learns, which says nothing about other text; choose other \
         files, or none to have pairs held out"
            .to_owned()
    })
}

#[derive(Clone, Copy)]
enum Side {
    Src,
    Tgt,
}

/// Says which setting lets the tokenizer of this side know more.
fn for_fewer_unknown(tokenizer: &TokenizerSettings, side: Side) -> String {
    let (size, kind, is) = match (tokenizer.vocabulary, side) {
        (Vocabulary::Joint, _) | (_, Side::Src) => ("vocab_size", "kind", tokenizer.kind),
        (Vocabulary::Separate, Side::Tgt) => {
            let is = tokenizer.tgt_kind.unwrap_or(tokenizer.kind);
            ("tgt_vocab_size", "tgt_kind", is)
        }
    };
    match is {
        TokenizerKind::Word | TokenizerKind::Char => {
            format!("raise `tokenizer.{size}`, or choose `tokenizer.{kind} = \"bpe\"`")
        }
        _ => format!("raise `tokenizer.{size}`"),
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use transformer_core::Preset;

    use super::*;

    /// A corpus like Multi30k, with the recipe for its size.
    fn check(
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
        warnings(&Facts {
            config: &experiment.model.preset.config(vocabulary, vocabulary),
            experiment: &experiment,
            train: &train,
            valid: &valid,
            updates_per_pass: 110,
        })
    }

    #[test]
    fn a_recipe_on_the_data_it_is_for_is_silent() {
        assert_eq!(check(|_, _, _| {}), Vec::<String>::new());
    }

    #[test]
    fn a_rate_that_never_reaches_its_peak_is_told() {
        let warnings = check(|experiment, _, _| experiment.training.updates = 500);
        assert_eq!(
            warnings,
            [
                "the learning rate rises for 500 updates, and the run ends after 500; lower \
             `training.warmup_steps`, for example to 50"
            ]
        );
    }

    #[test]
    fn a_run_shorter_than_a_pass_is_told() {
        let warnings = check(|experiment, _, _| {
            experiment.training.updates = 109;
            experiment.training.warmup_steps = 10;
        });
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0]
                .starts_with("the run ends after 109 updates, and one pass over the data has 110;")
        );
    }

    #[test]
    fn the_papers_vocabulary_and_model_on_little_text_are_told() {
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

    #[test]
    fn a_batch_of_a_few_sentences_is_told() {
        let warnings = check(|experiment, _, _| experiment.training.tokens_per_batch = 100);
        let expected = "an update has room for 7 sentences of 14 tokens; raise `training.tokens_per_batch`, \
                        for example to 448";
        assert_eq!(warnings, [expected]);
    }

    #[test]
    fn files_of_one_language_are_told() {
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
    fn more_validation_than_training_is_told() {
        let warnings = check(|_, _, valid| valid.kept = 29_001);
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn unknown_tokens_are_told_by_side() {
        let warnings = check(|_, train, valid| {
            train.tgt_unknown = 3999;
            valid.tgt_unknown = 280;
        });
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0]
                .starts_with("2.0% of the validation target tokens are not in the vocabulary")
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
    fn a_corpus_of_which_much_is_left_out_is_told() {
        let warnings = check(|_, train, _| train.read = 40_000);
        assert_eq!(
            warnings,
            ["28% of the pairs are left out, for the reasons above"]
        );
    }
}
