//! [`Loader`]: loads the models, and reloads those that changed; [`ModelFacts`]: facts about a model for its users.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use serde::Serialize;
use serde_json::Value;
use transformer_core::ModelDirectory;
use transformer_core::directory::{DirectoryError, Tokenizers};
use transformer_core::text::one_line;
use transformer_search::Search;
use transformer_translate::scheduler::{Scheduler, SchedulerOptions};
use transformer_translate::{Translator, TranslatorError};
use utoipa::ToSchema;

use super::served::Threads;
use super::{Models, Served};
use crate::config::{ServeError, ServeOptions};

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
        let models = old.all.iter().map(|served| match self.changed(served) {
            Ok(None) => {
                tracing::info!(model = served.name, "model unchanged");
                served.clone()
            }
            Ok(Some(new)) => {
                tracing::info!(model = served.name, "model reloaded");
                Arc::new(new)
            }
            Err(error) => {
                has_failed = true;
                let error = one_line(&error);
                tracing::error!(
                    model = served.name,
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
        let directory = ModelDirectory::open(&old.path)?;
        match *directory.manifest() == old.manifest {
            true => Ok(None),
            false => self.open(&old.path).map(Some),
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
        Ok(Served {
            name: name_of(path, directory.path()),
            path: path.to_owned(),
            manifest: directory.manifest().clone(),
            facts,
            languages: scheduler.translator().languages().clone(),
            direction: None,
            is_checked: self.options.check,
            max_queue_tokens: scheduling.max_queue_tokens,
            threads: Arc::new(Threads(Some(scheduler))),
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

/// The sizes of a model, its number format, its search, and its scores.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ModelFacts {
    /// Number of encoder layers.
    pub(crate) n_encoder_layers: usize,
    /// Number of decoder layers.
    pub(crate) n_decoder_layers: usize,
    /// Width of the model.
    pub(crate) d_model: usize,
    /// Width of the feed-forward layers.
    pub(crate) d_ff: usize,
    /// Number of heads.
    pub(crate) n_heads: usize,
    /// Number of parameters.
    pub(crate) n_parameters: usize,
    /// Number format of the matrix products, such as `f32` or `int8`; absent on devices other than CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) precision: Option<String>,
    /// Size of the source vocabulary, in tokens.
    pub(crate) src_vocab_size: usize,
    /// Size of the target vocabulary, in tokens.
    pub(crate) tgt_vocab_size: usize,
    /// True if source and target share a vocabulary.
    pub(crate) joint_vocabulary: bool,
    /// Number of hypotheses of beam search, unless the request has another; 1 is greedy search.
    pub(crate) beam_size: usize,
    /// All settings of the search.
    #[schema(value_type = Object)]
    pub(crate) search: Search,
    /// BLEU on the validation data, if the manifest has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bleu: Option<f64>,
    /// SacreBLEU's signature of the BLEU score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bleu_signature: Option<String>,
}

impl ModelFacts {
    /// Reads the facts of a model from its directory.
    pub(super) fn of(directory: &ModelDirectory, translator: &Translator) -> Self {
        let config = directory.config();
        let scores: &Value = &directory.manifest().training["scores"];
        let precision = translator.precisions().first().map(|it| it.name().into());
        Self {
            n_encoder_layers: config.n_encoder_layers,
            n_decoder_layers: config.n_decoder_layers,
            d_model: config.d_model,
            d_ff: config.d_ff,
            n_heads: config.n_heads,
            n_parameters: config.parameter_count(),
            precision,
            src_vocab_size: directory.tokenizers().src().vocab_size(),
            tgt_vocab_size: directory.tokenizers().tgt().vocab_size(),
            joint_vocabulary: matches!(directory.tokenizers(), Tokenizers::Joint(_)),
            beam_size: translator.search().beam_size,
            search: translator.search().clone(),
            bleu: scores["valid_bleu"].as_f64(),
            bleu_signature: scores["valid_bleu_signature"].as_str().map(str::to_owned),
        }
    }
}
