//! Warnings before the first update about runs that are unlikely to succeed.

use std::path::PathBuf;

use transformer_core::config::Positions;
use transformer_core::text::special::{byte_of, is_special};
use transformer_core::text::{Tokenizer, TokenizerKind};
use transformer_core::{Preset, TransformerConfig};

use crate::config::{Experiment, Vocabulary};
use crate::corpus::CorpusSummary;
use crate::optim::Schedule;
use crate::tasks::Task;

/// Minimum tokens of text per entry of the vocabulary; Multi30k has 130 for each of 6000.
const MIN_TOKENS_PER_ENTRY: u64 = 30;

/// Maximum passes over the data; the recipe for Multi30k makes 150.
const MAX_PASSES: u64 = 500;

/// Minimum sentences per update; gradients of fewer are mostly noise.
const MIN_SENTENCES: u64 = 8;

/// Maximum parameters per target token; the models for Multi30k and IWSLT have 6 and 10.
const MAX_PARAMETERS_PER_TOKEN: u64 = 50;

const MAX_UNKNOWN: f64 = 0.01;

const MAX_LEFT_OUT: f64 = 0.1;

/// Minimum number of updates of a run that should have a checkpoint before its last update.
const MIN_UPDATES_AT_STAKE: u64 = 100;

/// Maximum learning rate times the root of `d_model`, scaled as in Eq. 3; the presets have at most 0.036.
const MAX_PEAK: f64 = 0.3;

/// Maximum share of validation pairs in the training text; short sentences repeat in any language.
const MAX_SEEN: f64 = 0.05;

#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) config: &'a TransformerConfig,
    pub(crate) train: &'a CorpusSummary,
    pub(crate) valid: &'a CorpusSummary,
    pub(crate) n_valid_seen: usize,
    /// Number of tokens of the source's and of the target's vocabulary that a smaller one needs as well.
    pub(crate) n_required: [u64; 2],
    pub(crate) updates_per_pass: u64,
}

/// Counts the special tokens, symbols, bytes and characters of a vocabulary.
pub(crate) fn n_required(tokenizer: &Tokenizer) -> u64 {
    let symbols = tokenizer.user_symbols();
    let is_required = |id: &u32| {
        let token = tokenizer.token(*id).unwrap_or_default();
        let is_part = token.chars().count() == 1 || byte_of(&token).is_some();
        is_part || is_special(*id) || symbols.contains(id)
    };
    (0..tokenizer.vocab_size() as u32)
        .filter(is_required)
        .count() as u64
}

