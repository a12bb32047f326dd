//! [`Pool`]: the models in memory. A model is loaded when a request needs it, and dropped when another needs its place.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use burn::tensor::Device;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, Notify, Semaphore};
use tokio::task::spawn_blocking;
use transformer_core::text::one_line;

use super::load::{checked, open};
use super::places::{Entry, Loading, Places, different, in_memory};
use super::served::{Threads, seconds_before};
use super::{Choice, Listed, Route, Served};
use crate::config::ServeOptions;
use crate::http::ApiError;
use crate::metrics::{Loads, ModelStats};

const MAX_LOADS: usize = 4;

#[derive(Debug)]
pub(crate) struct Pool {
    pub(super) options: Arc<ServeOptions>,
    pub(super) device: Device,
    places: Mutex<Places>,
    freed: Notify,
    /// Held by the request that waits for a place. The others queue for it in their order.
    turn: Turn<()>,
    permits: Semaphore,
    loads: Loads,
}

#[derive(Debug)]
pub(super) struct Use {
    user: Option<Arc<()>>,
    pool: Arc<Pool>,
}

impl Drop for Use {
    fn drop(&mut self) {
        self.user = None;
        self.pool.tidy();
    }
}

/// Lets other requests queue while this one waits for a place.
struct Awaiting<'a>(&'a Pool);

impl Drop for Awaiting<'_> {
    fn drop(&mut self) {
        self.0.places.lock().awaited = None;
    }
}

impl Pool {
    pub(crate) fn new(options: Arc<ServeOptions>, device: Device, loads: Loads) -> Self {
        Self {
            options,
            device,
            places: Mutex::default(),
            freed: Notify::new(),
            turn: Turn::default(),
            permits: Semaphore::new(MAX_LOADS),
            loads,
        }
    }

    /// Returns the models of a request, or of a file, once they are in memory. Requests for the same model wait for one
    /// loading. A model that cannot be loaded is tried again after a pause.
    ///
    /// If `--keep` allows no more models, and all are in use, requests wait in their order. Each gets all of its models at
    /// once, so that two requests never wait for each other.
    pub(crate) async fn route(
        self: &Arc<Self>,
        choices: Vec<Choice>,
        is_file: bool,
    ) -> Result<Route, ApiError> {
        let started = match self.start(&choices, is_file, false) {
            Some(started) => started,
            None => self.start_in_turn(&choices, is_file).await?,
        };
        let mut served = Vec::new();
        for (choice, (loading, of_request)) in choices.into_iter().zip(started) {
            let threads = loading.await.map_err(|_| not_loaded(&choice.model))?;
            let options = self.options.clone();
            served.push(Arc::new(Served::new(choice, options, threads, of_request)?));
        }
        let mut served = served.into_iter();
        Ok(Route {
            first: served.next().ok_or(ApiError::Internal)?,
            second: served.next(),
        })
    }

    pub(crate) fn loaded(self: &Arc<Self>, choice: &Choice) -> Option<Served> {
        let places = self.places.lock();
        let entry = places.find(&choice.model)?;
        let (threads, user) = (entry.threads()?.clone(), entry.users.clone());
        drop(places);
        let of_request = self.in_use(user);
        Served::new(choice.clone(), self.options.clone(), threads, of_request).ok()
    }

    fn in_use(self: &Arc<Self>, user: Arc<()>) -> Use {
        Use {
            user: Some(user),
            pool: self.clone(),
        }
    }

    /// Waits until it is this request's turn and there are places, and starts to load its models.
    ///
    /// Other requests queue meanwhile. They do not for a file that needs a place of another file, which may take hours: it
    /// gives up its turn, and queues again when a place may have become free.
    async fn start_in_turn(
        self: &Arc<Self>,
        choices: &[Choice],
        is_file: bool,
    ) -> Result<Vec<(Loading, Use)>, ApiError> {
        let mut is_checked = false;
        let mut turn = None;
        loop {
            if turn.is_none() {
                let guard = self.turn.lock().await;
                // Dropped in this order, so that it does not forget the models of the next one.
                turn = Some((Awaiting(self), guard));
            }
            if !is_checked {
                self.check(choices).await?;
                is_checked = true;
            }
            let mut freed = pin!(self.freed.notified());
            freed.as_mut().enable();
            let others_queue =
                !is_file || self.places.lock().comes_soon(choices, self.options.keep);
            self.places.lock().awaited = others_queue.then(|| choices.to_vec());
            if let Some(started) = self.start(choices, is_file, true) {
                return Ok(started);
            }
            if !others_queue {
                turn = None;
            }
            freed.await;
        }
    }

    /// Checks all files of models that are not in memory: no other is dropped for a broken one.
    async fn check(&self, choices: &[Choice]) -> Result<(), ApiError> {
        for Choice { model, .. } in choices {
            if self.places.lock().find(model).is_some() {
                continue;
            }
            let (start, listing) = (Instant::now(), model.clone());
            let work = spawn_blocking(move || match checked(&listing.path) {
                Ok(now) => same_languages(&now, &listing),
                Err(error) => Err(one_line(&error)),
            });
            if let Err(error) = work.await.map_err(|_| ApiError::Internal)? {
                self.failed(model, &error, start);
                let failed = in_memory(Err(Instant::now()));
                self.places.lock().entries.push(Entry::new(model, failed));
                return Err(not_loaded(model));
            }
        }
        Ok(())
    }

