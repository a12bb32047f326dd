//! A training run from beginning to end (§5): `train(experiment)` makes a model directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use burn::module::Module;
use burn::tensor::Device;
use transformer_core::Transformer;
use transformer_core::device::is_cpu_memory;
use transformer_infer::BatchLimits;

use crate::checkpoint::{Publisher, Resumed};
use crate::config::Experiment;
use crate::corpus::{Fingerprint, IfMissing, StoreLocation, contains_only_stores};
use crate::optim::Schedule;
use crate::progress::{LogFn, Progress, StatusFn};
use crate::run::{Existing, Finish, Folder, Prepared, Start, learn};
use crate::step::{LabelSmoothing, Objective, Settings, Threads, Translation};
use crate::validation::{
    Sample, Samples, TextMetrics, TextScores, Validation, best, is_out_of_patience,
};
use crate::{Interrupt, TrainError};

/// Says where a run happens and how it is shown.
#[derive(Clone)]
pub struct RunEnvironment {
    /// The run's folder.
    pub directory: PathBuf,
    /// What happens to a run that is in the folder already.
    pub existing: Existing,
    /// The device to train on, without autodiff; of several the one that validates and saves.
    pub device: Device,
    /// The others that share each update with it, one less than `training.devices` says.
    pub more_devices: Vec<Device>,
    /// Number of threads that share an update.
    pub threads: ThreadCount,
    /// Takes the lines for the user.
    pub log: LogFn,
    /// How progress is shown between them.
    pub display: Display,
    /// Takes what is shown while text is read; without it, lines come now and then.
    pub status: Option<StatusFn>,
    /// Asked by the program to end the run.
    pub interrupt: Interrupt,
}

impl RunEnvironment {
    /// Returns what tells the user what happens before the first update.
    pub(crate) fn progress(&self) -> Progress {
        Progress::new(&self.log, self.status.as_ref(), &self.interrupt)
    }
}

impl std::fmt::Debug for RunEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunEnvironment")
            .field("directory", &self.directory)
            .field("device", &self.device)
            .field("more_devices", &self.more_devices)
            .field("threads", &self.threads)
            .field("display", &self.display)
            .finish_non_exhaustive()
    }
}

impl RunEnvironment {
    /// Returns all devices, the first of which validates and saves.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let more = self.more_devices.iter().cloned();
        std::iter::once(self.device.clone()).chain(more).collect()
    }

    /// Refuses devices that are not as many as the experiment has.
    fn check_devices(&self, experiment: &Experiment) -> Result<(), TrainError> {
        let (wanted, given) = (experiment.training.devices, self.devices().len());
        if wanted == given as u64 {
            return Ok(());
        }
        Err(TrainError::OtherDevices { wanted, given })
    }

    /// Returns the devices as they are printed.
    pub(crate) fn device_names(&self) -> String {
        let names = self.devices().into_iter();
        let names: Vec<String> = names.map(|device| format!("{device:?}")).collect();
        names.join(", ")
    }
}

/// Says how many threads share an update.
///
/// More than one pays where tensors lie in the computer's memory (flex, ndarray, libtorch): single operations leave most of
/// a second core idle. The number is part of what fixes a run's weights to the last
/// bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadCount {
    /// So many, whatever a run that goes on began with.
    Exactly(usize),
    /// So many, unless a run goes on that began with another number.
    Suggested(usize),
}

/// Says how the progress of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// Burn's dashboard, which takes the whole terminal.
    Dashboard,
    /// One line for each interval.
    Lines,
}

/// Says what came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The model directory.
    pub model: PathBuf,
    /// Updates trained up to the last checkpoint.
    pub n_updates: u64,
    /// Whether the run ended because no validation was better than the best for too long.
    pub is_out_of_patience: bool,
    /// Time spent on training and validation.
    pub elapsed: Duration,
    /// True perplexity per target token on the validation pairs.
    pub valid_perplexity: f64,
    /// What the model's translations of validation pairs are worth, with the search of `[validation]`.
    pub text_scores: TextScores,
    /// What the model makes of the test pairs; only built-in tasks have such pairs.
    pub test: Option<TestScore>,
    /// Validation sentences, their references and what the model makes of them.
    pub samples: Vec<Sample>,
}

/// Counts the test pairs that are translated exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestScore {
    /// Pairs translated.
    pub n_pairs: usize,
    /// Pairs whose translation is the reference, character by character.
    pub n_exact: usize,
}

impl TestScore {
    /// Returns the share of exact translations, from 0 to 1.
    pub fn exact_match(&self) -> f64 {
        self.n_exact as f64 / self.n_pairs as f64
    }
}