pub(crate) fn warnings(facts: &Facts<'_>) -> Vec<String> {
    let checks: [fn(&Facts<'_>) -> Option<String>; 9] = [
        schedule, peak, length, passes, interval, vocabulary, size, batch, positions,
    ];
    let found = checks.iter().filter_map(|check| check(facts));
    found.chain(text(facts)).collect()
}

fn schedule(facts: &Facts<'_>) -> Option<String> {
    let training = &facts.experiment.training;
    let (rising, updates) = (training.warmup_steps, training.updates);
    if 2 * rising <= updates {
        return None;
    }
    let ends = match rising >= updates {
        true => format!("for {rising} updates, and the run ends after {updates}"),
        false => format!("for {rising} of {updates} updates"),
    };
    let remedy = (updates / 10).max(1);
    // With Eq. 3, a shorter warm-up has a higher peak.
    let factor = training.learning_rate_factor * (remedy as f64 / rising as f64).sqrt();
    let same_peak = match training.peak_learning_rate {
        Some(_) => String::new(),
        None => format!(
            " and, so that it rises no higher, `training.learning_rate_factor` to {}",
            significant(factor)
        ),
    };
    Some(format!(
        "the learning rate rises {ends}; lower `training.warmup_steps`, for example to {remedy}{same_peak}"
    ))
}

/// Formats a number with two significant digits.
fn significant(number: f64) -> String {
    let before_point = number.log10().floor() as i32;
    let digits = usize::try_from(1 - before_point).unwrap_or(0);
    format!("{number:.digits$}")
}

fn peak(facts: &Facts<'_>) -> Option<String> {
    let training = &facts.experiment.training;
    let schedule = Schedule::new(training, facts.config.d_model);
    let peak = schedule.learning_rate(training.warmup_steps.min(training.updates));
    let key = match training.peak_learning_rate {
        Some(_) => "peak_learning_rate",
        None => "learning_rate_factor",
    };
    (peak * (facts.config.d_model as f64).sqrt() > MAX_PEAK).then(|| {
        format!(
            "the learning rate rises to {peak:.1e}, at which few models learn; lower `training.{key}`"
        )
    })
}

fn interval(facts: &Facts<'_>) -> Option<String> {
    let training = &facts.experiment.training;
    let (updates, interval) = (training.updates, training.validation_interval);
    (interval >= updates && updates >= MIN_UPDATES_AT_STAKE).then(|| {
        format!(
            "nothing is saved before the last of {updates} updates; lower `training.validation_interval`, for example \
             to {}",
            updates / 10
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

/// Warns of a run that sees every sentence very often, without anything that ends it early.
fn passes(facts: &Facts<'_>) -> Option<String> {
    let training = &facts.experiment.training;
    let n_passes = training.updates / facts.updates_per_pass.max(1);
    (n_passes > MAX_PASSES && training.patience.is_none()).then(|| {
        let updates = 100 * facts.updates_per_pass;
        format!(
            "the run makes {n_passes} passes over the data, which it will know by heart; lower `training.updates`, for \
             example to {updates}, or let `training.patience` end it, or train on more text"
        )
    })
}

fn vocabulary(facts: &Facts<'_>) -> Option<String> {
    let (key, tokens, entries, required) = too_large_vocabulary(facts)?;
    // At least half of its tokens have several characters.
    let smaller = (tokens / (2 * MIN_TOKENS_PER_ENTRY)).max(2 * required);
    let remedy = match 2 * smaller < entries {
        true => format!("lower `tokenizer.{key}`, for example to {smaller}"),
        false => "train on more text".to_owned(),
    };
    Some(format!(
        "the text has {tokens} tokens for a vocabulary of {entries}, {} for each; {remedy}",
        tokens / entries
    ))
}

/// Returns the setting of the first vocabulary that is too large to learn from the text, with the numbers of tokens in
/// the text, of entries, and of those that are required.
fn too_large_vocabulary(facts: &Facts<'_>) -> Option<(&'static str, u64, u64, u64)> {
    if facts.experiment.finetune.model.is_some() {
        return None; // The model has learnt its vocabulary already.
    }
    let Facts { config, train, .. } = facts;
    let (src, tgt) = (config.src_vocab_size as u64, config.tgt_vocab_size as u64);
    let [of_src, of_tgt] = facts.n_required;
    let n_tokens = train.src_tokens + train.tgt_tokens;
    let sides = match facts.experiment.tokenizer.vocabulary {
        Vocabulary::Joint => vec![("vocab_size", n_tokens, src, of_src)],
        Vocabulary::Separate => vec![
            ("vocab_size", train.src_tokens, src, of_src),
            ("tgt_vocab_size", train.tgt_tokens, tgt, of_tgt),
        ],
    };
    let mut sides = sides.into_iter();
    sides.find(|(_, tokens, entries, _)| tokens / entries < MIN_TOKENS_PER_ENTRY)
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
    (share > MAX_PARAMETERS_PER_TOKEN).then(|| {
        let smaller = match facts.experiment.model.preset {
            Preset::Tiny | Preset::Numbers => {
                "train on more text, or lower `model.d_model` and `model.d_ff`"
            }
            _ => "choose a smaller `--preset`",
        };
        format!("the model has {share} parameters for each target token of the text; {smaller}")
    })
}

fn batch(facts: &Facts<'_>) -> Option<String> {
    let (training, train) = (&facts.experiment.training, facts.train);
    let n_batches = training.batches_per_update();
    let mean = train.src_tokens.max(train.tgt_tokens) / train.kept.max(1) + 1;
    let n_sentences = training.tokens_per_batch as u64 / mean * n_batches;
    (n_sentences < MIN_SENTENCES).then(|| {
        format!(
            "an update has room for {n_sentences} sentences of {mean} tokens; raise `training.tokens_per_batch`, for \
             example to {}",
            mean * 32_u64.div_ceil(n_batches)
        )
    })
}

fn positions(facts: &Facts<'_>) -> Option<String> {
    let (config, extra) = (facts.config, facts.experiment.validation.max_extra_len);
    (config.positions == Positions::Learned && extra >= config.max_positions).then(|| {
        format!(
            "translations end after {} tokens, the positions of the model; lower `validation.max_extra_len` ({extra}), \
             or raise `model.max_positions`",
            config.max_positions
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
    let unknown = [("", *train), ("validation ", *valid)].map(|(text, of)| {
        [
            (text, "source", of.src_unknown, of.src_tokens),
            (text, "target", of.tgt_unknown, of.tgt_tokens),
        ]
    });
    for (text, side, unknown, tokens) in unknown.into_iter().flatten() {
        let unknown = share(unknown, tokens);
        if unknown > MAX_UNKNOWN {
            let remedy = match facts.experiment.finetune.model {
                Some(_) => "they are those of the model that is trained further".to_owned(),
                None => for_fewer_unknown(facts, side == "target"),
            };
            all.push(format!(
                "{:.1}% of the {text}{side} tokens are not in the vocabulary; {remedy}",
                100.0 * unknown
            ));
        }
    }
    all
}

/// Compares the validation files with the training files.
fn validation(facts: &Facts<'_>) -> Option<String> {
    let data = &facts.experiment.data;
    let is_same = |files: [&Option<PathBuf>; 2]| files[0].is_some() && files[0] == files[1];
    let are_same = is_same([&data.src, &data.valid_src]) && is_same([&data.tgt, &data.valid_tgt])
        || is_same([&data.tsv, &data.valid_tsv]);
    if are_same {
        return Some(
            "the run is validated on the text that it learns, which says nothing about other text; choose other \
             files, or none to have pairs held out"
                .to_owned(),
        );
    }
    let (n_seen, n_valid) = (facts.n_valid_seen as u64, facts.valid.kept);
    (share(n_seen, n_valid) > MAX_SEEN && data.task.is_none()).then(|| {
        format!(
            "{n_seen} of {n_valid} validation pairs are trained on as well, which makes the run look better than it is; \
             take them out of the text, of which held-out pairs may have copies"
        )
    })
}

/// Returns the remedy for many unknown tokens of the source's or the target's tokenizer.
fn for_fewer_unknown(facts: &Facts<'_>, is_target: bool) -> String {
    let (tokenizer, config) = (&facts.experiment.tokenizer, facts.config);
    let is_separate = tokenizer.vocabulary == Vocabulary::Separate;
    let (size, kind, is, requested) = match is_target && is_separate {
        false => ("vocab_size", "kind", tokenizer.kind, tokenizer.vocab_size),
        true => {
            let is = tokenizer.tgt_kind.unwrap_or(tokenizer.kind);
            let requested = tokenizer.tgt_vocab_size.unwrap_or(tokenizer.vocab_size);
            ("tgt_vocab_size", "tgt_kind", is, requested)
        }
    };
    let n_entries = match is_target {
        false => config.src_vocab_size,
        true => config.tgt_vocab_size,
    };
    // A vocabulary may be smaller than allowed because the text has no more, or the text may be too small to learn a
    // larger one.
    let can_grow = n_entries >= requested
        && too_large_vocabulary(facts).is_none_or(|(too_large, ..)| too_large != size);
    match (is, can_grow) {
        (TokenizerKind::Word | TokenizerKind::Char, true) => {
            format!("raise `tokenizer.{size}`, or choose `tokenizer.{kind} = \"bpe\"`")
        }
        (TokenizerKind::Word, false) => format!("choose `tokenizer.{kind} = \"bpe\"`"),
        (TokenizerKind::Char, false) => "train on text that has their characters".to_owned(),
        (_, true) => format!("raise `tokenizer.{size}`"),
        (_, false) => {
            "set `tokenizer.byte_fallback`, or train on text that has their characters".to_owned()
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
