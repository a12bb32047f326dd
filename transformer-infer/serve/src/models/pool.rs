//! [`Pool`]: the models in memory. A model is loaded when a request needs it, and dropped when another needs its place.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use burn::tensor::Device;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, ready};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use transformer_core::text::one_line;
use transformer_translate::scheduler::SchedulerStats;

use super::load::open;
use super::served::{Threads, seconds_before};
use super::{Choice, Listed, Route, Served};
use crate::config::ServeOptions;
use crate::http::ApiError;
use crate::metrics::Loads;

/// The models in memory, and those that are being loaded.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(super) options: Arc<ServeOptions>,
    pub(super) device: Device,
    /// The models, the most recently used last.
    entries: Mutex<Vec<Entry>>,
    /// Wakes requests that wait for a place.
    freed: Arc<Notify>,
    loads: Loads,
}

/// The loading of a model, for all requests that wait for it.
type Loading = Shared<BoxFuture<'static, Result<Arc<Threads>, ApiError>>>;

#[derive(Debug)]
struct Entry {
    model: Arc<Listed>,
    loading: Loading,
    /// Cloned for each request with the model.
    users: Arc<()>,
}

/// Keeps a model in memory for a request.
#[derive(Debug)]
pub(super) struct Use {
    user: Option<Arc<()>>,
    freed: Arc<Notify>,
}

impl Drop for Use {
    fn drop(&mut self) {
        self.user = None;
        self.freed.notify_waiters();
    }
}

impl Entry {
    /// Returns the scheduler, if the model is loaded.
    fn threads(&self) -> Option<&Arc<Threads>> {
        self.loading.peek()?.as_ref().ok()
    }

    fn has_failed(&self) -> bool {
        matches!(self.loading.peek(), Some(Err(_)))
    }

    /// Returns whether the model may be dropped.
    fn is_idle(&self) -> bool {
        !self.model.is_kept && self.threads().is_some() && Arc::strong_count(&self.users) == 1
    }
}

impl Pool {
    pub(crate) fn new(options: Arc<ServeOptions>, device: Device, loads: Loads) -> Self {
        Self {
            options,
            device,
            entries: Mutex::default(),
            freed: Arc::default(),
            loads,
        }
    }

    /// Returns the models of a request once they are in memory. Requests for the same model wait for one loading. A model
    /// that cannot be loaded is loaded again for the next request.
    ///
    /// If `--keep` allows no more models, and all are in use, the request waits. It gets all of its models at once, so
    /// that two requests never wait for each other.
    pub(super) async fn route(&self, choices: Vec<Choice>) -> Result<Route, ApiError> {
        let started = loop {
            let freed = self.freed.notified();
            let mut freed = std::pin::pin!(freed);
            freed.as_mut().enable();
            match self.start(&choices) {
                Some(started) => break started,
                None => freed.await,
            }
        };
        let mut served = Vec::new();
        for (choice, (loading, of_request)) in choices.into_iter().zip(started) {
            let threads = loading.await?;
            let options = self.options.clone();
            served.push(Arc::new(Served::new(choice, options, threads, of_request)?));
        }
        let second = served.pop().ok_or(ApiError::Internal)?;
        Ok(match served.pop() {
            None => Route::Direct(second),
            Some(first) => Route::Pivot { first, second },
        })
    }

