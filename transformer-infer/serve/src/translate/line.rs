//! [`translate_line`]: translates one line unchanged, to show how a model translates.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::failure::{of_scheduler, of_translator};
use super::request::TranslateOptions;
use super::work::prepare;
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Caller;
use transformer_translate::Translation;
use transformer_translate::scheduler::{Job, JobLine};

/// Translates a line with the model's own search. Dropping the future cancels it.
pub(crate) async fn translate_line(
    served: &Arc<Served>,
    text: String,
    caller: &Caller,
) -> Result<Translation, ApiError> {
    let search = TranslateOptions::default().search(served.translator().search(), 1)?;
    let n_bytes = text.len();
    let job = Job {
        caller: caller.id,
        lines: vec![JobLine {
            text,
            direction: served.direction,
            ..JobLine::default()
        }],
        search,
    };
    let (sender, result) = oneshot::channel();
    let mut sender = Some(sender);
    let on_done = move |_, result| {
        if let Some(sender) = sender.take() {
            let _ = sender.send(result); // the request may have ended
        }
    };
    let submit = {
        let (served, id) = (served.clone(), caller.id);
        move || {
            let submitted = served.scheduler().submit(job, on_done);
            submitted.map_err(|error| of_scheduler(error, &served, id))
        }
    };
    let _ticket = prepare(served, caller.id, n_bytes, submit).await?;
    let result = result.await.map_err(|_| ApiError::Internal)?;
    result.map_err(|error| of_translator(&error))
}
