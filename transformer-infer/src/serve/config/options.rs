//! [`ServeOptions`]: what the server serves, and to whom.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use transformer_core::text::LanguageCode;

use super::{Limits, Network};
use transformer_translate::OpenOptions;

/// What the server serves, and to whom.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Directories of the models. The name of each is that of its folder.
    pub models: Vec<PathBuf>,
    /// How the models are opened.
    pub open: OpenOptions,
    /// The language through which the server translates between two languages that no model connects.
    pub pivot: Option<LanguageCode>,
    /// The address to listen on. Default: 127.0.0.1, which only programs on the same machine reach.
    pub host: IpAddr,
    /// The port to listen on; 0 lets the system choose. Default: 5000.
    pub port: u16,
    /// File with the API keys. Default: no key is required.
    pub api_keys: Option<PathBuf>,
    /// Origins of pages that may call the server, such as `https://example.org`, or `*` for all. Default: only pages
    /// that come from the server itself.
    pub cors_origins: Vec<String>,
    /// Names in the `Host` header that are accepted on loopback addresses, beside `localhost` and addresses.
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For` is believed. Default: none.
    pub trusted_proxies: Vec<Network>,
    /// How much is accepted.
    pub limits: Limits,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            open: OpenOptions::default(),
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
