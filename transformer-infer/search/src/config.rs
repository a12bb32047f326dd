//! [`Search`]: the settings of a search.

use serde::{Deserialize, Serialize};

use super::{
    AtLimit, EnsembleMean, LengthLimit, LengthPenalty, Request, Sampling, SearchError, StopRule,
};

/// The settings of a search. `Default` is the paper's beam search (§6.1).
///
/// # Example
///
/// ```
/// use transformer_search::Search;
///
/// let search = Search { beam_size: 8, n_best: 3, ..Search::default() };
/// assert!(search.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Number of hypotheses kept at each step; 1 is greedy search. Default 4 (§6.1). Sampling draws
    /// `n_best` samples instead.
    pub beam_size: usize,
    /// Normalization of scores by length. Default: GNMT with α = 0.6 (§6.1).
    pub length_penalty: LengthPenalty,
    /// Number of hypotheses returned for each source, at most `beam_size`, or number of samples.
    /// Default 1. The hypotheses themselves do not depend on it.
    pub n_best: usize,
    /// Maximum number of tokens to generate. Default: source length + 50 (§6.1).
    pub max_len: LengthLimit,
    /// The rule for hypotheses that reach `max_len` without EOS. Default: they are cut, and rank after the finished
    /// ones.
    pub at_limit: AtLimit,
    /// Minimum number of tokens to generate: EOS is not allowed before. Default 0. If it is above `max_len` for every
    /// source, it is refused; for a source where it is above `max_len`, it counts as `max_len`.
    pub min_len: LengthLimit,
    /// The rule that stops the beam search of a sentence. Default: the present-length rule.
    pub stop: StopRule,
    /// Weight β of the coverage penalty, at least 0 (Wu et al. 2016, Eq. 14,
    /// <https://arxiv.org/abs/1609.08144>). Default 0: none.
    ///
    /// It adds `β · Σᵢ ln(min(Σₜ pₜᵢ, 1))` to the score of every completed hypothesis, where `pₜᵢ` is the
    /// attention to source token `i` (the source's EOS included) when token `t` was generated: the mean
    /// over the heads of the last decoder layer. It does not influence which prefixes stay in the beam.
    pub coverage_penalty: f64,
    /// Token sequences that are never generated; a sequence of one token bans that token. Default: none. A forced
    /// prefix is not checked.
    pub banned: Vec<Vec<u32>>,
    /// Length n, at least 1, of the n-grams that no output contains twice. Default: no limit. A forced prefix counts as
    /// output.
    pub no_repeat_ngram: Option<usize>,
    /// Factor θ for tokens that the output already has, above 0 (Keskar et al. 2019, §4.1,
    /// <https://arxiv.org/abs/1909.05858>). Default 1: none.
    ///
    /// The log-probability of a token that was generated before, once or more, is multiplied by θ. (CTRL
    /// divides logits by θ; log-probabilities are never positive, so that θ > 1 always makes repetition
    /// less likely.) Hypotheses compete with the result; `log_prob` stays the model's.
    pub repetition_penalty: f64,
    /// If true, the probabilities of the allowed tokens are scaled to sum to 1 before a beam search compares them:
    /// `renormalize_logits` of Hugging Face's Transformers. Default: false. Greedy search and sampling do not depend on
    /// it.
    pub renormalize: bool,
    /// Draws tokens at random instead of searching for likely ones. Default: none.
    pub sampling: Option<Sampling>,
    /// Averaging of the predictions of an ensemble. Default: the mean of the probabilities.
    pub ensemble: EnsembleMean,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            beam_size: 4,
            length_penalty: LengthPenalty::default(),
            n_best: 1,
            max_len: LengthLimit::PAPER,
            at_limit: AtLimit::default(),
            min_len: LengthLimit::ZERO,
            stop: StopRule::default(),
            coverage_penalty: 0.0,
            banned: Vec::new(),
            no_repeat_ngram: None,
            repetition_penalty: 1.0,
            renormalize: false,
            sampling: None,
            ensemble: EnsembleMean::default(),
        }
    }
}

impl Search {
    /// The largest `beam_size` and `n_best` allowed.
    pub const MOST_HYPOTHESES: usize = 10_000;

    /// The length of n-grams in [`without_repeats`](Self::without_repeats): ordinary sentences have shorter ones twice.
    const MAX_REPEATED: usize = 3;

    const LEAST_WIDENED: usize = 8;

