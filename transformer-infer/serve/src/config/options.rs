//! [`ServeOptions`]: the models and the network settings of the server; [`Limits`]: its limits; [`Network`]: an address, or
//! all addresses with the same beginning.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use transformer_core::text::LanguageCode;
use transformer_translate::OpenOptions;

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

/// An IP address, or a range of addresses in CIDR notation, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Number of leading bits that are compared.
    n_bits: u32,
}

/// A text is neither an address nor a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is neither an IP address nor a range of them; give one such as 127.0.0.1, ::1 or 10.0.0.0/8"
)]
pub struct NetworkError {
    given: String,
}

impl Network {
    /// Returns whether an address is in the range. An IPv4 address mapped to IPv6 (`::ffff:1.2.3.4`) counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let ((network, n_all), (address, n_bits)) = (
            number(self.address.to_canonical()),
            number(address.to_canonical()),
        );
        let shift = n_all - self.n_bits;
        n_all == n_bits && (shift == n_all || network >> shift == address >> shift)
    }
}

/// Returns an address as a number, and its length in bits.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let refused = || NetworkError {
            given: text.chars().take(60).collect(),
        };
        let (address, n_bits) = match text.split_once('/') {
            None => (text, None),
            Some((address, n_bits)) => (address, Some(n_bits)),
        };
        let address: IpAddr = address.parse().map_err(|_| refused())?;
        let (_, most) = number(address.to_canonical());
        let n_bits = match n_bits {
            None => most,
            Some(n_bits) => n_bits.parse().map_err(|_| refused())?,
        };
        if n_bits > most {
            return Err(refused());
        }
        Ok(Self { address, n_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.n_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        let network: Network = network.parse().expect("it is a range");
        network.contains(address.parse().expect("it is an address"))
    }

    #[test]
    fn a_range_contains_the_addresses_that_begin_as_it_does() {
        assert!(contains("10.0.0.0/8", "10.255.1.2"));
        assert!(!contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("2001:db8::/33", "2001:db8:7fff::1"));
        assert!(!contains("2001:db8::/33", "2001:db8:8000::1"));
    }

    #[test]
    fn an_address_alone_contains_itself() {
        assert!(contains("127.0.0.1", "127.0.0.1"));
        assert!(!contains("127.0.0.1", "127.0.0.2"));
    }

    #[test]
    fn zero_bits_contain_every_address_of_the_version() {
        assert!(contains("0.0.0.0/0", "255.1.2.3"));
        assert!(!contains("0.0.0.0/0", "::1"));
    }

    #[test]
    fn an_ipv4_address_may_be_written_as_ipv6() {
        assert!(contains("127.0.0.1", "::ffff:127.0.0.1"));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "localhost",
            "1.2.3.4/33",
            "::/129",
            "1.2.3.4/",
            "1.2.3/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
