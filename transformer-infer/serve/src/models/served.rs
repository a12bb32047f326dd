//! [`Served`]: a model of the server; [`Route`]: the one or two models that translate between two languages.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use transformer_core::directory::{Languages, Manifest};
use transformer_core::text::language_codes::closest;
use transformer_core::text::{Direction, DirectionError, LanguageCode, LanguageTokens};
use transformer_documents::Protection;
use transformer_translate::Translator;
use transformer_translate::scheduler::{Scheduler, SchedulerStats};

use super::ModelFacts;
use crate::http::ApiError;

/// The source and the target language of a translation.
pub(super) type Pair<'a> = (&'a LanguageCode, &'a LanguageCode);

/// A model with its translation threads. They end with the last request that uses it.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The name, which is that of the model's folder.
    pub(crate) name: String,
    /// The path in the server's options.
    pub(super) path: PathBuf,
    /// The manifest of the loaded files.
    pub(super) manifest: Manifest,
    /// The facts about the model.
    pub(crate) facts: ModelFacts,
    pub(super) threads: Arc<Threads>,
    /// The languages: those of the model, or those that a request gives to a multilingual model.
    pub(crate) languages: Languages,
    /// The tokens of the languages that a request gives to a multilingual model.
    pub(crate) direction: Option<Direction>,
    /// True if translations are checked.
    pub(super) is_checked: bool,
    /// Maximum number of waiting tokens.
    pub(super) max_queue_tokens: usize,
}

/// The scheduler; present until this is dropped.
#[derive(Debug)]
pub(super) struct Threads(pub(super) Option<Scheduler>);

impl Served {
    /// Returns the text that is copied, with the check of translations.
    pub(crate) fn protection(&self) -> Protection {
        let protection = Protection::placeholders();
        match self.is_checked {
            true => protection.with_check(self.languages.tgt.as_ref()),
            false => protection,
        }
    }

    /// Returns the languages of a multilingual model.
    pub(crate) fn table(&self) -> Option<&LanguageTokens> {
        self.translator().tokenizers().tgt().languages()
    }

