//! [`Shared`]: the state of the server.

use std::env::temp_dir;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::http::Uri;
use parking_lot::RwLock;

use super::{Budget, Claimant};
use crate::config::{ServeError, ServeOptions};
use crate::files::{FileLimits, FileStore, PendingFile, Slot};
use crate::glossaries::Glossaries;
use crate::http::{ApiError, Client, KeyPlace};
use crate::keys::{Key, Keys, Rates};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::parameters::key_in_query;

/// Maximum number of replies with attention weights, which are large, at a time.
const MAX_ATTENTION: usize = 4;

/// Minimum time after which a refused file should be sent again.
const MIN_SECONDS_OF_FILE: f64 = 10.0;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Arc<ServeOptions>,
    pub(crate) metrics: Metrics,
    pub(crate) in_flight: Budget,
    pub(crate) buffered: Budget,
    /// The number of replies with attention weights that are being made and sent.
    pub(crate) attention: Budget,
    pub(crate) glossaries: Arc<Glossaries>,
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
    request: Arc<str>,
    /// The owner of the glossaries of the caller's key; `None` if no key is required.
    pub(crate) account: Option<Arc<str>>,
    pub(crate) max_chars: usize,
    /// The slot of the file that is translated, if any: the limit of waiting tokens does not apply to it.
    pub(crate) slot: Option<Slot>,
}

impl Caller {
    pub(crate) fn claimant(&self) -> Claimant {
        Claimant {
            id: self.id,
            is_stranger: false,
        }
    }

    fn id_for_files(&self) -> u64 {
        self.id.wrapping_add(1)
    }

    /// Returns the same caller for the translation of an accepted file: it waits its turn, however much waits, and
    /// alternates with the caller's other requests.
    pub(crate) fn for_file(&self, slot: &Slot) -> Self {
        Self {
            id: self.id_for_files(),
            slot: Some(slot.clone()),
            ..self.clone()
        }
    }
}

impl Shared {
    /// Makes the state of a server without models, and reads the keys.
    pub(crate) fn new(options: Arc<ServeOptions>) -> Result<Self, ServeError> {
        let keys = options.api_keys.as_deref().map(Keys::read).transpose()?;
        let path = temp_dir();
        let files = FileStore::new(&path, FileLimits::default());
        let files = files.map_err(|source| ServeError::TemporaryFolder { path, source })?;
        let glossaries = Glossaries::new(options.glossaries.as_deref());
        let glossaries = glossaries.map_err(|source| ServeError::Glossaries {
            path: options.glossaries.clone().unwrap_or_default(),
            source,
        })?;
        let (most_bytes, body) = (
            options.limits.max_buffered_bytes,
            options.limits.max_body_bytes,
        );
        // A lone caller may send the largest body, also without a key in its head.
        let at_least = if body > most_bytes / 4 { body } else { 0 };
        Ok(Self {
            metrics: Metrics::default(),
            in_flight: Budget::new(options.limits.max_in_flight, 1),
            buffered: Budget::new(most_bytes, at_least),
            attention: Budget::new(MAX_ATTENTION, 1),
            glossaries: Arc::new(glossaries),
            files: Arc::new(files),
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
        let models = self.models.read();
        models.clone().ok_or(ApiError::Loading)
    }

    /// Exchanges the models. Requests with the old ones finish with them.
    pub(crate) fn set_models(&self, models: Models) {
        let mut slot = self.models.write();
        let old = slot.replace(Arc::new(models));
        drop(slot);
        drop(old);
    }

    /// Reads the file of keys again. After an error the old keys hold.
    pub(crate) fn reload_keys(&self) -> Result<(), ServeError> {
        if let Some(path) = &self.options.api_keys {
            let keys = Arc::new(Keys::read(path)?);
            let mut slot = self.keys.write();
            *slot = Some(keys);
        }
        Ok(())
    }

    pub(crate) fn requires_key(&self) -> bool {
        let keys = self.keys.read();
        keys.is_some()
    }

    /// Returns the caller of a request by its head, for the limits of requests before it is admitted.
    pub(crate) fn claimant(
        &self,
        client: &Client,
        uri: &Uri,
        keys: KeyPlace,
    ) -> Result<Claimant, ApiError> {
        let key = self.check_key(client.key.as_deref());
        let key = match keys {
            KeyPlace::Head => Ok(key?),
            KeyPlace::HeadElseParameters(_) if client.key.is_some() => Ok(key?),
            KeyPlace::HeadElseParameters(name) | KeyPlace::HeadOrParameters(name) => {
                key.or_else(|_| self.check_key(key_in_query(uri, name).as_deref()))
            }
        };
        let is_stranger = key.is_err();
        let key = key.unwrap_or(None);
        if key.is_some() {
            client.sent_key.set();
        }
        let id = self.id(key.as_deref(), client.address);
        Ok(Claimant { id, is_stranger })
    }

    /// Returns the refusal of a caller that has taken its share, with the seconds until one of its requests may end.
    pub(crate) fn busy(&self, caller: u64) -> ApiError {
        let n_requests = self.in_flight.used_by(caller).max(1);
        ApiError::busy(self.seconds_before(caller) / n_requests as f64)
    }

    /// Accepts a file of a caller under this name, unless the caller has taken its share of files to translate.
    pub(crate) fn accept_file(&self, caller: &Caller, name: &str) -> Result<PendingFile, ApiError> {
        let accepted = self.files.accept(caller.claimant(), &caller.request, name);
        accepted.ok_or_else(|| {
            let n_files = self.files.n_pending_of(caller.id).max(1);
            let seconds = self.seconds_before(caller.id_for_files()) / n_files as f64;
            // Only the sentences of a part of each file are in the queue.
            ApiError::busy(seconds.max(MIN_SECONDS_OF_FILE))
        })
    }

    /// Estimates the seconds until the waiting sentences of a caller's files are translated.
    pub(crate) fn seconds_of_files(&self, caller: &Caller) -> u64 {
        self.seconds_before(caller.id_for_files()).ceil() as u64
    }

    fn seconds_before(&self, caller: u64) -> f64 {
        let models = self.models();
        models.map_or(0.0, |models| models.pool.seconds_before(caller))
    }

    fn id(&self, key: Option<&Key>, address: IpAddr) -> u64 {
        match key {
            Some(key) => self.hasher.hash_one(&key.name),
            None => self.hasher.hash_one(network(address)),
        }
    }

    /// Checks the key of a call, and counts the call. Every interface calls this first, with its own kind of key
    /// parameter. The shares of the request become the caller's.
    pub(crate) fn admit(&self, client: &Client, key: Option<&str>) -> Result<Caller, ApiError> {
        let key = self.check_key(key)?;
        let limits = &self.options.limits;
        let id = self.id(key.as_deref(), client.address);
        if key.is_some() {
            client.sent_key.set();
        }
        let claimant = Claimant {
            id,
            is_stranger: false,
        };
        let shares = client.shares.iter();
        let mut shares = shares.map(|it| it.lock());
        if !shares.all(|mut shares| shares.iter_mut().all(|share| share.give(claimant))) {
            return Err(self.busy(id));
        }
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
            request: client.id.clone(),
            account: key.as_ref().map(|key| key.account.clone()),
            max_chars: max_chars.unwrap_or(limits.max_chars),
            slot: None,
        })
    }

    /// Returns the key of a call; `None` if no key is required.
    pub(crate) fn check_key(&self, key: Option<&str>) -> Result<Option<Arc<Key>>, ApiError> {
        let keys = self.keys.read();
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

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

/// Returns the network that counts as one caller: an IPv4 address, or the 64-bit prefix of IPv6 that one customer gets.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}
