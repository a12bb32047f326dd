//! [`SearchError`]: the errors of an invalid search.

/// Error of an invalid search, with the value to choose instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum SearchError {
    /// The beam size is 0.
    #[error("`beam_size` is 0; choose at least 1 (1 is greedy search)")]
    NoBeam,
    /// `n_best` is 0 or larger than the beam.
    #[error(
        "`n_best` is {n_best} with a beam of {beam_size}; choose 1 to {beam_size}, or a larger beam"
    )]
    NBest { n_best: usize, beam_size: usize },
    /// A number of hypotheses is above [`Search::MOST_HYPOTHESES`](super::Search::MOST_HYPOTHESES).
    #[error("`{field}` is {size}; choose at most {most}")]
    TooMany {
        field: &'static str,
        size: usize,
        most: usize,
    },
    /// The number of samples is 0.
    #[error("`n_best` is 0; choose the number of samples of each line, at least 1")]
    NoSample,
    /// The exponent of the length penalty is negative or not finite.
    #[error("alpha of the length penalty is {alpha}; choose a number of at least 0")]
    Alpha { alpha: f64 },
    /// The text is not a length penalty.
    #[error(
        "`{text}` is not a valid length penalty; write none, gnmt:0.6 or power:1, where the number is alpha"
    )]
    UnknownPenalty { text: String },
    /// The factor of a length limit is negative or not finite.
    #[error("the factor of the length limit is {factor}; choose a number of at least 0")]
    Factor { factor: f64 },
    /// The length limit is so large that a search might never reach it.
    #[error("the length limit `{limit}` is too large; choose numbers of at most {most}")]
    NoEnd { limit: String, most: usize },
    /// The minimum length is above the maximum length for every source.
    #[error(
        "`min_len` is {min_len} and `max_len` is {max_len}, so no length is allowed; lower `min_len`, or raise \
         `max_len`"
    )]
    Lengths { min_len: String, max_len: String },
    /// The maximum length allows no token, or only EOS, for every source.
    #[error(
        "`max_len` is {max_len}, so every translation is empty; raise it: EOS counts as a token"
    )]
    NoWords { max_len: String },
    /// The text is not a length limit.
    #[error(
        "`{text}` is not a valid length limit; write 100, 2x or 1x+50, where x is the number of source tokens"
    )]
    UnknownLimit { text: String },
    /// The text is not a stop rule.
    #[error("`{text}` is not a valid stop rule; write present-length, beam-finished or never")]
    UnknownStopRule { text: String },
    /// The text is not a rule for the length limit.
    #[error("`{text}` is not a valid `at_limit`; write cut, compete, end or free-end")]
    UnknownAtLimit { text: String },
    /// The text is not a kind of mean.
    #[error("`{text}` is not a valid ensemble mean; write probs or log-probs")]
    UnknownMean { text: String },
    /// The weight of the coverage penalty is negative or not finite.
    #[error("`coverage_penalty` is {beta}; choose a number of at least 0, for example 0.2")]
    Coverage { beta: f64 },
    /// The repetition penalty is not positive or not finite.
    #[error(
        "`repetition_penalty` is {theta}; choose a number above 0: 1 changes nothing, 1.2 repeats less"
    )]
    Repetition { theta: f64 },
    /// The length of n-grams is 0.
    #[error("`no_repeat_ngram` is 0; choose at least 1 (3 is usual), or leave it out")]
    NoNgram,
    /// A banned sequence is empty.
    #[error("sequence {position} of `banned` is empty; give it a token, or leave it out")]
    EmptyBan {
        /// Its position in the list, counted from 1.
        position: usize,
    },
    /// A phrase cannot be written.
    #[error(
        "phrase {position} has no variant that can be written everywhere; give it a sequence of tokens that begins a \
         word, none of which is special"
    )]
    Phrase {
        /// Its position in the list, counted from 1.
        position: usize,
    },
    /// Phrases are required of samples.
    #[error(
        "sampling cannot be combined with phrases or terms; leave them out, or search instead of sampling"
    )]
    SampledPhrases,
    /// The temperature is not positive or not finite.
    #[error(
        "`temperature` is {temperature}; choose a number above 0: 1 is the model's distribution, and greedy search is \
         the limit at 0"
    )]
    Temperature { temperature: f64 },
    /// The number of tokens to draw from is 0.
    #[error("`top_k` is 0; choose at least 1, or leave it out")]
    NoTopK,
    /// The share of the probability is not above 0 and at most 1.
    #[error("`top_p` is {top_p}; choose a number above 0 and at most 1 (1 leaves nothing out)")]
    TopP { top_p: f64 },
}