    /// Returns the pairs of languages that the model translates between. A language that is given is replaced by the
    /// closest one of the model.
    pub(super) fn pairs(&self, source: Option<&str>, target: Option<&str>) -> Vec<Pair<'_>> {
        let is_multilingual = self.table().is_some();
        let targets = self.targets(target);
        let sources = self.sources(source).into_iter();
        let pairs = sources.flat_map(|source| {
            let pairs = targets.iter().map(move |target| (source, *target));
            pairs.filter(|(source, target)| !is_multilingual || source != target)
        });
        pairs.collect()
    }

    /// Returns the source language closest to a given one, or all of them.
    pub(crate) fn sources(&self, wanted: Option<&str>) -> Vec<&LanguageCode> {
        self.side(wanted, |languages| languages.src.as_ref())
    }

    /// Returns the target language closest to a given one, or all of them.
    pub(crate) fn targets(&self, wanted: Option<&str>) -> Vec<&LanguageCode> {
        self.side(wanted, |languages| languages.tgt.as_ref())
    }

    fn side<'a>(
        &'a self,
        wanted: Option<&str>,
        known: impl Fn(&'a Languages) -> Option<&'a LanguageCode>,
    ) -> Vec<&'a LanguageCode> {
        let Some(table) = self.table() else {
            let is_pair = self.languages.src.is_some() && self.languages.tgt.is_some();
            let known = known(&self.languages).filter(|_| is_pair);
            return match wanted {
                Some(wanted) => closest(wanted, known.into_iter()).into_iter().collect(),
                None => known.into_iter().collect(),
            };
        };
        match wanted {
            Some(wanted) => table
                .get(wanted)
                .map(|found| &found.code)
                .into_iter()
                .collect(),
            None => table.all().iter().map(|language| &language.code).collect(),
        }
    }

    /// Returns the model for a translation between two languages, which only a multilingual model can choose.
    pub(super) fn between(
        self: &Arc<Self>,
        source: Option<&str>,
        target: Option<&str>,
    ) -> Result<Arc<Self>, ApiError> {
        let Some(table) = self.table() else {
            return Ok(self.clone());
        };
        let refused = |error| match error {
            DirectionError::Missing { side, example, .. } => ApiError::request(format!(
                "the model `{}` is multilingual; give `{side}`, such as {example}",
                self.name
            )),
            error => ApiError::request(error.to_string()),
        };
        let direction = self
            .translator()
            .direction(source, target)
            .map_err(refused)?;
        let code = |given: Option<&str>, default: &Option<LanguageCode>| match given {
            Some(given) => table.get(given).map(|found| found.code.clone()),
            None => default.clone(),
        };
        Ok(Arc::new(Self {
            languages: Languages {
                src: code(source, &self.languages.src),
                tgt: code(target, &self.languages.tgt),
            },
            direction: Some(direction),
            ..Self::clone(self)
        }))
    }

    /// Returns the scheduler, which translates lines of many requests at once.
    ///
    /// # Panics
    ///
    /// Never panics: the scheduler is there until this value is dropped.
    pub(crate) fn scheduler(&self) -> &Scheduler {
        let scheduler = self.threads.0.as_ref();
        scheduler.expect("only `drop` takes the scheduler")
    }

    /// Estimates the seconds until a caller's waiting tokens are translated at the speed so far.
    pub(crate) fn seconds_before(&self, caller: u64) -> f64 {
        match self.scheduler().n_tokens_before(caller, 0) {
            0 => 0.0,
            n_tokens => n_tokens as f64 * self.seconds_per_token(&self.scheduler().stats()),
        }
    }

    /// Estimates the seconds until the queue has room for `n_tokens` of a caller: until the tokens beyond the limit are
    /// translated, or all of the caller's, if that is sooner.
    pub(crate) fn seconds_before_room(&self, caller: u64, n_tokens: usize) -> f64 {
        let stats = self.scheduler().stats();
        let wanted = stats.n_queued_tokens.saturating_add(n_tokens);
        let excess = wanted.saturating_sub(self.max_queue_tokens);
        let n_tokens = excess.min(self.scheduler().n_tokens_before(caller, n_tokens));
        n_tokens as f64 * self.seconds_per_token(&stats)
    }

    fn seconds_per_token(&self, stats: &SchedulerStats) -> f64 {
        let totals = &stats.totals;
        let seconds = (totals.encoding + totals.decoding).as_secs_f64();
        let of_all_threads = seconds / self.translator().n_threads() as f64;
        of_all_threads / totals.n_src_tokens.max(1) as f64
    }

    /// Returns the model itself.
    pub(crate) fn translator(&self) -> &Arc<Translator> {
        self.scheduler().translator()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting for its threads would block a thread that answers requests. If no thread can be started, this one
        // waits.
        let scheduler = self.0.take();
        let _ = thread::Builder::new().spawn(move || drop(scheduler));
    }
}

/// The models that translate in turn.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// One model.
    Direct(Arc<Served>),
    /// Through a third language.
    Pivot {
        /// Translates into the third language.
        first: Arc<Served>,
        /// Translates from the third language.
        second: Arc<Served>,
    },
}

impl Route {
    /// Returns the model that reads the source.
    pub(crate) fn first(&self) -> &Arc<Served> {
        match self {
            Self::Direct(served) | Self::Pivot { first: served, .. } => served,
        }
    }

    /// Returns the model that writes the translation.
    pub(crate) fn last(&self) -> &Arc<Served> {
        match self {
            Self::Direct(served) | Self::Pivot { second: served, .. } => served,
        }
    }

    /// Returns the language of the source, if known.
    pub(crate) fn source(&self) -> Option<&LanguageCode> {
        self.first().languages.src.as_ref()
    }

    /// Returns the language of the translation, if known.
    pub(crate) fn target(&self) -> Option<&LanguageCode> {
        self.last().languages.tgt.as_ref()
    }

    /// Returns the models, in the order in which they translate.
    pub(crate) fn models(&self) -> impl Iterator<Item = &Arc<Served>> {
        let (first, second) = match self {
            Self::Direct(served) => (served, None),
            Self::Pivot { first, second } => (first, Some(second)),
        };
        [first].into_iter().chain(second)
    }

    /// Returns the name of the model, or the names of both with a `+` between them.
    pub(crate) fn name(&self) -> String {
        let names: Vec<&str> = self.models().map(|it| it.name.as_str()).collect();
        names.join("+")
    }
}
