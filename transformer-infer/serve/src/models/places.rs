//! [`Places`]: the models in memory, and who uses them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, ready};
use transformer_translate::scheduler::SchedulerTotals;

use super::served::Threads;
use super::{Choice, Listed};

/// Time after which a model that could not be loaded is tried again.
const PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Places {
    /// The models, the most recently used last.
    pub(super) entries: Vec<Entry>,
    /// The models of the server. Others are dropped after their last request.
    pub(super) listed: Vec<Arc<Listed>>,
    /// The models of the request that waits for a place, if any.
    pub(super) awaited: Option<Vec<Choice>>,
    /// The totals of models that were dropped, by name; only of listed names, of which there is a limited number.
    pub(super) dropped: BTreeMap<String, SchedulerTotals>,
}

/// The loading of a model, for all requests that wait for it. A failure has its time.
pub(super) type Loading = Shared<BoxFuture<'static, Result<Arc<Threads>, Instant>>>;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) model: Arc<Listed>,
    pub(super) loading: Loading,
    /// Cloned for each request with the model, unless it is a file.
    pub(super) users: Arc<()>,
    /// Cloned for each file, which may take hours.
    pub(super) files: Arc<()>,
}

impl Entry {
    pub(super) fn new(model: &Arc<Listed>, loading: Loading) -> Self {
        Self {
            model: model.clone(),
            loading,
            users: Arc::default(),
            files: Arc::default(),
        }
    }

    /// Returns the scheduler, if the model is loaded.
    pub(super) fn threads(&self) -> Option<&Arc<Threads>> {
        self.loading.peek()?.as_ref().ok()
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.loading.peek(), Some(Err(_)))
    }

    pub(super) fn has_files(&self) -> bool {
        Arc::strong_count(&self.files) > 1
    }

    pub(super) fn is_used(&self) -> bool {
        self.has_files() || Arc::strong_count(&self.users) > 1
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.model.is_kept && self.threads().is_some() && !self.is_used()
    }
}

impl Places {
    pub(super) fn find(&self, model: &Arc<Listed>) -> Option<&Entry> {
        self.entries.iter().find(|it| Arc::ptr_eq(&it.model, model))
    }

    /// Returns whether a request has to queue behind the one that waits for a place: because it needs a place too, or
    /// would keep a model in use that could be dropped for it.
    pub(super) fn must_queue(&self, choices: &[Choice]) -> bool {
        let Some(awaited) = &self.awaited else {
            return false;
        };
        choices.iter().any(|Choice { model, .. }| {
            let is_awaited = awaited.iter().any(|it| Arc::ptr_eq(&it.model, model));
            let entry = self.find(model);
            let stays = entry.is_some_and(|entry| entry.has_files() || entry.has_failed());
            !model.is_kept && !is_awaited && !stays
        })
    }

    /// Removes a model, which is freed once no request uses it.
    pub(super) fn remove(&mut self, index: usize) -> Option<Arc<Threads>> {
        let entry = self.entries.remove(index);
        let threads = entry.threads()?.clone();
        let totals = threads.scheduler().stats().totals;
        let name = entry.model.name.clone();
        if self.listed.iter().any(|model| model.name == name) {
            self.dropped.entry(name).or_default().add(&totals);
        }
        Some(threads)
    }

    pub(super) fn forget_totals(&mut self) {
        let listed = &self.listed;
        let is_listed = |name: &str| listed.iter().any(|model| model.name == name);
        self.dropped.retain(|name, _| is_listed(name));
    }

    /// Returns the number of models that have to be dropped before some models are in memory.
    pub(super) fn n_over(&self, wanted: &[&Arc<Listed>], keep: Option<NonZeroUsize>) -> usize {
        let Some(keep) = keep else {
            return 0;
        };
        let wanted = || wanted.iter().filter(|model| !model.is_kept);
        let n_needed = wanted().filter(|model| self.find(model).is_none()).count();
        let is_taken = |entry: &&Entry| !entry.has_failed() && !entry.model.is_kept;
        let n_taken = self.entries.iter().filter(is_taken).count();
        match n_needed {
            0 => 0,
            n_needed => (n_taken + n_needed).saturating_sub(keep.get().max(wanted().count())),
        }
    }

    /// Returns whether a request has its places as soon as others than files have ended.
    pub(super) fn comes_soon(&self, choices: &[Choice], keep: Option<NonZeroUsize>) -> bool {
        let wanted = different(choices);
        let goes_soon = |entry: &&Entry| {
            let is_wanted = wanted.iter().any(|it| Arc::ptr_eq(it, &entry.model));
            !(is_wanted || entry.model.is_kept || entry.has_files() || entry.has_failed())
        };
        self.n_over(&wanted, keep) <= self.entries.iter().filter(goes_soon).count()
    }

    /// Removes models that are no longer listed, after their last request, and failures after the pause.
    pub(super) fn tidy(&mut self) {
        for index in (0..self.entries.len()).rev() {
            let entry = &self.entries[index];
            let is_listed = self.listed.iter().any(|it| Arc::ptr_eq(it, &entry.model));
            let goes = match entry.loading.peek() {
                None => false,
                Some(Err(failed)) => !is_listed || failed.elapsed() >= PAUSE,
                Some(Ok(_)) => !is_listed && !entry.is_used(),
            };
            if goes {
                self.remove(index);
            }
        }
    }
}

pub(super) fn different(choices: &[Choice]) -> Vec<&Arc<Listed>> {
    let mut models: Vec<&Arc<Listed>> = choices.iter().map(|it| &it.model).collect();
    models.dedup_by(|a, b| Arc::ptr_eq(a, b));
    models
}

pub(super) fn in_memory(loaded: Result<Arc<Threads>, Instant>) -> Loading {
    let loading = ready(loaded).boxed().shared();
    let _ = loading.clone().now_or_never(); // from now on its value can be seen
    loading
}
