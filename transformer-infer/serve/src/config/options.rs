//! [`ServeOptions`]: the models and the network settings of the server.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use transformer_core::text::LanguageCode;

use super::{Limits, Network};
use transformer_translate::OpenOptions;

/// The models and the network settings of the server.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Directories of the models. The name of each model is the name of its folder.
    pub models: Vec<PathBuf>,
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
            open: OpenOptions::default(),
            check: true,
            pivot: None,
            host: Ipv4Addr::LOCALHOST.into(),
            port: 5000,
            api_keys: None,
            cors_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            limits: Limits::default(),
        }
    }
}
