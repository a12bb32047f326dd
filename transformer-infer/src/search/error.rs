//! Why a search cannot be done as asked.

/// Says why a search cannot be done as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A beam of no hypotheses finds none.
    #[error("`beam_size` is 0; choose at least 1 (1 is greedy search)")]
    NoBeam,
    /// More or fewer hypotheses are asked for than a beam holds.
    #[error(
        "`n_best` is {n_best} with a beam of {beam_size}; choose 1 to {beam_size}, or a larger beam"
    )]
    NBest {
        /// The number of hypotheses asked for.
        n_best: usize,
        /// The number of hypotheses followed.
        beam_size: usize,
    },
    /// More hypotheses are asked for than any search needs, and than memory may hold.
    #[error("`{field}` is {size}; choose at most {most}")]
    TooMany {
        /// The field's name.
        field: &'static str,
        /// The number of hypotheses asked for.
        size: usize,
        /// The largest that is allowed.
        most: usize,
    },
    /// No sample is asked for.
    #[error("`n_best` is 0; choose the number of samples of each line, at least 1")]
    NoSample,
    /// The exponent of the length penalty is no exponent.
    #[error("alpha of the length penalty is {alpha}; choose a number of at least 0")]
    Alpha {
        /// The exponent given.
        alpha: f64,
    },
    /// The text names no length penalty.
    #[error(
        "`{text}` is no length penalty; write none, gnmt:0.6 or power:1, the number being alpha"
    )]
    UnknownPenalty {
        /// The text given.
        text: String,
    },
    /// The factor of a length limit is no factor.
    #[error("the factor of the length limit is {factor}; choose a number of at least 0")]
    Factor {
        /// The factor given.
        factor: f64,
    },
    /// The length limit is so far away that a search might never get there.
    #[error("the length limit `{limit}` has no end in sight; choose numbers of at most {most}")]
    NoEnd {
        /// The limit given.
        limit: String,
        /// The largest number that is allowed in it.
        most: usize,
    },
    /// The text is no length limit.
    #[error(
        "`{text}` is no length limit; write 100, 2x or 1x+50, where x is the number of source tokens"
    )]
    UnknownLimit {
        /// The text given.
        text: String,
    },
    /// The text names no rule to stop by.
    #[error("`{text}` is no stop rule; write present-length, beam-finished or never")]
    UnknownStopRule {
        /// The text given.
        text: String,
    },
    /// The text names no rule for the length limit.
    #[error("`{text}` says nothing about the length limit; write cut, end or free-end")]
    UnknownAtLimit {
        /// The text given.
        text: String,
    },
    /// The text names no mean.
    #[error("`{text}` is no mean of models; write probs or log-probs")]
    UnknownMean {
        /// The text given.
        text: String,
    },
    /// The weight of the coverage penalty is no weight.
    #[error("`coverage_penalty` is {beta}; choose a number of at least 0, for example 0.2")]
    Coverage {
        /// The weight given.
        beta: f64,
    },
    /// The repetition penalty is no factor.
    #[error(
        "`repetition_penalty` is {theta}; choose a number above 0: 1 changes nothing, 1.2 repeats less"
    )]
    Repetition {
        /// The factor given.
        theta: f64,
    },
    /// N-grams of no token cannot be kept from repeating.
    #[error("`no_repeat_ngram` is 0; choose at least 1 (3 is usual), or leave it out")]
    NoNgram,
    /// A banned sequence holds no token.
    #[error("`banned` has an empty sequence at place {place}; give it a token, or leave it out")]
    EmptyBan {
        /// Its place in the list, counted from 1.
        place: usize,
    },
    /// The temperature is no temperature.
    #[error(
        "`temperature` is {temperature}; choose a number above 0: 1 is the model's distribution, \
         and instead of 0 take greedy search"
    )]
    Temperature {
        /// The temperature given.
        temperature: f64,
    },
    /// Nothing can be drawn from no token.
    #[error("`top_k` is 0; choose at least 1, or leave it out")]
    NoTopK,
    /// The share is no share.
    #[error("`top_p` is {top_p}; choose a number above 0 and at most 1 (1 leaves nothing out)")]
    TopP {
        /// The share given.
        top_p: f64,
    },
}
