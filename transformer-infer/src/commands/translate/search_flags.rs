//! The flags of `translate` that say how outputs are searched for.

use clap::Args;
use transformer_core::text::{Tokenizer, UNK};
use transformer_infer::search::{
    AtLimit, EnsembleMean, LengthLimit, LengthPenalty, Sampling, Search, StopRule,
};

use crate::commands::CommandError;

#[derive(Debug, Args)]
pub(super) struct SearchFlags {
    /// Number of hypotheses followed at once; 1 is greedy search, the fastest [default: the model's, or 4, and
    /// at least as many as --n-best].
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// How hypotheses of different lengths compare: none, gnmt:ALPHA or power:ALPHA [default: the
    /// model's, or gnmt:0.6].
    #[arg(long, value_name = "KIND")]
    length_penalty: Option<LengthPenalty>,
    /// How much to prefer hypotheses that looked at the whole source; 0 is not at all, 0.2 is usual [default: the
    /// model's, or 0].
    #[arg(long, value_name = "BETA")]
    coverage_penalty: Option<f64>,
    /// When a beam is done: present-length (the best that runs would lose if it ended now),
    /// beam-finished (as many are finished as the beam holds; the fastest), never (nothing that runs
    /// can still win) [default: the model's, or present-length].
    #[arg(long, value_name = "RULE")]
    stop: Option<StopRule>,
    /// Most tokens to generate, as a number or as `1x+50`, where x is the number of source tokens [default:
    /// the model's, or 1x+50].
    #[arg(long, value_name = "LIMIT")]
    max_len: Option<LengthLimit>,
    /// What becomes of translations that reach this limit: cut (they come behind those that ended), end (their
    /// last token is the end of the sentence, and they compete), free-end (the same, but this token costs
    /// nothing) [default: the model's, or cut].
    #[arg(long, value_name = "RULE")]
    at_limit: Option<AtLimit>,
    /// Fewest tokens to generate, written alike; the end of the output counts as one [default: the model's, or 0].
    #[arg(long, value_name = "LIMIT")]
    min_len: Option<LengthLimit>,
    /// Number of translations of each line, best first: always N output lines for one input line,
    /// empty ones where there are not so many. With --json, one list for each input line.
    #[arg(long, value_name = "N", default_value_t = 1)]
    n_best: usize,
    /// Let no sequence of N tokens come twice in a translation [default: the model's].
    #[arg(long, value_name = "N")]
    no_repeat_ngram: Option<usize>,
    /// Multiply the log-probability of a token that was already generated; 1 changes nothing, 1.2
    /// repeats less [default: the model's, or 1].
    #[arg(long, value_name = "THETA")]
    repetition_penalty: Option<f64>,
    /// Whether to share out the probability of what is not generated, bans and unknown tokens, among the
    /// other tokens before a beam compares [default: the model's, or false].
    #[arg(long, value_name = "BOOL")]
    renormalize: Option<bool>,
    /// Do not generate this text, as the tokenizer cuts it into tokens; give it again for more.
    #[arg(long, value_name = "TEXT")]
    ban: Vec<String>,
    /// Do not generate this token, as the vocabulary spells it; give it again for more.
    #[arg(long, value_name = "TOKEN")]
    ban_token: Vec<String>,
    /// Draw tokens by their probability instead of searching; --n-best is the number of samples, in the
    /// order in which they are drawn.
    #[arg(long, conflicts_with_all = ["beam", "stop"])]
    sample: bool,
    /// With --sample: below 1 likely tokens get likelier.
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
    /// Returns the search, as far as `defaults` say what no flag does, and without what flags ban: that needs
    /// a tokenizer.
    pub(super) fn search(&self, defaults: &Search) -> Search {
        let wide_enough = self.n_best.min(Search::MOST_HYPOTHESES);
        Search {
            beam_size: self.beam.unwrap_or(defaults.beam_size.max(wide_enough)),
            length_penalty: self.length_penalty.unwrap_or(defaults.length_penalty),
            n_best: self.n_best,
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

    /// Returns the tokens that are banned.
    pub(super) fn banned(&self, tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>, CommandError> {
        let texts = self.ban.iter().map(|text| {
            let ids = tokenizer.encode(text);
            let writable = !text.trim().is_empty() && !ids.is_empty() && !ids.contains(&UNK);
            writable
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
