//! [`Served`]: a model of the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use transformer_core::directory::Manifest;
use transformer_core::text::LanguageCode;

use super::ModelFacts;
use transformer_translate::Translator;
use transformer_translate::scheduler::Scheduler;

/// A model with its translation threads. They end with the last request that uses it.
#[derive(Debug)]
pub(crate) struct Served {
    name: String,
    path: PathBuf,
    manifest: Manifest,
    facts: ModelFacts,
    /// Present until this is dropped.
    scheduler: Option<Scheduler>,
}

impl Served {
    pub(super) fn new(
        name: String,
        path: PathBuf,
        manifest: Manifest,
        facts: ModelFacts,
        scheduler: Scheduler,
    ) -> Self {
        Self {
            name,
            path,
            manifest,
            facts,
            scheduler: Some(scheduler),
        }
    }

    /// Returns the name, which is that of the model's folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path in the server's options.
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Returns the manifest of the loaded files.
    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the facts about the model.
    pub(crate) fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// Returns the languages, if both are known.
    pub(crate) fn languages(&self) -> Option<(&LanguageCode, &LanguageCode)> {
        let languages = self.translator().languages();
        Some((languages.src.as_ref()?, languages.tgt.as_ref()?))
    }

    /// Returns the scheduler, which translates lines of many requests at once.
    ///
    /// # Panics
    ///
    /// Never panics: the scheduler is there until this value is dropped.
    pub(crate) fn scheduler(&self) -> &Scheduler {
        let scheduler = self.scheduler.as_ref();
        scheduler.expect("only `drop` takes the scheduler")
    }

    /// Returns the model itself.
    pub(crate) fn translator(&self) -> &Arc<Translator> {
        self.scheduler().translator()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Waiting for its threads would block a thread that answers requests. If no thread can be started, this one
        // waits.
        let scheduler = self.scheduler.take();
        let _ = thread::Builder::new().spawn(move || drop(scheduler));
    }
}
