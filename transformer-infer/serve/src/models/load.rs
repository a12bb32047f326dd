//! [`Loader`]: loads the models, and reloads those that changed; [`ModelFacts`]: facts about a model for its users.

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, available_parallelism};

use burn::tensor::Device;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde_json::Value;
use transformer_core::ModelDirectory;
use transformer_core::directory::{DirectoryError, Tokenizers};
use transformer_core::text::one_line;
use transformer_search::Search;
use transformer_translate::scheduler::{Scheduler, SchedulerOptions};
use transformer_translate::{Translator, TranslatorError};
use utoipa::ToSchema;

use super::pool::Pool;
use super::served::Threads;
use super::set::check_pair;
use super::{Listed, Models};
use crate::config::{ServeError, ServeOptions};

#[derive(Debug)]
pub(crate) struct Loader {
    pool: Arc<Pool>,
    /// Locked during a reload, so that only one runs at a time.
    reloading: Mutex<()>,
}

#[derive(Debug)]
pub(crate) struct Reloaded {
    pub(crate) models: Models,
    /// True if some models could not be loaded and are still the old ones.
    pub(crate) has_failed: bool,
}

impl Loader {
    pub(crate) fn new(pool: Pool) -> Self {
        Self {
            pool: Arc::new(pool),
            reloading: Mutex::new(()),
        }
    }

    /// Lists all models, and loads those that stay in memory. Takes seconds.
    pub(crate) fn load(&self) -> Result<Models, ServeError> {
        let paths = self.pool.options.models.iter();
        let mut models = paths
            .map(|path| self.open_kept(path))
            .collect::<Result<_, _>>()?;
        self.add_found(&mut models, &[])?;
        self.pool.retain(&models);
        Models::new(models, self.pool.clone())
    }

    /// Lets no other reload begin. What is reloaded, and takes its place, must be the newest.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.reloading.lock()
    }

    /// Loads the models with changed directories, and keeps the others. A model that cannot be loaded stays unchanged,
    /// with a line in the log. Takes seconds.
    pub(crate) fn reload(&self, old: &Models) -> Result<Reloaded, ServeError> {
        let mut has_failed = false;
        let kept = old.all.iter().filter(|model| model.is_kept);
        let models = kept.map(|model| match self.changed(model) {
            Ok(None) => {
                tracing::info!(model = model.name, "model unchanged");
                model.clone()
            }
            Ok(Some(new)) => {
                tracing::info!(model = model.name, "model reloaded");
                new
            }
            Err(error) => {
                has_failed = true;
                let error = one_line(&error);
                tracing::error!(
                    model = model.name,
                    error,
                    "cannot reload the model; the old one stays in use"
                );
                model.clone()
            }
        });
        let mut models: Vec<Arc<Listed>> = models.collect();
        let reloaded = self.add_found(&mut models, &old.all).and_then(|is_right| {
            has_failed |= !is_right;
            Models::new(models, self.pool.clone())
        });
        let in_use = reloaded.as_ref().map_or(&old.all, |models| &models.all);
        self.pool.retain(in_use);
        Ok(Reloaded {
            models: reloaded?,
            has_failed,
        })
    }

    fn changed(&self, old: &Listed) -> Result<Option<Arc<Listed>>, ServeError> {
        let directory = ModelDirectory::open_without_weights(&*old.path)?;
        match *directory.manifest() == old.manifest {
            true => Ok(None),
            false => self.open_kept(&old.path).map(Some),
        }
    }

    fn open_kept(&self, path: &Path) -> Result<Arc<Listed>, ServeError> {
        let (listed, threads) = open(path, &self.pool.options, &self.pool.device)?;
        let precisions = threads.scheduler().translator().precisions();
        let mut listed = Listed {
            is_kept: true,
            ..listed
        };
        listed.facts.precision = precisions.first().map(|it| it.name().into());
        let listed = Arc::new(listed);
        self.pool.add(&listed, threads);
        Ok(listed)
    }

    /// Adds the models in the folder of models, without loading them. Models that have not changed are the `old` ones. A
    /// model that cannot be read is left out, or stays the old one, with a line in the log; so is one with the name or
    /// the languages of another. Returns whether all were added.
    fn add_found(
        &self,
        models: &mut Vec<Arc<Listed>>,
        old: &[Arc<Listed>],
    ) -> Result<bool, ServeError> {
        let Some(folder) = &self.pool.options.models_dir else {
            return Ok(true);
        };
        let refused = |source| ServeError::ModelsDir {
            path: folder.clone(),
            source,
        };
        let entries = fs::read_dir(folder).map_err(refused)?;
        let paths = entries.map(|entry| Ok(entry.map_err(refused)?.path()));
        let mut paths = paths.collect::<Result<Vec<PathBuf>, ServeError>>()?;
        paths.sort();
        let real = |path: &Path| path.canonicalize().ok();
        let kept: Vec<_> = models.iter().map(|model| real(&model.path)).collect();
        paths.retain(|path| path.is_dir() && !kept.contains(&real(path)));
        let mut is_right = true;
        for (path, listed) in paths.iter().zip(list_all(&paths)) {
            let same = |model: &&Arc<Listed>| model.path == **path && !model.is_kept;
            let known = old.iter().find(same);
            let wrong = |error: &ServeError| {
                let (path, error) = (path.display(), one_line(error));
                tracing::error!(%path, error, "cannot serve a model of --models-dir");
            };
            let model = match (listed, known) {
                (Ok(new), Some(known))
                    if known.manifest == new.manifest && !self.pool.is_other(known) =>
                {
                    known.clone()
                }
                (Ok(new), _) => Arc::new(new),
                (
                    Err(ServeError::Translator(TranslatorError::Directory(
                        DirectoryError::NotAModel { .. },
                    ))),
                    _,
                ) => continue,
                (Err(error), known) => {
                    is_right = false;
                    wrong(&error);
                    let Some(known) = known else { continue };
                    known.clone()
                }
            };
            match models.iter().try_for_each(|it| check_pair(it, &model)) {
                Ok(()) => models.push(model),
                Err(error) => {
                    is_right = false;
                    wrong(&error);
                }
            }
        }
        Ok(is_right)
    }
}

