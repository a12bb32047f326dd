//! [`Phase`]: the phase of a connection, which decides its time limit.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::Waker;
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

use crate::http::SentKey;

const IDLE: u8 = 0;
const HEADER: u8 = 1;
const REQUEST: u8 = 2;
const REPLY: u8 = 3;

/// The start of time for idle connections.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The event that a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first byte of a request.
    Idle,
    /// The rest of the head.
    Header,
    /// None: a request is being answered, with its own limits.
    Request,
}

/// The phase of a connection; clones share it.
#[derive(Clone, Debug)]
pub(super) struct SharedPhase(Arc<State>);

#[derive(Debug)]
struct State {
    phase: AtomicU8,
    /// The time at which the connection became idle, in milliseconds.
    idle_since: AtomicU64,
    sent_key: SentKey,
    /// The reading task, which must start its time limit when a request ends.
    reader: AtomicWaker,
}

/// Ends the phase [`Phase::Request`] when dropped, after the reply.
#[derive(Debug)]
pub(super) struct RequestPhase(SharedPhase);

/// Notes when dropped that the body of the request was read.
#[derive(Debug)]
pub(super) struct BodyPhase(SharedPhase);

fn now() -> u64 {
    START.elapsed().as_millis() as u64
}

impl SharedPhase {
    /// Returns the phase of a new connection.
    pub(super) fn new() -> Self {
        Self(Arc::new(State {
            phase: AtomicU8::new(IDLE),
            idle_since: AtomicU64::new(now()),
            sent_key: SentKey::default(),
            reader: AtomicWaker::new(),
        }))
    }

    pub(super) fn get(&self) -> Phase {
        match self.0.phase.load(Ordering::Relaxed) {
            IDLE => Phase::Idle,
            HEADER => Phase::Header,
            _ => Phase::Request,
        }
    }

    /// Returns the flag for a valid key on the connection.
    pub(super) fn sent_key(&self) -> &SentKey {
        &self.0.sent_key
    }

    /// Returns whether the connection may be closed for another one: it has sent no valid key, and no whole request is
    /// being answered.
    pub(super) fn may_close(&self) -> bool {
        !self.0.sent_key.get() && self.0.phase.load(Ordering::Relaxed) != REPLY
    }

    /// Lets the end of the request wake a task.
    pub(super) fn register(&self, reader: &Waker) {
        self.0.reader.register(reader);
    }

    /// Returns the time that the connection has been without a complete head of a request; `None` while a request is
    /// answered.
    pub(super) fn idle_time(&self) -> Option<Duration> {
        let since = self.0.idle_since.load(Ordering::Relaxed);
        let is_answered = self.get() == Phase::Request;
        (!is_answered).then(|| Duration::from_millis(now().saturating_sub(since)))
    }

    /// Notes that bytes arrived.
    pub(super) fn read(&self) {
        let phase = &self.0.phase;
        // In the other phases, bytes have no effect.
        let _ = phase.compare_exchange(IDLE, HEADER, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that the head of a request is complete.
    pub(super) fn begin(&self) -> RequestPhase {
        self.0.phase.store(REQUEST, Ordering::Relaxed);
        RequestPhase(self.clone())
    }
}

impl RequestPhase {
    /// Returns a value that belongs to the body of the request.
    pub(super) fn body(&self) -> BodyPhase {
        BodyPhase(self.0.clone())
    }
}

impl Drop for BodyPhase {
    fn drop(&mut self) {
        let phase = &self.0.0.phase;
        // The reply may have ended before.
        let _ = phase.compare_exchange(REQUEST, REPLY, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Drop for RequestPhase {
    fn drop(&mut self) {
        let state = &*self.0.0;
        state.idle_since.store(now(), Ordering::Relaxed);
        state.phase.store(IDLE, Ordering::Relaxed);
        state.reader.wake();
    }
}