/// Trains a model from beginning to end and leaves it in `directory/model`.
///
/// # Errors
///
/// Returns a [`TrainError`] whose text says what to do. The model of the last validation survives it.
pub fn train(experiment: &Experiment, environment: &RunEnvironment) -> Result<Outcome, TrainError> {
    experiment.validate()?;
    environment.check_devices(experiment)?;
    let log = &environment.log;
    let folder = Folder::new(&environment.directory);
    folder.check()?;
    // Nobody else may train in a folder that holds a run already; in a new one, from when it is made.
    let held = folder.holds_run().then(|| folder.lock()).transpose()?;
    let mut resumed = folder.resume(experiment, environment.existing, log)?;
    let start = Start::new(experiment, &folder, resumed.is_some())?;
    // A run that fails on its data leaves nothing behind, and takes nothing away.
    let directory = &environment.directory;
    let place = StoreLocation::of(experiment, directory, start.base.as_ref(), IfMissing::Build)?;
    let interrupt = &environment.interrupt;
    let progress = environment.progress();
    let mut prepared = Prepared::new(experiment, start, place.clone(), &progress)?;
    let model = prepared.model(experiment.training.seed, &environment.device)?;
    // In this order: who asks hears either that nothing is begun, which is so, or that an interval is waited for.
    interrupt.begin_training();
    if interrupt.is_requested() {
        return Err(TrainError::Interrupted);
    }
    prepared.warn(experiment, log);
    let lock = match held {
        Some(lock) => lock,
        None => folder.claim()?,
    };
    accept(&folder, experiment, resumed.as_ref(), prepared.fingerprint)?;
    if let Some(resumed) = &mut resumed {
        prepared.plan.restore_pass_starts(&resumed.state.passes);
        compare_validations(resumed, measure(experiment, &prepared), experiment, log);
    }
    if let Some(place) = place {
        place.remove_others();
    }
    let n_threads = n_threads(environment, resumed.as_ref());
    let publisher = publisher(experiment, &folder, &prepared, n_threads)?;
    let run = Run {
        experiment,
        environment,
        folder,
        prepared,
        publisher,
        resumed,
        n_threads,
    };
    let started = Instant::now();
    let objective = run.objective(model);
    let begun = run.begun();
    let was_patient = !is_out_of_patience(run.validations(), &experiment.training);
    if begun.n_updates < experiment.training.updates && was_patient {
        learn(&run, &objective)?;
    }
    let finish = Finish::new(&run, objective.valid());
    let best = finish.choose()?;
    let outcome = finish.publish(best, begun.elapsed + started.elapsed());
    drop(lock);
    outcome
}

/// Makes the folder that of this run, whose text has this fingerprint, or refuses to go on there.
fn accept(
    folder: &Folder,
    experiment: &Experiment,
    resumed: Option<&Resumed>,
    fingerprint: u64,
) -> Result<(), TrainError> {
    let Some(resumed) = resumed else {
        return folder.create(experiment);
    };
    resumed.check_corpus(fingerprint, &folder.directory)?;
    resumed.delete_newer(&folder.checkpoints)?;
    folder.write_settings(experiment)
}

/// Returns a fingerprint of what is validated on, and how: of two with the same, perplexities and scores can be compared.
fn measure(experiment: &Experiment, prepared: &Prepared) -> u64 {
    let mut fingerprint = Fingerprint::default();
    for pair in &prepared.valid {
        fingerprint.push(&pair.src, &pair.tgt);
    }
    let validation = &experiment.validation;
    let search = validation.search(validation.interval_beam_size);
    let how = (search, validation.max_sentences, validation.tokenize);
    let how = serde_json::to_string(&how).expect("settings are numbers and names");
    let how: Vec<u32> = how.bytes().map(u32::from).collect();
    fingerprint.push(&how, &[]);
    fingerprint.value()
}

/// Forgets the validations of a run that goes on if they were of something else, or measured in another way, than those to
/// come; the best checkpoints by them are kept from then on.
fn compare_validations(resumed: &mut Resumed, measure: u64, experiment: &Experiment, log: &LogFn) {
    let state = &mut resumed.state;
    let training = &experiment.training;
    if state.measure.is_some_and(|before| before != measure) {
        let best = best(&state.validations, training.best_by, training.n_best());
        state.pinned.extend(best);
        log(&format!(
            "validation  on other pairs, or measured in another way, than before: the {} validations so far are not \
             compared with those to come; the best checkpoints by them stay",
            state.validations.len()
        ));
        state.validations.clear();
    }
}

/// Returns what writes the run's models, and says in their manifests how they were trained.
fn publisher(
    experiment: &Experiment,
    folder: &Folder,
    prepared: &Prepared,
    n_threads: usize,
) -> Result<Publisher, TrainError> {
    Ok(Publisher {
        directory: folder.model.clone(),
        config: prepared.config.clone(),
        tokenizers: prepared.tokenizers.clone(),
        training: serde_json::json!({
            "program": concat!("transformer-train ", env!("CARGO_PKG_VERSION")),
            "n_threads": n_threads,
            "experiment": experiment.to_toml()?,
            "search": experiment.validation.search(experiment.validation.beam_size),
        }),
    })
}

/// Says whether the folder holds exactly this run, stopped before its end, with nobody at work on it: or before
/// its beginning, with nothing but the stores of its text.
pub fn is_unfinished(directory: &Path, experiment: &Experiment) -> bool {
    contains_only_stores(directory) || Folder::new(directory).is_unfinished(experiment)
}

