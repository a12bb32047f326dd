//! [`Loader`]: loads the models, and reloads those that changed.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use transformer_core::ModelDirectory;
use transformer_core::directory::DirectoryError;

use super::{ModelFacts, Models, Served};
use crate::config::{ServeError, ServeOptions};
use transformer_core::text::one_line;
use transformer_translate::scheduler::{Scheduler, SchedulerOptions};
use transformer_translate::{Translator, TranslatorError};

/// Loads the models of the options onto a device.
#[derive(Debug)]
pub(crate) struct Loader {
    options: Arc<ServeOptions>,
    device: Device,
    /// Locked during a reload, so that only one runs at a time.
    reloading: Mutex<()>,
}

/// The models after they were loaded again.
#[derive(Debug)]
pub(crate) struct Reloaded {
    pub(crate) models: Models,
    /// True if some models could not be loaded and are still the old ones.
    pub(crate) has_failed: bool,
}

impl Loader {
    pub(crate) fn new(options: Arc<ServeOptions>, device: Device) -> Self {
        Self {
            options,
            device,
            reloading: Mutex::new(()),
        }
    }

    /// Loads all models. Takes seconds.
    pub(crate) fn load(&self) -> Result<Models, ServeError> {
        let paths = self.options.models.iter();
        let models = paths.map(|path| self.open(path).map(Arc::new));
        let models = models.collect::<Result<_, _>>()?;
        Models::new(models, self.options.pivot.clone())
    }

    /// Loads the models with changed directories, and keeps the others. A model that cannot be loaded stays unchanged,
    /// with a line in the log. Takes seconds.
    pub(crate) fn reload(&self, old: &Models) -> Result<Reloaded, ServeError> {
        let _reloading = self
            .reloading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut has_failed = false;
        let models = old.all().iter().map(|served| match self.changed(served) {
            Ok(None) => {
                tracing::info!(model = served.name(), "model unchanged");
                served.clone()
            }
            Ok(Some(new)) => {
                tracing::info!(model = served.name(), "model reloaded");
                Arc::new(new)
            }
            Err(error) => {
                has_failed = true;
                let error = one_line(&error);
                tracing::error!(
                    model = served.name(),
                    error,
                    "cannot reload the model; the old one stays in use"
                );
                served.clone()
            }
        });
        let models: Vec<Arc<Served>> = models.collect();
        Ok(Reloaded {
            models: Models::new(models, self.options.pivot.clone())?,
            has_failed,
        })
    }

    /// Loads a model if its directory has changed.
    fn changed(&self, old: &Served) -> Result<Option<Served>, ServeError> {
        let directory = ModelDirectory::open(old.path())?;
        match directory.manifest() == old.manifest() {
            true => Ok(None),
            false => self.open(old.path()).map(Some),
        }
    }

    fn open(&self, path: &Path) -> Result<Served, ServeError> {
        let options = &self.options.open;
        // The facts are read from a directory, and must belong to the loaded model: if training replaces it meanwhile,
        // both are read again.
        let (directory, translator) = loop {
            let before = ModelDirectory::open(path)?;
            let translator = Translator::open_ensemble(&[path], &self.device, options)?;
            // Alignments and attention need the model in another form. Loaded now, it comes from the same files, and
            // the first request for it does not wait.
            let model = translator.model().map(|_| ());
            let after = ModelDirectory::open(path)?;
            if before.manifest() == after.manifest() {
                model.map_err(TranslatorError::from)?;
                break (after, translator);
            }
        };
        let facts = ModelFacts::of(&directory, &translator);
        let scheduling = SchedulerOptions {
            n_threads: options.n_threads,
            max_queue_tokens: self.options.limits.max_queue_tokens,
            ..SchedulerOptions::default()
        };
        let scheduler = Scheduler::new(Arc::new(translator), &scheduling)?;
        let manifest = directory.manifest().clone();
        let served = Served::new(
            name_of(path, directory.path()),
            path.to_owned(),
            manifest,
            facts,
            (scheduler, scheduling.max_queue_tokens),
        );
        Ok(match self.options.check {
            true => served.checked(),
            false => served,
        })
    }
}

/// Returns the name of a model's folder, or of the link to it. For `RUN/model`, the name in every run, it is `RUN`.
fn name_of(given: &Path, resolved: &Path) -> String {
    let name = |path: &Path| {
        // For `.` and `..`, only the operating system knows the name.
        let path = match path.file_name() {
            Some(_) => path.to_owned(),
            None => path.canonicalize().ok()?,
        };
        let name = path.file_name()?.to_string_lossy().into_owned();
        (name != "model").then_some(name)
    };
    let given = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
    let candidates = [Some(given.as_path()), Some(resolved), given.parent()];
    let found = candidates.into_iter().flatten().find_map(name);
    found.unwrap_or_else(|| "model".to_owned())
}

impl From<DirectoryError> for ServeError {
    fn from(error: DirectoryError) -> Self {
        TranslatorError::from(error).into()
    }
}
