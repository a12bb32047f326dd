//! [`prepare`] and [`compute`]: a limited number of threads for blocking work.

use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use super::failure::busy;
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Caller;
use transformer_documents::Protection;

/// Maximum number of documents that are translated at the same time, besides files.
const MAX_DOCUMENTS: usize = 64;

/// Rough minimum of text bytes per token: an estimate that refuses early what the queue would refuse.
const BYTES_PER_TOKEN: usize = 8;

/// The text that is copied instead of translated. Compiling its patterns takes longer than translating a sentence.
pub(super) static PLACEHOLDERS: LazyLock<Protection> = LazyLock::new(Protection::placeholders);

/// Permits for threads that find sentences and tokenize them: more threads than cores would only wait for each other.
static PREPARING: LazyLock<Arc<Semaphore>> = LazyLock::new(two_for_each_core);

/// Permits for the steps of documents, which may take long: texts do not wait for them.
static STEPS: LazyLock<Arc<Semaphore>> = LazyLock::new(two_for_each_core);

static DOCUMENTS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(MAX_DOCUMENTS)));

/// Prepares a request of `n_bytes` of text on a thread, unless the model's queue has no room for it.
pub(super) async fn prepare<T: Send + 'static>(
    served: &Served,
    n_bytes: usize,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    check_room(served, n_bytes)?;
    let permit = permit(&PREPARING).await?;
    // The queue may have filled in the meantime.
    check_room(served, n_bytes)?;
    on_thread(permit, work).await
}

/// Computes something for a prepared request.
pub(super) async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    on_thread(permit(&PREPARING).await?, work).await
}

/// Computes a step of a document.
pub(crate) async fn compute_step<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    on_thread(permit(&STEPS).await?, work).await
}

/// Waits for the permit of a document, or refuses it if the model's queue is full. A file needs none: it has a slot,
/// and is never refused once it is accepted.
pub(super) async fn document_permit(
    served: &Served,
    caller: &Caller,
) -> Result<Option<OwnedSemaphorePermit>, ApiError> {
    if caller.slot.is_some() {
        return Ok(None);
    }
    check_room(served, 0)?;
    let permit = permit(&DOCUMENTS).await?;
    check_room(served, 0)?;
    Ok(Some(permit))
}

fn two_for_each_core() -> Arc<Semaphore> {
    let n_cores = available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(2 * n_cores))
}

async fn permit(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiError> {
    let permit = permits.clone().acquire_owned().await;
    permit.map_err(|_| ApiError::Internal)
}

async fn on_thread<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let work = move || {
        let result = work();
        drop(permit);
        result
    };
    spawn_blocking(work).await.map_err(|_| ApiError::Internal)?
}

/// Refuses early what the scheduler would refuse after all the preparation.
pub(crate) fn check_room(served: &Served, n_bytes: usize) -> Result<(), ApiError> {
    let n_tokens = (n_bytes / BYTES_PER_TOKEN).max(1);
    match served.scheduler().has_room(n_tokens) {
        true => Ok(()),
        false => Err(busy(served)),
    }
}