/// Lists models on all cores, in the order of their paths.
fn list_all(paths: &[PathBuf]) -> Vec<Result<Listed, ServeError>> {
    let n_cores = available_parallelism().map_or(1, usize::from);
    let parts = paths.chunks(paths.len().div_ceil(n_cores).max(1));
    thread::scope(|scope| {
        let list = |part: &[PathBuf]| part.iter().map(|path| listed(path)).collect::<Vec<_>>();
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || list(part))).collect();
        let lists = threads.into_iter().map(|thread| thread.join());
        lists
            .flat_map(|list| list.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

pub(super) fn listed(path: &Path) -> Result<Listed, ServeError> {
    listing(path, &ModelDirectory::open_without_weights(path)?)
}

/// Lists a model without loading it, if its files are as its manifest says.
pub(super) fn checked(path: &Path) -> Result<Listed, ServeError> {
    listing(path, &ModelDirectory::open(path)?)
}

fn listing(path: &Path, directory: &ModelDirectory) -> Result<Listed, ServeError> {
    Ok(Listed {
        name: name_of(path, directory.path()),
        path: path.to_owned(),
        manifest: directory.manifest().clone(),
        facts: ModelFacts::of(directory)?,
        languages: directory.languages().clone(),
        table: directory.tokenizers().tgt().languages().cloned(),
        is_kept: false,
    })
}

/// Loads a model. Takes seconds.
pub(super) fn open(
    path: &Path,
    options: &ServeOptions,
    device: &Device,
) -> Result<(Listed, Threads), ServeError> {
    // What is listed must belong to the loaded model: if training replaces it meanwhile, both are read again.
    let (listed, translator) = loop {
        let before = listed(path)?;
        let translator = Translator::open_ensemble(&[path], device, &options.open)?;
        let after = listed(path)?;
        if before.manifest == after.manifest {
            break (after, translator);
        }
    };
    let scheduling = SchedulerOptions {
        n_threads: options.open.n_threads,
        max_queue_tokens: options.limits.max_queue_tokens,
        ..SchedulerOptions::default()
    };
    let scheduler = Scheduler::new(Arc::new(translator), &scheduling)?;
    let threads = Threads::new(scheduler, listed.manifest.clone());
    Ok((listed, threads))
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
    /// Number format of the matrix products, such as `f32` or `int8`; absent on devices other than CPUs, and for
    /// models that are loaded on demand.
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
    fn of(directory: &ModelDirectory) -> Result<Self, ServeError> {
        let config = directory.config();
        let scores: &Value = &directory.manifest().training["scores"];
        let search = Translator::search_of(directory)?;
        Ok(Self {
            n_encoder_layers: config.n_encoder_layers,
            n_decoder_layers: config.n_decoder_layers,
            d_model: config.d_model,
            d_ff: config.d_ff,
            n_heads: config.n_heads,
            n_parameters: config.parameter_count(),
            precision: None,
            src_vocab_size: directory.tokenizers().src().vocab_size(),
            tgt_vocab_size: directory.tokenizers().tgt().vocab_size(),
            joint_vocabulary: matches!(directory.tokenizers(), Tokenizers::Joint(_)),
            beam_size: search.beam_size,
            search,
            bleu: scores["valid_bleu"].as_f64(),
            bleu_signature: scores["valid_bleu_signature"].as_str().map(str::to_owned),
        })
    }
}
