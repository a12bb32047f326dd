//! [`TimedStream`]: a connection that ends if the other side sends or takes nothing for too long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::idle_phase::{Phase, SharedPhase};
use crate::config::Limits;

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
    idle_time: Duration,
    header_time: Duration,
    write_time: Duration,
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, phase: SharedPhase, limits: &Limits) -> Self {
        Self {
            stream,
            phase,
            timed_phase: None,
            reading: Box::pin(sleep(limits.idle_time)),
            writing: None,
            idle_time: limits.idle_time,
            header_time: limits.header_time,
            write_time: limits.write_time,
        }
    }

    /// Is ready when the time of the phase is over.
    fn poll_read_time(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Registered before the phase is read, so that no end of a request is missed.
        self.phase.register(context.waker());
        let phase = self.phase.get();
        let time = match phase {
            Phase::Idle => self.idle_time,
            Phase::Header => self.header_time,
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
        let time = self.write_time;
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
