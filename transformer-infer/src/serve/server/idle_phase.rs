//! [`Phase`]: what a connection waits for, which decides how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const IDLE: u8 = 0;
const HEADER: u8 = 1;
const REQUEST: u8 = 2;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first byte of a request.
    Idle,
    /// The rest of the head.
    Header,
    /// Nothing: a request is being answered, which has limits of its own.
    Request,
}

/// The phase of a connection; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedPhase(Arc<AtomicU8>);

/// Ends the phase [`Phase::Request`] when it is dropped, after the reply.
#[derive(Debug)]
pub(super) struct RequestPhase(SharedPhase);

impl SharedPhase {
    pub(super) fn get(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            IDLE => Phase::Idle,
            HEADER => Phase::Header,
            _ => Phase::Request,
        }
    }

    /// Notes that bytes arrived.
    pub(super) fn read(&self) {
        // In the other phases, bytes change nothing.
        let _ = self
            .0
            .compare_exchange(IDLE, HEADER, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that the head of a request is complete.
    pub(super) fn begin(&self) -> RequestPhase {
        self.0.store(REQUEST, Ordering::Relaxed);
        RequestPhase(self.clone())
    }
}

impl Drop for RequestPhase {
    fn drop(&mut self) {
        self.0.0.store(IDLE, Ordering::Relaxed);
    }
}
