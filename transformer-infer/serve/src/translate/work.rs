//! [`prepare`] and [`compute`]: a limited number of threads for blocking work.

use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::task::spawn_blocking;

use super::failure::busy;
use super::turns::{Turn, Turns};
use crate::http::ApiError;
use crate::models::Served;

/// Rough minimum of text bytes per token: an estimate that refuses early what the queue would refuse.
const BYTES_PER_TOKEN: usize = 8;

/// Permits for threads that find sentences and tokenize them: more threads than cores would only wait for each other.
static PREPARING: LazyLock<Arc<Turns>> = LazyLock::new(two_for_each_core);

/// Permits for the steps of documents, which may take long: texts do not wait for them.
static STEPS: LazyLock<Arc<Turns>> = LazyLock::new(two_for_each_core);

/// Prepares a caller's request of `n_bytes` of text on a thread, unless the model's queue has no room for it.
pub(super) async fn prepare<T: Send + 'static>(
    served: &Served,
    caller: u64,
    n_bytes: usize,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    check_room(served, caller, n_bytes)?;
    let turn = PREPARING.take(caller).await;
    // The queue may have filled in the meantime.
    check_room(served, caller, n_bytes)?;
    on_thread(turn, work).await
}

/// Computes something for a prepared request of a caller.
pub(super) async fn compute<T: Send + 'static>(
    caller: u64,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    on_thread(PREPARING.take(caller).await, work).await
}

/// Computes a step of a caller's document.
pub(crate) async fn compute_step<T: Send + 'static>(
    caller: u64,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    on_thread(STEPS.take(caller).await, work).await
}

fn two_for_each_core() -> Arc<Turns> {
    let n_cores = available_parallelism().map_or(1, usize::from);
    Turns::new(2 * n_cores)
}

async fn on_thread<T: Send + 'static>(
    turn: Turn,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let work = move || {
        let result = work();
        drop(turn);
        result
    };
    spawn_blocking(work).await.map_err(|_| ApiError::Internal)?
}

/// Refuses early what the scheduler would refuse after all the preparation.
pub(crate) fn check_room(served: &Served, caller: u64, n_bytes: usize) -> Result<(), ApiError> {
    let n_tokens = (n_bytes / BYTES_PER_TOKEN).max(1);
    match served.scheduler().has_room(caller, n_tokens) {
        true => Ok(()),
        false => Err(busy(served, caller, n_tokens)),
    }
}
