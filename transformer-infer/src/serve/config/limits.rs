//! [`Limits`]: how much the server accepts.

use std::num::NonZeroU32;
use std::time::Duration;

/// How much the server accepts. What is beyond a limit is refused at once, with a reply that says which limit it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most characters of all texts of a request, in Unicode code points. Default: 100,000.
    pub max_chars: usize,
    /// Most texts of a request. Default: 1000.
    pub max_texts: usize,
    /// Most bytes of the body of a request. Default: 4 MiB.
    pub max_body_bytes: usize,
    /// Most bytes of all bodies that the server holds at a time. Default: 256 MiB.
    pub max_buffered_bytes: usize,
    /// Most requests that are being answered at a time. Default: 512.
    pub max_in_flight: usize,
    /// Most source tokens that wait for a model. Default: 262,144.
    pub max_queue_tokens: usize,
    /// Most connections. Default: 10,000, or as many as the system lets the process open.
    pub max_connections: usize,
    /// Longest time from a request's last byte to its reply. Default: 120 seconds.
    pub request_time: Duration,
    /// Longest time for the head of a request to arrive, from its first byte. Default: 10 seconds.
    pub header_time: Duration,
    /// Longest time for the body of a request to arrive. Default: 30 seconds.
    pub body_time: Duration,
    /// How long a connection may stay open without a request. Default: 75 seconds.
    pub idle_time: Duration,
    /// How long a client may take none of a reply that is ready. Default: 30 seconds.
    pub write_time: Duration,
    /// Most requests a minute for each API key, or for each address if there are no keys. Default: no limit.
    pub requests_per_minute: Option<NonZeroU32>,
}

impl Limits {
    /// The largest number of hypotheses that a request may ask for.
    pub const MOST_HYPOTHESES: usize = 32;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_chars: 100_000,
            max_texts: 1000,
            max_body_bytes: 4 << 20,
            max_buffered_bytes: 256 << 20,
            max_in_flight: 512,
            max_queue_tokens: 1 << 18,
            max_connections: 10_000,
            request_time: Duration::from_secs(120),
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(75),
            write_time: Duration::from_secs(30),
            requests_per_minute: None,
        }
    }
}
