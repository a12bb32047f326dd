//! [`TimedStream`]: a connection that ends if the other side sends or takes nothing for too long; [`Phase`]: the phase
//! of a connection, which decides its time limit.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use crate::config::Limits;
use crate::http::SentKey;

/// A connection with time limits: for the first byte of a request, for its head, and for taking a reply.
#[derive(Debug)]
pub(super) struct TimedStream {
    stream: TcpStream,
    phase: SharedPhase,
    /// The phase that `reading` was set for.
    timed_phase: Option<Phase>,
    reading: Pin<Box<Sleep>>,
    /// Set while the other side takes nothing.
    writing: Option<Pin<Box<Sleep>>>,
    limits: Limits,
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, phase: SharedPhase, limits: Limits) -> Self {
        Self {
            stream,
            phase,
            timed_phase: None,
            reading: Box::pin(sleep(limits.idle_time)),
            writing: None,
            limits,
        }
    }

    /// Is ready when the time of the phase is over.
    fn poll_read_time(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Registered before the phase is read, so that no end of a request is missed.
        self.phase.register(context.waker());
        let phase = self.phase.get();
        let time = match phase {
            Phase::Idle => self.limits.idle_time,
            Phase::Header => self.limits.header_time,
            Phase::Request => {
                self.timed_phase = None;
                return Poll::Pending;
            }
        };
        if self.timed_phase != Some(phase) {
            self.timed_phase = Some(phase);
            self.reading.as_mut().reset(Instant::now() + time);
        }
        self.reading.as_mut().poll(context)
    }

    /// Records whether the other side took any bytes; fails if it took none for too long.
    fn check_write<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.writing = None;
            return written;
        }
        let time = self.limits.write_time;
        let writing = self.writing.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(writing.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(result) => {
                if buffer.filled().len() > n_before {
                    self.phase.read();
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(self.poll_read_time(context));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_write(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.check_write(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

const IDLE: u8 = 0;
const HEADER: u8 = 1;
const REQUEST: u8 = 2;
const REPLY: u8 = 3;

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

    pub(super) fn sent_key(&self) -> &SentKey {
        &self.0.sent_key
    }

    /// Returns whether the connection may be closed for another one: it has sent no valid key and no whole request.
    pub(super) fn may_close(&self) -> bool {
        !self.0.sent_key.get() && self.0.phase.load(Ordering::Relaxed) != REPLY
    }

    pub(super) fn register(&self, reader: &Waker) {
        self.0.reader.register(reader);
    }

    /// Returns the time without a complete head of a request; `None` while a request is answered.
    pub(super) fn idle_time(&self) -> Option<Duration> {
        let since = self.0.idle_since.load(Ordering::Relaxed);
        let is_answered = self.get() == Phase::Request;
        (!is_answered).then(|| Duration::from_millis(now().saturating_sub(since)))
    }

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
