//! [`prepare`] and [`compute`]: a limited number of threads for blocking work; and the refusals for errors of the library.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use parking_lot::Mutex;
use tokio::sync::oneshot::{Sender, channel};
use tokio::task::spawn_blocking;
use transformer_translate::TranslatorError;

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

pub(super) async fn compute<T: Send + 'static>(
    caller: u64,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    on_thread(PREPARING.take(caller).await, work).await
}

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

/// A number of permits. Callers that wait for one take turns, however many each waits for.
#[derive(Debug)]
pub(super) struct Turns(Mutex<Waiting>);

#[derive(Debug)]
struct Waiting {
    n_free: usize,
    /// The waiting callers; the next permit is for the first one.
    callers: VecDeque<(u64, VecDeque<Sender<Turn>>)>,
}

/// A permit. When it is dropped, the next caller gets it.
#[derive(Debug)]
pub(super) struct Turn(Option<Arc<Turns>>);

impl Turns {
    pub(super) fn new(n_permits: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Waiting {
            n_free: n_permits,
            callers: VecDeque::new(),
        })))
    }

    pub(super) async fn take(self: &Arc<Self>, caller: u64) -> Turn {
        let turn = {
            let mut waiting = self.0.lock();
            if waiting.n_free > 0 {
                waiting.n_free -= 1;
                return Turn(Some(self.clone()));
            }
            let (sender, turn) = channel();
            let mut callers = waiting.callers.iter_mut();
            match callers.find(|(other, _)| *other == caller) {
                Some((_, senders)) => senders.push_back(sender),
                None => waiting.callers.push_back((caller, [sender].into())),
            }
            turn
        };
        turn.await
            .expect("the sender lives as long as these turns, which this future holds")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else {
            return;
        };
        let mut waiting = turns.0.lock();
        while let Some((caller, mut senders)) = waiting.callers.pop_front() {
            let next = senders.pop_front();
            if !senders.is_empty() {
                waiting.callers.push_back((caller, senders));
            }
            let Some(Err(mut unsent)) = next.map(|next| next.send(Self(Some(turns.clone()))))
            else {
                return;
            };
            unsent.0 = None; // that request has ended
        }
        waiting.n_free += 1;
    }
}

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
        error => ApiError::internal(error, "a translation failed"),
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use futures_util::FutureExt;

    use super::*;

    fn poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
        match future.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn callers_take_turns_however_many_permits_each_waits_for() {
        let turns = Turns::new(1);
        let take = |caller| Box::pin(turns.take(caller));
        let mut turn = poll(&mut take(1));
        let callers = [1, 1, 1, 2, 3, 2];
        let mut waiting = Vec::from(callers.map(|caller| (caller, take(caller))));
        for (_, future) in &mut waiting {
            assert!(poll(future).is_none());
        }
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(turn.take());
            let found = (0..waiting.len()).find(|index| {
                turn = poll(&mut waiting[*index].1);
                turn.is_some()
            });
            order.push(waiting.remove(found.expect("a caller has the permit")).0);
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
    }

    #[test]
    fn a_permit_passes_requests_that_have_ended() {
        let turns = Turns::new(1);
        let turn = poll(&mut Box::pin(turns.take(1)));
        let [mut ended, mut next, mut last] = [2, 2, 3].map(|caller| Box::pin(turns.take(caller)));
        for future in [&mut ended, &mut next, &mut last] {
            assert!(poll(future).is_none());
        }
        drop(ended);
        drop(turn);
        let last = poll(&mut last).expect("the other request of caller 2 comes after it");
        drop(last);
        // The permit was sent to it, and is never received.
        drop(next);
        assert_eq!(turns.0.lock().n_free, 1);
    }
}
