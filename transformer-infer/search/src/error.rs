//! [`SearchError`]: the errors of an invalid search.

/// Error of an invalid search, with the value to choose instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum SearchError {
    #[error("`beam_size` is 0; choose at least 1 (1 is greedy search)")]
    NoBeam,
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
    #[error("`n_best` is 0; choose the number of samples of each line, at least 1")]
    NoSample,
    #[error("alpha of the length penalty is {alpha}; choose a number of at least 0")]
    Alpha { alpha: f64 },
    #[error(
        "`{text}` is not a valid length penalty; write none, gnmt:0.6 or power:1, where the number is alpha"
    )]
    UnknownPenalty { text: String },
    #[error("the factor of the length limit is {factor}; choose a number of at least 0")]
    Factor { factor: f64 },
    /// The length limit is so large that a search might never reach it.
    #[error("the length limit `{limit}` is too large; choose numbers of at most {most}")]
    NoEnd { limit: String, most: usize },
    #[error(
        "`min_len` is {min_len} and `max_len` is {max_len}, so no length is allowed; lower `min_len`, or raise \
         `max_len`"
    )]
    Lengths { min_len: String, max_len: String },
    #[error(
        "`max_len` is {max_len}, so every translation is empty; raise it: EOS counts as a token"
    )]
    NoWords { max_len: String },
    #[error(
        "`{text}` is not a valid length limit; write 100, 2x or 1x+50, where x is the number of source tokens"
    )]
    UnknownLimit { text: String },
    #[error("`{text}` is not a valid stop rule; write present-length, beam-finished or never")]
    UnknownStopRule { text: String },
    #[error("`{text}` is not a valid `at_limit`; write cut, compete, end or free-end")]
    UnknownAtLimit { text: String },
    #[error("`{text}` is not a valid ensemble mean; write probs or log-probs")]
    UnknownMean { text: String },
    #[error("`coverage_penalty` is {beta}; choose a number of at least 0, for example 0.2")]
    Coverage { beta: f64 },
    #[error(
        "`repetition_penalty` is {theta}; choose a number above 0: 1 changes nothing, 1.2 repeats less"
    )]
    Repetition { theta: f64 },
    #[error("`no_repeat_ngram` is 0; choose at least 1 (3 is usual), or leave it out")]
    NoNgram,
    #[error("sequence {position} of `banned` is empty; give it a token, or leave it out")]
    EmptyBan {
        /// Its position in the list, counted from 1.
        position: usize,
    },
    #[error(
        "phrase {position} has no variant that can be written everywhere; give it a sequence of tokens that begins a \
         word, none of which is special"
    )]
    Phrase {
        /// Its position in the list, counted from 1.
        position: usize,
    },
    #[error(
        "sampling cannot be combined with phrases or terms; leave them out, or search instead of sampling"
    )]
    SampledPhrases,
    #[error(
        "`temperature` is {temperature}; choose a number above 0: 1 is the model's distribution, and greedy search is \
         the limit at 0"
    )]
    Temperature { temperature: f64 },
    #[error("`top_k` is 0; choose at least 1, or leave it out")]
    NoTopK,
    #[error("`top_p` is {top_p}; choose a number above 0 and at most 1 (1 leaves nothing out)")]
    TopP { top_p: f64 },
}
