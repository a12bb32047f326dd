//! The flags of `translate` for the search.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use transformer_core::text::{Tokenizer, UNK};
use transformer_infer::search::{
    AtLimit, EnsembleMean, LengthLimit, LengthPenalty, Sampling, Search, StopRule,
};

use crate::commands::CommandError;

#[derive(Debug, Args)]
pub(super) struct SearchFlags {
    /// Number of hypotheses kept at each step; 1 is greedy search, the fastest [default: the model's, or 4, and
    /// at least as many as --n-best].
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// Normalization of scores by length: none, gnmt:ALPHA or power:ALPHA [default: the model's, or gnmt:0.6].
    #[arg(long, value_name = "KIND")]
    length_penalty: Option<LengthPenalty>,
    /// Weight of the preference for hypotheses that attended to the whole source; 0 turns it off, 0.2 is usual
    /// [default: the model's, or 0].
    #[arg(long, value_name = "BETA")]
    coverage_penalty: Option<f64>,
    /// Rule that stops the search of a line: present-length (the best unfinished hypothesis would lose at its present
    /// length), beam-finished (as many hypotheses are finished as the beam size; the fastest), never (no unfinished
    /// hypothesis can still win) [default: the model's, or present-length].
    #[arg(long, value_name = "RULE")]
    stop: Option<StopRule>,
    /// Maximum number of tokens to generate, as a number or as `1x+50`, where x is the number of source tokens
    /// [default: the model's, or 1x+50].
    #[arg(long, value_name = "LIMIT")]
    pub(super) max_len: Option<LengthLimit>,
    /// Rule for translations that reach this limit: cut (they rank after finished ones), compete (cut, but ranked by
    /// score), end (their last token is EOS, and they compete), free-end (like end, but EOS does not change the score)
    /// [default: the model's, or cut].
    #[arg(long, value_name = "RULE")]
    at_limit: Option<AtLimit>,
    /// Minimum number of tokens to generate, including EOS, in the same notation [default: the model's, or 0]. A
    /// minimum above the limit of every line is refused; above that of some lines, it counts as their limit, with a
    /// warning.
    #[arg(long, value_name = "LIMIT")]
    min_len: Option<LengthLimit>,
    /// Number of translations of each line, best first: always N output lines per input line, the last ones empty
    /// if there are fewer. With --json, one list per input line.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) n_best: usize,
    /// Choose by minimum Bayes risk: the translation that is most like all of N by chrF2, from 2 to 256. These are the
    /// best of a beam of at least N, or samples with --sample. Translations that are cut come after the others.
    #[arg(long, value_name = "N", conflicts_with = "terms", value_parser = RangedU64ValueParser::<usize>::new().range(2..=256))]
    pub(super) mbr: Option<usize>,
    /// Forbid that a sequence of N tokens occurs twice in a translation [default: the model's].
    #[arg(long, value_name = "N")]
    no_repeat_ngram: Option<usize>,
    /// Multiply the log-probability of a token that was already generated; 1 changes nothing, 1.2
    /// repeats less [default: the model's, or 1].
    #[arg(long, value_name = "THETA")]
    repetition_penalty: Option<f64>,
    /// If true, scale the probabilities of the allowed tokens, without bans and special tokens, to sum to 1 before the
    /// beam search compares them [default: the model's, or false].
    #[arg(long, value_name = "BOOL")]
    renormalize: Option<bool>,
    /// Do not generate the tokens of this text in sequence; repeat the flag for further texts.
    #[arg(long, value_name = "TEXT")]
    ban: Vec<String>,
    /// Do not generate this token of the vocabulary; repeat the flag for further tokens.
    #[arg(long, value_name = "TOKEN")]
    ban_token: Vec<String>,
    /// Draw tokens by their probability instead of searching; --n-best is the number of samples, in the order of
    /// drawing.
    #[arg(long, conflicts_with_all = ["beam", "stop"])]
    sample: bool,
    /// With --sample: divisor of the log-probabilities; values below 1 make likely tokens likelier.
    #[arg(long, value_name = "T", default_value_t = 1.0, requires = "sample")]
    temperature: f64,
    /// With --sample: draw from the K likeliest tokens only.
    #[arg(long, value_name = "K", requires = "sample")]
    top_k: Option<usize>,
    /// With --sample: draw from the likeliest tokens that make up this share of the probability.
    #[arg(long, value_name = "P", default_value_t = 1.0, requires = "sample")]
    top_p: f64,
    /// With --sample: the same seed draws the same samples.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "sample")]
    seed: u64,
    /// With several models: probs (the mean of their probabilities) or log-probs [default: the first model's, or
    /// probs].
    #[arg(long, value_name = "MEAN")]
    ensemble: Option<EnsembleMean>,
}

impl SearchFlags {
    /// Returns the search of the flags, without their bans, which need a tokenizer; `defaults` apply to missing flags.
    pub(super) fn search(&self, defaults: &Search) -> Search {
        let n_best = self.mbr.unwrap_or(self.n_best);
        let at_least = n_best.min(Search::MOST_HYPOTHESES);
        Search {
            beam_size: self.beam.unwrap_or(defaults.beam_size.max(at_least)),
            length_penalty: self.length_penalty.unwrap_or(defaults.length_penalty),
            n_best,
            max_len: self.max_len.unwrap_or(defaults.max_len),
            at_limit: self.at_limit.unwrap_or(defaults.at_limit),
            min_len: self.min_len.unwrap_or(defaults.min_len),
            stop: self.stop.unwrap_or(defaults.stop),
            coverage_penalty: self.coverage_penalty.unwrap_or(defaults.coverage_penalty),
            banned: defaults.banned.clone(),
            no_repeat_ngram: self.no_repeat_ngram.or(defaults.no_repeat_ngram),
            repetition_penalty: self
                .repetition_penalty
                .unwrap_or(defaults.repetition_penalty),
            renormalize: self.renormalize.unwrap_or(defaults.renormalize),
            sampling: self.sample.then_some(Sampling {
                temperature: self.temperature,
                top_k: self.top_k,
                top_p: self.top_p,
                seed: self.seed,
            }),
            ensemble: self.ensemble.unwrap_or(defaults.ensemble),
        }
    }

    /// Checks the flags before the model is loaded, which has its own defaults for missing ones.
    pub(super) fn check(&self) -> Result<(), CommandError> {
        let defaults = Search {
            max_len: LengthLimit {
                factor: 0.0,
                extra: LengthLimit::MOST_TOKENS,
            },
            ..Search::default()
        };
        if let Some(mbr) = self.mbr {
            let (n_best, beam) = (self.n_best, self.beam.unwrap_or(mbr));
            if !(1..=mbr).contains(&n_best) || beam < mbr {
                return Err(CommandError::Mbr { mbr, n_best, beam });
            }
        }
        Ok(self.search(&defaults).validate()?)
    }

    /// Returns the token sequences of `--ban` and `--ban-token`.
    pub(super) fn banned(&self, tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>, CommandError> {
        let texts = self.ban.iter().map(|text| {
            let ids = tokenizer.encode(text);
            let is_tokenized = !text.trim().is_empty() && !ids.is_empty() && !ids.contains(&UNK);
            is_tokenized
                .then_some(ids)
                .ok_or_else(|| CommandError::Ban { text: text.clone() })
        });
        let tokens = self.ban_token.iter().map(|token| {
            let id = tokenizer.id(token);
            id.map(|id| vec![id]).ok_or_else(|| CommandError::BanToken {
                token: token.clone(),
            })
        });
        texts.chain(tokens).collect()
    }
}
