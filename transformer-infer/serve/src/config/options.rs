//! [`ServeOptions`]: the models and the network settings of the server; [`Limits`]: its limits.

use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use transformer_core::text::LanguageCode;
use transformer_translate::OpenOptions;

use super::Network;

/// The models and the network settings of the server.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Directories of the models. The name of each model is the name of its folder.
    pub models: Vec<PathBuf>,
    /// Folder of further models, each in a folder of its own, which are loaded when a request needs them. Default: none.
    pub models_dir: Option<PathBuf>,
    /// Maximum number of models of `models_dir` in memory: the least recently used one without requests is dropped for
    /// another. Requests need two for translations in two steps. Default: no limit.
    pub keep: Option<NonZeroUsize>,
    /// Options for opening the models.
    pub open: OpenOptions,
    /// True if translations are checked, and translated again if they have faults. Default: true.
    pub check: bool,
    /// The third language for translating between two languages that no model connects.
    pub pivot: Option<LanguageCode>,
    /// The address to listen on. Default: 127.0.0.1, reachable only by programs on the same machine.
    pub host: IpAddr,
    /// The port to listen on; 0 lets the system choose. Default: 5000.
    pub port: u16,
    /// File with the API keys. Default: no key is required.
    pub api_keys: Option<PathBuf>,
    /// Folder in which clients store glossaries. Default: they cannot.
    pub glossaries: Option<PathBuf>,
    /// Origins of pages that may call the server, such as `https://example.org`, or `*` for all. Default: only the
    /// server's own pages.
    pub cors_origins: Vec<String>,
    /// Names in the `Host` header that are accepted on loopback addresses, besides `localhost` and addresses.
    pub allowed_hosts: Vec<String>,
    /// Proxies with a trusted `X-Forwarded-For` header. Default: none.
    pub trusted_proxies: Vec<Network>,
    /// The limits of requests and connections.
    pub limits: Limits,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            models_dir: None,
            keep: None,
            open: OpenOptions::default(),
            check: true,
            pivot: None,
            host: Ipv4Addr::LOCALHOST.into(),
            port: 5000,
            api_keys: None,
            glossaries: None,
            cors_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// The limits of the server. A request beyond a limit is refused at once, with a reply that names the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of characters of all texts of a request, in Unicode code points. Default: 100,000.
    pub max_chars: usize,
    /// Maximum number of texts of a request. Default: 1000.
    pub max_texts: usize,
    /// Maximum size of the body of a request. Default: 4 MiB.
    pub max_body_bytes: usize,
    /// Maximum size of all bodies in memory at a time; each caller has a share. Default: 256 MiB.
    pub max_buffered_bytes: usize,
    /// Maximum number of requests answered at a time; each caller has a share. Default: 512.
    pub max_in_flight: usize,
    /// Maximum number of source tokens that wait for a model; callers may exceed it within equal parts. Default: 262,144.
    pub max_queue_tokens: usize,
    /// Maximum number of connections. Default: 10,000, or as many as the operating system allows the process.
    pub max_connections: usize,
    /// Maximum time from a request's last byte to its reply. Default: 120 seconds.
    pub request_time: Duration,
    /// Maximum time for the head of a request to arrive, from its first byte. Default: 10 seconds.
    pub header_time: Duration,
    /// Maximum time for the body of a request to arrive, after a sixth of it at 1 KiB a second or faster on average.
    /// Default: 30 seconds.
    pub body_time: Duration,
    /// Maximum time that a connection may stay open without a request. Default: 75 seconds.
    pub idle_time: Duration,
    /// Maximum time in which a client takes no bytes of a reply that is ready. Default: 30 seconds.
    pub write_time: Duration,
    /// Maximum number of requests per minute for each API key, or for each address without keys. Default: no limit.
    pub requests_per_minute: Option<NonZeroU32>,
}

impl Limits {
    /// Maximum number of hypotheses of a request.
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
