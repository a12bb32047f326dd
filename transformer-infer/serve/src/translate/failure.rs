//! The refusals for errors of the library.

use crate::http::ApiError;
use crate::models::Served;
use transformer_core::text::one_line;
use transformer_translate::TranslatorError;

/// Maximum number of seconds in a `Retry-After` header.
const MAX_SECONDS: f64 = 60.0;

/// Returns the refusal of lines.
pub(super) fn of_scheduler(error: TranslatorError, served: &Served) -> ApiError {
    match error {
        TranslatorError::QueueFull { .. } => busy(served),
        TranslatorError::ShutDown => ApiError::Stopping,
        TranslatorError::JobTooLarge { n_tokens, limit } => {
            ApiError::TooManyTokens { n_tokens, limit }
        }
        error => of_translator(&error),
    }
}

/// Returns the refusal of lines that do not fit in the queue.
pub(super) fn busy(served: &Served) -> ApiError {
    ApiError::Busy {
        retry_after: seconds_until_free(served),
    }
}

/// Returns the refusal of a line. The client is told what it can fix, such as a setting of the search; everything else
/// goes to the log, without the text.
pub(super) fn of_translator(error: &TranslatorError) -> ApiError {
    match error {
        TranslatorError::Search(error) => ApiError::request(error.to_string()),
        TranslatorError::Direction(error) => ApiError::request(error.to_string()),
        TranslatorError::Prefix { .. } | TranslatorError::LongPrefix { .. } => {
            ApiError::request("no translation can begin with this prefix")
        }
        error => {
            tracing::error!(error = one_line(error), "a translation failed");
            ApiError::Internal
        }
    }
}

/// Returns the number of seconds, at least 1, until the tokens that fill the queue are translated at the speed so far.
/// Tokens of accepted files do not fill it.
fn seconds_until_free(served: &Served) -> u64 {
    let totals = served.scheduler().stats().totals;
    let seconds = (totals.encoding + totals.decoding).as_secs_f64();
    let of_all_threads = seconds / served.translator().n_threads() as f64;
    let per_token = of_all_threads / totals.n_src_tokens.max(1) as f64;
    let wait = served.scheduler().n_limited_tokens() as f64 * per_token;
    wait.clamp(1.0, MAX_SECONDS).ceil() as u64
}