    /// Starts to load models that are not in memory; `None` if the request waits for its turn, or for places in use.
    fn start(
        self: &Arc<Self>,
        choices: &[Choice],
        is_file: bool,
        is_first: bool,
    ) -> Option<Vec<(Loading, Use)>> {
        let mut places = self.places.lock();
        places.tidy();
        if !is_first && places.must_queue(choices) {
            return None;
        }
        let wanted = different(choices);
        let is_wanted = |model: &Arc<Listed>| wanted.iter().any(|it| Arc::ptr_eq(it, model));
        let missing = wanted.iter().filter(|model| places.find(model).is_none());
        let missing: Vec<&Arc<Listed>> = missing.copied().collect();
        let mut dropped = Vec::new();
        let n_over = places.n_over(&wanted, self.options.keep);
        let can_go = |entry: &Entry| entry.is_idle() && !is_wanted(&entry.model);
        let n_idle = places.entries.iter().filter(|it| can_go(it)).count();
        if n_idle < n_over || n_over > 0 && !is_first {
            return None;
        }
        for _ in 0..n_over {
            let oldest = places.entries.iter().position(can_go)?;
            tracing::info!(model = places.entries[oldest].model.name, "model dropped");
            dropped.extend(places.remove(oldest));
        }
        for model in missing {
            let loading = self.load(model, std::mem::take(&mut dropped));
            places.entries.push(Entry::new(model, loading));
        }
        places.entries.sort_by_key(|entry| is_wanted(&entry.model)); // stable: the others stay in their order
        let of_choice = |choice: &Choice| {
            let entry = places.find(&choice.model)?;
            let user = if is_file { &entry.files } else { &entry.users };
            Some((entry.loading.clone(), user.clone()))
        };
        let started: Option<Vec<_>> = choices.iter().map(of_choice).collect();
        drop(places); // a dropped `Use` locks it
        let started = started?.into_iter();
        Some(
            started
                .map(|(loading, user)| (loading, self.in_use(user)))
                .collect(),
        )
    }

    /// Loads a model after those that were dropped for it are freed, to the end even if no request waits for it.
    fn load(self: &Arc<Self>, model: &Arc<Listed>, dropped: Vec<Arc<Threads>>) -> Loading {
        let (pool, model) = (self.clone(), model.clone());
        let work = async move {
            let _permit = pool.permits.acquire().await;
            let of_thread = pool.clone();
            let work = spawn_blocking(move || {
                dropped.into_iter().for_each(Threads::free);
                of_thread.open(&model)
            });
            work.await.unwrap_or_else(|_| Err(Instant::now()))
        };
        let loading = work.boxed().shared();
        let (finished, pool) = (loading.clone(), self.clone());
        tokio::spawn(async move {
            let _ = finished.await;
            pool.tidy();
        });
        loading
    }

    fn open(&self, model: &Listed) -> Result<Arc<Threads>, Instant> {
        let start = Instant::now();
        let loaded = open(&model.path, &self.options, &self.device);
        let loaded = loaded.map_err(|error| one_line(&error));
        match loaded.and_then(|(now, threads)| same_languages(&now, model).map(|()| threads)) {
            Ok(threads) => {
                self.loads.ended(true, start.elapsed());
                tracing::info!(model = model.name, "model loaded");
                Ok(Arc::new(threads))
            }
            Err(error) => {
                self.failed(model, &error, start);
                Err(Instant::now())
            }
        }
    }

    fn failed(&self, model: &Listed, error: &str, start: Instant) {
        self.loads.ended(false, start.elapsed());
        tracing::error!(model = model.name, error, "cannot load the model");
    }

    pub(super) fn add(&self, model: &Arc<Listed>, threads: Threads) {
        let mut places = self.places.lock();
        places.listed.push(model.clone());
        let loaded = in_memory(Ok(Arc::new(threads)));
        places.entries.push(Entry::new(model, loaded));
    }

    /// Drops all models but these, after the requests that use them, and forgets failures.
    pub(super) fn retain(&self, models: &[Arc<Listed>]) {
        let mut places = self.places.lock();
        places.listed = models.to_vec();
        places.entries.retain(|entry| !entry.has_failed());
        places.forget_totals();
        drop(places);
        self.tidy();
    }

    pub(super) fn is_other(&self, model: &Arc<Listed>) -> bool {
        let places = self.places.lock();
        let threads = places.find(model).and_then(Entry::threads);
        threads.is_some_and(|threads| threads.manifest != model.manifest)
    }

    /// Returns the statistics of the models in memory, and the totals of those that were there, by name.
    pub(crate) fn stats(&self) -> BTreeMap<String, ModelStats> {
        let places = self.places.lock();
        let dropped = places.dropped.iter();
        let mut all: BTreeMap<String, ModelStats> = dropped
            .map(|(name, totals)| (name.clone(), ModelStats::of_dropped(*totals)))
            .collect();
        for entry in &places.entries {
            if let Some(threads) = entry.threads() {
                let stats = all.entry(entry.model.name.clone()).or_default();
                stats.add(&threads.scheduler().stats());
            }
        }
        all
    }

    /// Estimates the seconds until the waiting sentences of a caller are translated.
    pub(crate) fn seconds_before(&self, caller: u64) -> f64 {
        let places = self.places.lock();
        let loaded = places.entries.iter().filter_map(Entry::threads);
        loaded
            .map(|threads| seconds_before(threads.scheduler(), caller))
            .sum()
    }

    /// Drops what is no longer needed, and wakes the request that waits for a place.
    fn tidy(&self) {
        self.places.lock().tidy();
        self.freed.notify_waiters();
    }
}

fn not_loaded(model: &Listed) -> ApiError {
    ApiError::NotLoaded {
        name: model.name.clone(),
    }
}

/// Checks that a model still has the languages for which requests choose it.
fn same_languages(now: &Listed, model: &Listed) -> Result<(), String> {
    match now.languages == model.languages && now.table == model.table {
        true => Ok(()),
        false => Err("it has other languages now; reload the server".to_owned()),
    }
}
