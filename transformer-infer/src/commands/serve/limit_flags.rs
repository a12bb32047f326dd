//! [`LimitFlags`]: the limits of the server.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use transformer_infer::serve::Limits;

use crate::commands::at_least_one;

/// The flags of limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitFlags {
    /// Maximum number of characters (Unicode code points) of all texts of a request; beyond it, the reply is 413.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_chars)]
    max_chars: usize,
    /// Maximum number of texts of a request; beyond it, the reply is 413.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_texts)]
    max_texts: usize,
    /// Maximum number of bytes of the body of a request; beyond it, the reply is 413.
    #[arg(long, value_name = "BYTES", value_parser = at_least_one(), default_value_t = Limits::default().max_body_bytes)]
    max_body_bytes: usize,
    /// Maximum number of bytes of all bodies in memory at a time; beyond it, or a caller's share of it, the reply is 429.
    #[arg(long, value_name = "BYTES", value_parser = at_least_one(), default_value_t = Limits::default().max_buffered_bytes)]
    max_buffered_bytes: usize,
    /// Maximum number of requests that are answered at a time; beyond it, or a caller's share of it, the reply is 429.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_in_flight)]
    max_in_flight: usize,
    /// Maximum number of source tokens that wait for a model, except those of files; beyond it, callers with more than an
    /// equal part of it get the reply 429, with the seconds to wait in `Retry-After`.
    #[arg(long, value_name = "TOKENS", value_parser = at_least_one(), default_value_t = Limits::default().max_queue_tokens)]
    max_queue_tokens: usize,
    /// Maximum number of connections; beyond it, one of the address with the most is closed, or the new one gets the reply
    /// 503.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_connections)]
    max_connections: usize,
    /// Maximum number of requests per minute for each API key, or for each address without keys; beyond it, the reply
    /// is 429 [default: no limit].
    #[arg(long, value_name = "N")]
    req_limit: Option<NonZeroU32>,
    /// Maximum time to answer a request; beyond it, the reply is 503.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().request_time.as_secs())]
    request_time: u64,
    /// Maximum time in which the head of a request arrives, from its first byte; then the connection is closed.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().header_time.as_secs())]
    header_time: u64,
    /// Maximum time in which the body of a request arrives, after a sixth of it at 1 KiB a second or faster on average;
    /// beyond it, the reply is 408.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().body_time.as_secs())]
    body_time: u64,
    /// Maximum time that a connection may stay open without a request.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().idle_time.as_secs())]
    idle_time: u64,
    /// Maximum time in which a client takes no bytes of its reply; then the connection is closed.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().write_time.as_secs())]
    write_time: u64,
}

fn seconds() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

impl LimitFlags {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            max_chars: self.max_chars,
            max_texts: self.max_texts,
            max_body_bytes: self.max_body_bytes,
            max_buffered_bytes: self.max_buffered_bytes,
            max_in_flight: self.max_in_flight,
            max_queue_tokens: self.max_queue_tokens,
            max_connections: self.max_connections,
            requests_per_minute: self.req_limit,
            request_time: Duration::from_secs(self.request_time),
            header_time: Duration::from_secs(self.header_time),
            body_time: Duration::from_secs(self.body_time),
            idle_time: Duration::from_secs(self.idle_time),
            write_time: Duration::from_secs(self.write_time),
        }
    }
}