    /// Starts to load the models that are not in memory. Returns `None` if other requests use all places.
    fn start(&self, choices: &[Choice]) -> Option<Vec<(Loading, Use)>> {
        let mut entries = self.lock();
        entries.retain(|entry| !entry.has_failed());
        let is_wanted =
            |model: &Arc<Listed>| choices.iter().any(|it| Arc::ptr_eq(&it.model, model));
        let mut missing: Vec<&Arc<Listed>> = choices.iter().map(|it| &it.model).collect();
        missing.dedup_by(|a, b| Arc::ptr_eq(a, b));
        missing.retain(|model| !entries.iter().any(|it| Arc::ptr_eq(&it.model, model)));
        if let Some(keep) = self.options.keep
            && !missing.is_empty()
        {
            let keep = keep.get().max(choices.len());
            let n_loaded = entries.iter().filter(|it| !it.model.is_kept).count();
            let n_over = (n_loaded + missing.len()).saturating_sub(keep);
            let can_go = |entry: &Entry| entry.is_idle() && !is_wanted(&entry.model);
            if entries.iter().filter(|entry| can_go(entry)).count() < n_over {
                return None;
            }
            for _ in 0..n_over {
                let oldest = entries.iter().position(can_go)?;
                let entry = entries.remove(oldest);
                tracing::info!(model = entry.model.name, "model dropped");
            }
        }
        entries.extend(missing.into_iter().map(|model| Entry {
            model: model.clone(),
            loading: self.load(model),
            users: Arc::default(),
        }));
        entries.sort_by_key(|entry| is_wanted(&entry.model)); // stable: the others stay in their order
        let of_choice = |choice: &Choice| {
            let entry = entries
                .iter()
                .find(|it| Arc::ptr_eq(&it.model, &choice.model))?;
            let user = Use {
                user: Some(entry.users.clone()),
                freed: self.freed.clone(),
            };
            Some((entry.loading.clone(), user))
        };
        choices.iter().map(of_choice).collect()
    }

    /// Loads a model on a thread, to the end even if no request waits for it any longer.
    fn load(&self, model: &Arc<Listed>) -> Loading {
        let (options, device) = (self.options.clone(), self.device.clone());
        let (model, loads, freed) = (model.clone(), self.loads.clone(), self.freed.clone());
        let name = model.name.clone();
        let work = spawn_blocking(move || {
            let start = Instant::now();
            let loaded = open(&model.path, &options, &device).map(|(now, threads)| {
                let is_same = now.languages == model.languages && now.table == model.table;
                is_same.then(|| Arc::new(threads))
            });
            loads.ended(matches!(loaded, Ok(Some(_))), start.elapsed());
            let (model, error) = match loaded {
                Ok(Some(threads)) => {
                    tracing::info!(model = model.name, "model loaded");
                    return Ok(threads);
                }
                Ok(None) => (
                    model,
                    "it has other languages now; reload the server".to_owned(),
                ),
                Err(error) => (model, one_line(&error)),
            };
            tracing::error!(model = model.name, error, "cannot load the model");
            let name = model.name.clone();
            Err(ApiError::NotLoaded { name })
        });
        let loading = work.map(|loaded| loaded.unwrap_or(Err(ApiError::NotLoaded { name })));
        let loading = loading.boxed().shared();
        let finished = loading.clone();
        tokio::spawn(async move {
            let _ = finished.await;
            freed.notify_waiters();
        });
        loading
    }

    /// Adds a model that is in memory.
    pub(super) fn add(&self, model: Arc<Listed>, threads: Threads) {
        let loading = ready(Ok(Arc::new(threads))).boxed().shared();
        let _ = loading.clone().now_or_never(); // from now on its value can be seen
        self.lock().push(Entry {
            model,
            loading,
            users: Arc::default(),
        });
    }

    /// Drops all models but these. Requests with others finish with them.
    pub(super) fn retain(&self, models: &[Arc<Listed>]) {
        let is_listed = |entry: &Entry| models.iter().any(|it| Arc::ptr_eq(it, &entry.model));
        self.lock().retain(is_listed);
        self.freed.notify_waiters();
    }

    /// Returns the names of the models in memory, each with the statistics of its scheduler.
    pub(crate) fn stats(&self) -> Vec<(String, SchedulerStats)> {
        let entries = self.lock();
        let loaded = entries.iter().filter_map(|entry| {
            let stats = entry.threads()?.scheduler().stats();
            Some((entry.model.name.clone(), stats))
        });
        loaded.collect()
    }

    /// Estimates the seconds until the waiting sentences of a caller are translated.
    pub(crate) fn seconds_before(&self, caller: u64) -> f64 {
        let entries = self.lock();
        let loaded = entries.iter().filter_map(Entry::threads);
        loaded
            .map(|threads| seconds_before(threads.scheduler(), caller))
            .sum()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