    /// Returns greedy search: the likeliest token at each step.
    pub fn greedy() -> Self {
        Self {
            beam_size: 1,
            ..Self::default()
        }
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// Returns a [`SearchError`] with a message that names the field and a valid value.
    pub fn validate(&self) -> Result<(), SearchError> {
        let (beam_size, n_best) = (self.beam_size, self.n_best);
        for (field, size) in [("beam_size", beam_size), ("n_best", n_best)] {
            if size > Self::MOST_HYPOTHESES {
                let most = Self::MOST_HYPOTHESES;
                return Err(SearchError::TooMany { field, size, most });
            }
        }
        if let Some(sampling) = &self.sampling {
            if n_best == 0 {
                return Err(SearchError::NoSample);
            }
            sampling.validate()?;
        } else if beam_size == 0 {
            return Err(SearchError::NoBeam);
        } else if n_best == 0 || n_best > beam_size {
            return Err(SearchError::NBest { n_best, beam_size });
        }
        self.length_penalty.validate()?;
        self.max_len.validate()?;
        self.min_len.validate()?;
        self.check_lengths(LengthLimit::MOST_TOKENS)?;
        let (beta, theta) = (self.coverage_penalty, self.repetition_penalty);
        if !(beta.is_finite() && beta >= 0.0) {
            return Err(SearchError::Coverage { beta });
        }
        if !(theta.is_finite() && theta > 0.0) {
            return Err(SearchError::Repetition { theta });
        }
        if self.no_repeat_ngram == Some(0) {
            return Err(SearchError::NoNgram);
        }
        match self.banned.iter().position(Vec::is_empty) {
            Some(index) => Err(SearchError::EmptyBan {
                position: index + 1,
            }),
            None => Ok(()),
        }
    }

    /// Checks that the limits of the output length can be met for some source of at most `max_src_len` tokens.
    ///
    /// [`validate`](Self::validate) checks this for sources of any length.
    ///
    /// # Errors
    ///
    /// Returns a [`SearchError`] if `min_len` is above `max_len`, or if `max_len` allows no word, for every source.
    pub fn check_lengths(&self, max_src_len: usize) -> Result<(), SearchError> {
        let src_lens = || 1..=max_src_len.clamp(1, LengthLimit::MOST_TOKENS);
        let (min_len, max_len) = (self.min_len, self.max_len);
        if src_lens().all(|len| !self.at_limit.allows_words(max_len.limit(len))) {
            let max_len = max_len.to_string();
            return Err(SearchError::NoWords { max_len });
        }
        if src_lens().all(|len| min_len.limit(len) > max_len.limit(len)) {
            let (min_len, max_len) = (min_len.to_string(), max_len.to_string());
            return Err(SearchError::Lengths { min_len, max_len });
        }
        Ok(())
    }

    /// Returns the request for a source of `src_len` tokens, without EOS, that is the first of the input.
    pub fn request(&self, src_len: usize) -> Request {
        Request {
            max_len: self.max_len.limit(src_len),
            min_len: self.min_len.limit(src_len),
            ..Request::default()
        }
    }

    /// Returns a search for another translation of a line: without repeated n-grams.
    #[must_use]
    pub fn without_repeats(&self) -> Self {
        let most = Self::MAX_REPEATED;
        Self {
            no_repeat_ngram: Some(self.no_repeat_ngram.map_or(most, |n| n.min(most))),
            ..self.clone()
        }
    }

    /// Returns a search for other translations of a line: with a beam of twice the size, or as many samples, and all
    /// the hypotheses.
    #[must_use]
    pub fn widened(&self) -> Self {
        let beam_size = (2 * self.beam_size).clamp(Self::LEAST_WIDENED, Self::MOST_HYPOTHESES);
        Self {
            beam_size,
            n_best: self.n_best.max(beam_size),
            ..self.clone()
        }
    }

    /// Checks the settings.
    ///
    /// # Panics
    ///
    /// Panics if the search is not [valid](Self::validate).
    pub fn assert_valid(&self) {
        if let Err(error) = self.validate() {
            panic!("{error}");
        }
    }

    pub(super) fn renormalizes(&self) -> bool {
        self.renormalize && self.beam_size > 1 && self.sampling.is_none()
    }

    /// Returns the largest number of rows of a model that one source without phrases needs.
    pub fn n_rows(&self) -> usize {
        let n_rows = match self.sampling {
            Some(_) => self.n_best,
            None => self.beam_size,
        };
        n_rows.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(search: &Search) -> String {
        let error = search.validate().expect_err("the search is not valid");
        error.to_string()
    }

    #[test]
    fn the_default_is_the_papers_search() {
        let search = Search::default();
        assert_eq!(search.beam_size, 4);
        assert_eq!(search.length_penalty, LengthPenalty::Gnmt { alpha: 0.6 });
        assert_eq!(search.max_len.limit(13), 63);
        assert_eq!(search.validate(), Ok(()));
    }

    #[test]
    fn more_hypotheses_than_the_beam_size_are_refused() {
        let error = Search {
            n_best: 5,
            ..Search::default()
        }
        .validate();
        let expected = Err(SearchError::NBest {
            n_best: 5,
            beam_size: 4,
        });
        assert_eq!(error, expected);
    }

    #[test]
    fn more_samples_than_the_beam_size_are_valid() {
        let search = Search {
            n_best: 5,
            sampling: Some(Sampling::default()),
            ..Search::default()
        };
        assert_eq!((search.validate(), search.n_rows()), (Ok(()), 5));
    }

    #[test]
    fn unknown_keys_are_refused() {
        let read = serde_json::from_str::<Search>(r#"{"beam": 4}"#);
        assert!(read.is_err_and(|error| error.to_string().contains("beam")));
    }

    #[test]
    fn a_search_survives_a_round_trip_through_json() {
        let search = Search {
            banned: vec![vec![7], vec![8, 9]],
            no_repeat_ngram: Some(3),
            sampling: Some(Sampling::default()),
            stop: StopRule::Never,
            ..Search::default()
        };
        let json = serde_json::to_string(&search).expect("a search is JSON");
        let read: Search = serde_json::from_str(&json).expect("it was just written");
        assert_eq!(read, search);
    }

    fn with_lengths(min_len: &str, max_len: &str) -> Search {
        let limit = |text: &str| text.parse().expect("the text is a limit");
        Search {
            min_len: limit(min_len),
            max_len: limit(max_len),
            ..Search::default()
        }
    }

    #[test]
    fn a_minimum_above_the_maximum_of_every_source_is_refused() {
        assert_eq!(
            refusal(&with_lengths("50", "5")),
            "`min_len` is 50 and `max_len` is 5, so no length is allowed; lower `min_len`, or raise `max_len`"
        );
        for (min_len, max_len) in [("2x", "1x"), ("1x+51", "1x+50"), ("0.5x+1", "0.5x")] {
            let message = refusal(&with_lengths(min_len, max_len));
            assert!(message.contains("no length is allowed"), "{message}");
        }
    }

    #[test]
    fn limits_that_some_source_can_keep_are_valid() {
        for (min_len, max_len) in [
            ("5", "5"),
            ("100000", "1x+50"),
            ("1.5x", "1x"),
            ("0", "0.1x"),
        ] {
            assert_eq!(with_lengths(min_len, max_len).validate(), Ok(()));
        }
    }

    #[test]
    fn a_minimum_that_only_longer_sources_than_allowed_reach_is_refused() {
        let search = with_lengths("100000", "1x+50");
        assert_eq!(search.check_lengths(99_950), Ok(()));
        assert!(search.check_lengths(99_949).is_err());
    }

    #[test]
    fn a_maximum_that_allows_no_word_is_refused() {
        assert_eq!(
            refusal(&with_lengths("0", "0")),
            "`max_len` is 0, so every translation is empty; raise it: EOS counts as a token"
        );
        let ends = Search {
            at_limit: AtLimit::End,
            ..with_lengths("0", "1")
        };
        assert!(refusal(&ends).starts_with("`max_len` is 1, so every translation is empty"));
        assert_eq!(with_lengths("0", "1").validate(), Ok(()));
    }

    #[test]
    fn a_negative_coverage_penalty_is_refused() {
        let search = Search {
            coverage_penalty: -0.1,
            ..Search::default()
        };
        assert_eq!(
            refusal(&search),
            "`coverage_penalty` is -0.1; choose a number of at least 0, for example 0.2"
        );
    }

    #[test]
    fn a_repetition_penalty_of_zero_is_refused() {
        let search = Search {
            repetition_penalty: 0.0,
            ..Search::default()
        };
        assert!(refusal(&search).starts_with("`repetition_penalty` is 0; choose a number above 0"));
    }

    #[test]
    fn ngrams_of_length_zero_are_refused() {
        let search = Search {
            no_repeat_ngram: Some(0),
            ..Search::default()
        };
        assert!(refusal(&search).starts_with("`no_repeat_ngram` is 0; choose at least 1"));
    }

    #[test]
    fn an_empty_ban_is_refused_with_its_position() {
        let search = Search {
            banned: vec![vec![5], vec![]],
            ..Search::default()
        };
        assert!(refusal(&search).starts_with("sequence 2 of `banned` is empty;"));
    }

    #[test]
    fn the_settings_of_sampling_are_checked() {
        let with = |sampling: Sampling| {
            refusal(&Search {
                sampling: Some(sampling),
                ..Search::default()
            })
        };
        let cold = with(Sampling {
            temperature: 0.0,
            ..Sampling::default()
        });
        assert!(cold.starts_with("`temperature` is 0; choose a number above 0"));
        let no_token = with(Sampling {
            top_k: Some(0),
            ..Sampling::default()
        });
        assert!(no_token.starts_with("`top_k` is 0; choose at least 1"));
        let more_than_all = with(Sampling {
            top_p: 1.5,
            ..Sampling::default()
        });
        assert!(more_than_all.starts_with("`top_p` is 1.5; choose a number above 0 and at most 1"));
    }
}
