//! [`with_lines`]: work on a blocking thread that waits for translations.

use std::sync::Arc;

use super::failure::of_document;
use super::lines::ServedLines;
use super::request::TranslateOptions;
use super::work::wait_for_document;
use crate::document::{DocumentError, Splitter};
use crate::serve::http::ApiError;
use crate::serve::models::Served;
use crate::serve::state::Caller;

/// Calls a function on a blocking thread, with a translator of sentences by a model. If the returned future is dropped
/// because the client hung up, the translation is cancelled and the function gets an error.
pub(crate) async fn with_lines<T: Send + 'static>(
    served: &Arc<Served>,
    options: &TranslateOptions,
    caller: &Caller,
    work: impl FnOnce(&ServedLines, &Splitter) -> Result<T, DocumentError> + Send + 'static,
) -> Result<T, ApiError> {
    let search = options.search(served.translator().search(), 1)?;
    let glossary = options.glossary.clone();
    let (lines, hold) = ServedLines::new(served, search, caller, glossary);
    let splitter = splitter(served, options);
    let work = move || {
        let result = work(&lines, &splitter);
        result.map_err(|error| lines.failure().unwrap_or_else(|| of_document(error)))
    };
    let result = wait_for_document(served, caller, work).await;
    drop(hold);
    result
}

/// Returns the splitter for a model's source language, or for English if it is unknown.
pub(super) fn splitter(served: &Served, options: &TranslateOptions) -> Splitter {
    let languages = served.translator().languages();
    let language = languages.src.as_ref().map_or("en", |code| code.as_str());
    Splitter::new(options.split, language)
}
