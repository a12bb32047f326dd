//! [`Served`]: a model in memory, for a request; [`Route`]: the one or two models that translate between two languages.

use std::sync::Arc;
use std::thread;

use transformer_core::directory::{Languages, Manifest};
use transformer_core::text::{Direction, LanguageCode};
use transformer_documents::Protection;
use transformer_translate::Translator;
use transformer_translate::scheduler::{Scheduler, SchedulerStats};

use super::pool::Use;
use super::{Choice, Listed};
use crate::config::ServeOptions;
use crate::http::ApiError;

/// A model in memory, for a request. It stays there at least as long as this value.
#[derive(Debug)]
pub(crate) struct Served {
    pub(super) model: Arc<Listed>,
    pub(super) options: Arc<ServeOptions>,
    pub(super) threads: Arc<Threads>,
    /// The languages: those of the model, or those that the request gives to a multilingual model.
    pub(crate) languages: Languages,
    /// The tokens of the languages that the request gives to a multilingual model.
    pub(crate) direction: Option<Direction>,
    _use: Use,
}

/// A model in memory. Its threads end with the last request that uses it.
#[derive(Debug)]
pub(super) struct Threads {
    scheduler: Option<Scheduler>,
    pub(super) manifest: Manifest,
}

impl Threads {
    pub(super) fn new(scheduler: Scheduler, manifest: Manifest) -> Self {
        Self {
            scheduler: Some(scheduler),
            manifest,
        }
    }

    /// Waits for the threads, and frees the model, unless something still uses it.
    pub(super) fn free(this: Arc<Self>) {
        if let Ok(mut last) = Arc::try_unwrap(this) {
            drop(last.scheduler.take());
        }
    }

    pub(super) fn scheduler(&self) -> &Scheduler {
        let scheduler = self.scheduler.as_ref();
        scheduler.expect("only `drop` takes the scheduler")
    }
}

impl Served {
    pub(super) fn new(
        choice: Choice,
        options: Arc<ServeOptions>,
        threads: Arc<Threads>,
        of_request: Use,
    ) -> Result<Self, ApiError> {
        let Choice { model, given } = choice;
        let (mut languages, mut direction) = (model.languages.clone(), None);
        if let Some(table) = &model.table {
            let [source, target] = given.each_ref().map(Option::as_deref);
            let found = threads.scheduler().translator().direction(source, target);
            direction = Some(found.map_err(|error| ApiError::request(error.to_string()))?);
            for (given, code) in [(source, &mut languages.src), (target, &mut languages.tgt)] {
                if let Some(given) = given {
                    *code = table.get(given).map(|found| found.code.clone());
                }
            }
        }
        Ok(Self {
            languages,
            direction,
            model,
            options,
            threads,
            _use: of_request,
        })
    }

    /// Returns the text that is copied, with the check of translations.
    pub(crate) fn protection(&self) -> Protection {
        let protection = Protection::placeholders();
        match self.options.check {
            true => protection.with_check(self.languages.tgt.as_ref()),
            false => protection,
        }
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        self.threads.scheduler()
    }

    /// Estimates the seconds until the queue has room for `n_tokens` of a caller: until the tokens beyond the limit are
    /// translated, or all of the caller's, if that is sooner.
    pub(crate) fn seconds_before_room(&self, caller: u64, n_tokens: usize) -> f64 {
        let stats = self.scheduler().stats();
        let wanted = stats.n_queued_tokens.saturating_add(n_tokens);
        let excess = wanted.saturating_sub(self.options.limits.max_queue_tokens);
        let n_tokens = excess.min(self.scheduler().n_tokens_before(caller, n_tokens));
        n_tokens as f64 * seconds_per_token(self.scheduler(), &stats)
    }

    pub(crate) fn translator(&self) -> &Arc<Translator> {
        self.scheduler().translator()
    }
}

/// Estimates the seconds until a caller's waiting tokens are translated at the speed so far.
pub(super) fn seconds_before(scheduler: &Scheduler, caller: u64) -> f64 {
    match scheduler.n_tokens_before(caller, 0) {
        0 => 0.0,
        n_tokens => n_tokens as f64 * seconds_per_token(scheduler, &scheduler.stats()),
    }
}

fn seconds_per_token(scheduler: &Scheduler, stats: &SchedulerStats) -> f64 {
    let totals = &stats.totals;
    let seconds = (totals.encoding + totals.decoding).as_secs_f64();
    let of_all_threads = seconds / scheduler.translator().n_threads() as f64;
    of_all_threads / totals.n_src_tokens.max(1) as f64
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting for its threads would block a thread that answers requests. If no thread can be started, this one
        // waits.
        if let Some(scheduler) = self.scheduler.take() {
            let _ = thread::Builder::new().spawn(move || drop(scheduler));
        }
    }
}

/// The one or two models that translate in turn; two translate through a third language.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) first: Arc<Served>,
    /// Translates from the third language, if any.
    pub(crate) second: Option<Arc<Served>>,
}

impl Route {
    pub(crate) fn source(&self) -> Option<&LanguageCode> {
        self.first.languages.src.as_ref()
    }

    pub(crate) fn target(&self) -> Option<&LanguageCode> {
        let last = self.second.as_ref().unwrap_or(&self.first);
        last.languages.tgt.as_ref()
    }

    /// Returns the models, in the order in which they translate.
    pub(crate) fn models(&self) -> impl Iterator<Item = &Arc<Served>> {
        [&self.first].into_iter().chain(&self.second)
    }

    /// Returns the name of the model, or the names of both with a `+` between them.
    pub(crate) fn name(&self) -> String {
        let names: Vec<&str> = self.models().map(|it| it.model.name.as_str()).collect();
        names.join("+")
    }
}