/// Says how a run goes on, if it does, and returns the number of threads that share an update.
fn n_threads(environment: &RunEnvironment, resumed: Option<&Resumed>) -> usize {
    let log = |line: &str| (environment.log)(line);
    let (ThreadCount::Exactly(given) | ThreadCount::Suggested(given)) = environment.threads;
    let n_threads = match (environment.threads, resumed) {
        // A GPU is shared by no threads: it has a queue, and one generator of dropout.
        _ if !is_cpu_memory(&environment.device) => 1,
        (ThreadCount::Suggested(_), Some(Resumed { state, .. })) => state.n_threads,
        _ => given.max(1),
    };
    if let Some(Resumed { state, .. }) = resumed {
        log(&format!("resumed     after update {}", state.updates));
        let device = environment.device_names();
        if (state.n_threads, &state.device) != (n_threads, &device) {
            log(&format!(
                "resumed     begun on {} with {} thread(s) to an update: the same sentences, but other rounding, and other \
                 dropout",
                state.device, state.n_threads
            ));
        }
    }
    log(&format!("threads     {n_threads} to an update"));
    n_threads
}

/// Says what of a run was done before this program began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begun {
    pub(crate) n_updates: u64,
    pub(crate) elapsed: Duration,
}

/// Holds everything that the parts of a run share.
pub(crate) struct Run<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) environment: &'a RunEnvironment,
    pub(crate) folder: Folder,
    pub(crate) prepared: Prepared,
    pub(crate) publisher: Publisher,
    /// The checkpoint that the run goes on from.
    pub(crate) resumed: Option<Resumed>,
    /// Number of threads that share an update.
    pub(crate) n_threads: usize,
}

impl Run<'_> {
    /// Tells the user something.
    pub(crate) fn log(&self, line: &str) {
        (self.environment.log)(line);
    }

    /// Returns what was done before this program began.
    pub(crate) fn begun(&self) -> Begun {
        self.resumed
            .as_ref()
            .map_or_else(Begun::default, |resumed| Begun {
                n_updates: resumed.state.updates,
                elapsed: resumed.state.elapsed(),
            })
    }

    /// Returns the model directory, if it has a model yet.
    pub(crate) fn saved_model(&self) -> Option<PathBuf> {
        let model = &self.folder.model;
        model.join("manifest.json").exists().then(|| model.clone())
    }

    /// Returns what the validations before this program found.
    pub(crate) fn validations(&self) -> &[Validation] {
        self.resumed
            .as_ref()
            .map_or(&[], |resumed| &resumed.state.validations)
    }

    /// Returns the checkpoints that were the best by other measures than that of now.
    pub(crate) fn pinned(&self) -> &[usize] {
        self.resumed
            .as_ref()
            .map_or(&[], |resumed| &resumed.state.pinned)
    }

    /// Returns the sentences that are shown at every validation.
    fn samples(&self) -> Samples {
        let n_samples = self.experiment.validation.n_samples;
        let sentences = self.prepared.valid.iter().zip(&self.prepared.valid_text);
        Samples::new(sentences.take(n_samples))
    }

    pub(crate) fn schedule(&self) -> Schedule {
        Schedule::new(&self.experiment.training, self.prepared.config.d_model)
            .after(self.begun().n_updates)
    }

    /// Returns the fingerprint of what this run is validated on, and how.
    pub(crate) fn measure(&self) -> u64 {
        measure(self.experiment, &self.prepared)
    }

    /// Returns how translations are scored.
    pub(crate) fn text_metrics(&self) -> TextMetrics {
        TextMetrics::new(
            self.experiment.data.task.is_some(),
            self.experiment.validation.tokenize,
        )
    }

    /// Returns how much is translated at once, and what is cut: nothing that was read whole, but where the model
    /// has no places for it.
    pub(crate) fn limits(&self) -> BatchLimits {
        let limits = BatchLimits::default();
        let max_src_len = limits.max_src_len.max(self.experiment.data.max_len);
        let limits = BatchLimits {
            max_src_len,
            ..limits
        };
        limits.within(&self.prepared.config)
    }

    /// Puts a model together with how it is trained.
    fn objective(&self, model: Transformer) -> Objective {
        let (training, validation) = (&self.experiment.training, &self.experiment.validation);
        self.log(&format!("model       {} parameters", model.num_params()));
        let settings = Settings {
            smoothing: LabelSmoothing {
                epsilon: training.label_smoothing,
                form: training.label_smoothing_form,
            },
            clip_norm: training.clip_norm,
            ema_decay: training.ema_decay,
            n_updates: Arc::default(),
            pending_norms: Arc::default(),
            translation: Translation {
                search: validation.search(validation.interval_beam_size),
                limits: self.limits(),
                tokenizer: self.prepared.tokenizers.tgt().clone(),
                metrics: self.text_metrics(),
                samples: self.samples(),
            },
            threads: Threads::new(self.n_threads),
        };
        Objective::new(model, settings)
    }
}
