//! [`Shared`]: the state of the server.

use std::env::temp_dir;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use super::Budget;
use crate::config::{ServeError, ServeOptions};
use crate::files::{FileStore, Slot};
use crate::http::ApiError;
use crate::keys::{Key, Keys, Rates};
use crate::metrics::Metrics;
use crate::models::Models;

/// Maximum number of replies with attention weights, which are large, at a time.
const MAX_ATTENTION: usize = 4;

/// The state of the server that all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Arc<ServeOptions>,
    pub(crate) metrics: Metrics,
    /// The number of requests that are being answered.
    pub(crate) in_flight: Budget,
    /// The number of bytes of bodies that are being answered.
    pub(crate) buffered: Budget,
    /// The number of replies with attention weights that are being made and sent.
    pub(crate) attention: Budget,
    /// Translated files.
    pub(crate) files: Arc<FileStore>,
    /// The models; `None` until they are loaded.
    models: RwLock<Option<Arc<Models>>>,
    /// The keys; `None` if no key is required.
    keys: RwLock<Option<Arc<Keys>>>,
    rates: Rates,
    is_stopping: AtomicBool,
    /// Makes the numbers of callers, which cannot be predicted from outside.
    hasher: RandomState,
}

/// The caller of a request, after keys and rates were checked.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The caller's number, so that the scheduler shares fairly among callers.
    pub(crate) id: u64,
    /// Maximum number of characters of the request.
    pub(crate) max_chars: usize,
    /// The slot of the file that is translated for the caller, if any: the limit of waiting tokens does not apply to
    /// it.
    pub(crate) slot: Option<Slot>,
}

impl Caller {
    /// Returns the same caller for the translation of an accepted file: it waits its turn, however much waits, and
    /// alternates with the caller's other requests.
    pub(crate) fn for_file(&self, slot: &Slot) -> Self {
        Self {
            id: self.id.wrapping_add(1),
            slot: Some(slot.clone()),
            ..self.clone()
        }
    }
}

impl Shared {
    /// Makes the state of a server without models, and reads the keys.
    pub(crate) fn new(options: Arc<ServeOptions>) -> Result<Self, ServeError> {
        let keys = options.api_keys.as_deref().map(Keys::read).transpose()?;
        Ok(Self {
            metrics: Metrics::default(),
            in_flight: Budget::new(options.limits.max_in_flight),
            buffered: Budget::new(options.limits.max_buffered_bytes),
            attention: Budget::new(MAX_ATTENTION),
            files: Arc::new(FileStore::new(temp_dir())),
            models: RwLock::default(),
            keys: RwLock::new(keys.map(Arc::new)),
            rates: Rates::default(),
            is_stopping: AtomicBool::new(false),
            hasher: RandomState::new(),
            options,
        })
    }

    /// Returns the models, for the time of a request.
    pub(crate) fn models(&self) -> Result<Arc<Models>, ApiError> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models.clone().ok_or(ApiError::Loading)
    }

    /// Exchanges the models. Requests with the old ones finish with them.
    pub(crate) fn set_models(&self, models: Models) {
        let mut slot = self.models.write().unwrap_or_else(PoisonError::into_inner);
        let old = slot.replace(Arc::new(models));
        drop(slot);
        drop(old);
    }

    /// Reads the file of keys again. After an error the old keys hold.
    pub(crate) fn reload_keys(&self) -> Result<(), ServeError> {
        if let Some(path) = &self.options.api_keys {
            let keys = Arc::new(Keys::read(path)?);
            let mut slot = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            *slot = Some(keys);
        }
        Ok(())
    }

    /// Returns whether calls need a key.
    pub(crate) fn requires_key(&self) -> bool {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.is_some()
    }

    /// Checks the key of a call, and counts the call. Every interface calls this first, with its own kind of key
    /// parameter.
    pub(crate) fn admit(&self, address: IpAddr, key: Option<&str>) -> Result<Caller, ApiError> {
        let key = self.check_key(key)?;
        let limits = &self.options.limits;
        let id = match &key {
            Some(key) => self.hasher.hash_one(&key.name),
            None => self.hasher.hash_one(network(address)),
        };
        let of_key = key.as_ref().and_then(|key| key.requests_per_minute);
        if let Some(limit) = of_key.or(limits.requests_per_minute) {
            let counted = self.rates.count(id, limit, Instant::now());
            counted.map_err(|retry_after| ApiError::TooManyRequests {
                limit: limit.get(),
                retry_after,
            })?;
        }
        let max_chars = key.as_ref().and_then(|key| key.max_chars);
        Ok(Caller {
            id,
            max_chars: max_chars.unwrap_or(limits.max_chars),
            slot: None,
        })
    }

    /// Returns the key of a call; `None` if no key is required.
    pub(crate) fn check_key(&self, key: Option<&str>) -> Result<Option<Arc<Key>>, ApiError> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let Some(keys) = keys.as_ref() else {
            return Ok(None);
        };
        let key = key.filter(|key| !key.is_empty());
        let found = keys.find(key.ok_or(ApiError::MissingKey)?);
        found.cloned().map(Some).ok_or(ApiError::WrongKey)
    }

    /// Returns a hash of a text that only this server can compute.
    pub(crate) fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    /// Returns whether the server accepts no more connections.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Begins to stop.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

/// Returns the network that counts as one caller: an IPv4 address, or the 64-bit prefix of IPv6 that one customer gets.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}
