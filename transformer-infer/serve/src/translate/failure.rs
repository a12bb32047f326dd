//! The refusals for errors of the library.

use crate::http::ApiError;
use crate::models::Served;
use transformer_core::text::one_line;
use transformer_translate::TranslatorError;

/// Returns the refusal of lines.
pub(super) fn of_scheduler(error: TranslatorError, served: &Served, caller: u64) -> ApiError {
    match error {
        TranslatorError::QueueFull { n_tokens, .. } => busy(served, caller, n_tokens),
        TranslatorError::ShutDown => ApiError::Stopping,
        TranslatorError::JobTooLarge { n_tokens, limit } => {
            ApiError::TooManyTokens { n_tokens, limit }
        }
        error => of_translator(&error),
    }
}

/// Returns the refusal of a caller's lines that do not fit in the queue.
pub(super) fn busy(served: &Served, caller: u64, n_tokens: usize) -> ApiError {
    ApiError::busy(served.seconds_before_room(caller, n_tokens))
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
