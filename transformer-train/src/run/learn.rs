//! Trains a model with Burn's Learner: loaders, metrics, optimizer, schedule and checkpoints
//! (§5.1–5.3).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::tensor::Device;
use burn_train::renderer::MetricsRenderer;
use burn_train::{Interrupter, Learner, SupervisedTraining};

use super::command_scorer::CommandScorer;
use super::environment::{Display, RunEnvironment};
use super::error::TrainError;
use super::folder::RunFolder;
use super::non_finite::{NonFinite, NonFiniteWatch, Quantity};
use super::prepare::Prepared;
use super::update_lines::lines_of_update;
use crate::batching::{ShardSpec, TrainLoader, UpdateGate};
use crate::checkpoint::{
    CheckpointWriter, EarlyStop, FollowStop, MODEL, ModelCheckpointer, NoCheckpoints, OPTIMIZER,
    OnPublish, PARTS, PartCheckpointer, Publisher, ReadOnlyCheckpointer, ResumePoint, Retention,
    SCHEDULER, checkpoints_with,
};
use crate::config::{Experiment, TensorBoard};
use crate::optim::{Adam, Schedule};
use crate::progress::DeferredLog;
use crate::report::{CsvLog, EventLog, LineRenderer, dashboard};
use crate::step::ranks::Ranks;
use crate::step::{Objective, WeightCheck, strategy};
use crate::validation::{
    History, HistoryLogger, LearningRate, MeanOfCorpora, OfCorpus, Ratio, Samples, TextMetric,
    ValidLoader, valid_batches,
};

/// The conditions that can end a training before its last update.
struct Control {
    interrupter: Interrupter,
    gate: Arc<UpdateGate>,
    watch: NonFiniteWatch,
    weights: WeightCheck,
}

impl Control {
    fn new(devices: &[Device], ranks: Ranks) -> Self {
        let interrupter = Interrupter::new();
        let gate = Arc::new(UpdateGate::new(&interrupter));
        Self {
            watch: NonFiniteWatch::new(devices, &interrupter, &gate),
            weights: WeightCheck::new(ranks),
            interrupter,
            gate,
        }
    }
}

/// Trains from a starting point to the last update, an interrupt or an error.
pub(crate) struct Learning<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) environment: &'a RunEnvironment,
    pub(crate) folder: &'a RunFolder,
    pub(crate) prepared: &'a Prepared,
    /// Publishes the model after each interval; `None` on processes that follow that of rank 0.
    pub(crate) publisher: Option<&'a Publisher>,
    pub(crate) start: &'a ResumePoint,
    pub(super) scorer: Option<&'a CommandScorer>,
}

impl Learning<'_> {
    /// Trains the model of `objective`; its weights are in the checkpoints afterwards.
    pub(crate) fn run(&self, objective: &Objective) -> Result<(), TrainError> {
        let devices = self.environment.devices();
        let control = Control::new(&devices, self.environment.ranks);
        let Control { watch, weights, .. } = &control;
        let deferred = DeferredLog::new(Arc::clone(&self.environment.log));
        let training = self.supervised(objective, &control, &deferred)?;
        let (optimizer, schedule) = self.optimizer();
        let result = training.launch(Learner::new(objective.clone(), optimizer, schedule));

        deferred.release_all();
        self.scorer.map_or(Ok(()), CommandScorer::finish_training)?;
        let model = self.folder.saved_model();
        if let Some(found) = watch.first() {
            let NonFinite {
                quantity,
                update,
                value,
            } = found;
            return Err(TrainError::NonFinite {
                update: update + 1,
                what: quantity.name(),
                value,
                // A validation depends on all previous updates.
                lines: match quantity {
                    Quantity::ValidLoss => Vec::new(),
                    Quantity::Loss | Quantity::GradientNorm => {
                        lines_of_update(self.experiment, self.prepared, update).unwrap_or_default()
                    }
                },
                model,
            });
        }
        if weights.has_failed() {
            let n_ranks = self.environment.ranks.n_ranks();
            return Err(TrainError::WeightsDiffer { n_ranks });
        }
        match result.error {
            Some(error) => Err(TrainError::Learner {
                reason: unwrapped(&error.to_string()),
                model,
            }),
            None => Ok(()),
        }
    }

    /// Assembles Burn's training, with an interval as its epoch.
    fn supervised(
        &self,
        objective: &Objective,
        control: &Control,
        deferred: &DeferredLog,
    ) -> Result<SupervisedTraining<Objective>, TrainError> {
        let training = &self.experiment.training;
        let samples = self.prepared.samples(self.experiment.validation.n_samples);
        let train = self.train_loader(&control.gate);
        let (plan, next_update) = (train.plan(), train.next_update());
        let valid = self.valid_loader(samples.clone(), control.weights.clone());
        let supervised = SupervisedTraining::<Objective>::new(
            &self.folder.checkpoints,
            Arc::new(train),
            Arc::new(valid),
        );
        let supervised = supervised
            .with_application_logger(None)
            .with_interrupter(control.interrupter.clone())
            .with_training_strategy(strategy(&self.environment.devices()).into())
            .num_epochs(training.updates.div_ceil(training.validation_interval) as usize);
        let supervised = match self.publisher {
            Some(publisher) => {
                let history = History::new(&self.start.state.validations);
                let writer = CheckpointWriter::new(
                    &self.folder.checkpoints,
                    &self.start.state,
                    training,
                    history.clone(),
                    plan,
                );
                let writer = Arc::new(writer);
                let model = ModelCheckpointer::new(
                    Arc::clone(&writer),
                    objective.valid(),
                    publisher,
                    training,
                    deferred.clone(),
                );
                let (csv_log, on_publish) = self.csv_log(samples.clone())?;
                let model = model.with_callback(on_publish);
                let supervised = match self.scorer {
                    Some(scorer) => {
                        supervised.metric_valid_numeric(scorer.metric(&control.interrupter))
                    }
                    None => supervised,
                };
                let supervised =
                    self.with_metrics(supervised, &control.watch, next_update, history.clone());
                let supervised = supervised.with_metric_logger(csv_log);
                let supervised = self.saving(supervised, model, &writer, &history);
                self.ending(supervised, history, control, deferred, samples)
            }
            None => self.following(supervised, deferred, samples),
        };
        Ok(match self.resumed_interval() {
            Some(interval) => supervised.checkpoint(interval),
            None => supervised,
        })
    }

    /// Adds the checkpointers, and the strategy that deletes outdated checkpoints.
    fn saving(
        &self,
        supervised: SupervisedTraining<Objective>,
        model: ModelCheckpointer,
        writer: &Arc<CheckpointWriter>,
        history: &History,
    ) -> SupervisedTraining<Objective> {
        let part = |part| PartCheckpointer {
            part,
            writer: Arc::clone(writer),
        };
        let training = &self.experiment.training;
        let retention = Retention::new(training, history.clone(), self.deletable_checkpoints());
        supervised
            .with_custom_checkpointers(model, part(OPTIMIZER), part(SCHEDULER))
            .with_checkpointing_strategy(retention)
    }

    /// Adds the strategy that ends the run early, and the renderer.
    fn ending(
        &self,
        supervised: SupervisedTraining<Objective>,
        history: History,
        control: &Control,
        deferred: &DeferredLog,
        samples: Samples,
    ) -> SupervisedTraining<Objective> {
        let dashboard_stop = Interrupter::new();
        let early_stop = EarlyStop::new(
            &self.environment.interrupt,
            &dashboard_stop,
            &self.experiment.training,
            history,
            control.weights.clone(),
        );
        supervised
            .early_stopping(early_stop)
            .renderer(self.renderer(samples, deferred, &dashboard_stop))
    }

    /// Adds the parts for a process other than rank 0, which shows and saves nothing.
    fn following(
        &self,
        supervised: SupervisedTraining<Objective>,
        deferred: &DeferredLog,
        samples: Samples,
    ) -> SupervisedTraining<Objective> {
        let training = &self.experiment.training;
        let part = |part| ReadOnlyCheckpointer::new(&self.folder.checkpoints, training, part);
        let stop = FollowStop {
            interrupt: self.environment.interrupt.clone(),
            ranks: self.environment.ranks,
        };
        supervised
            .with_custom_checkpointers(part(MODEL), part(OPTIMIZER), part(SCHEDULER))
            .with_checkpointing_strategy(NoCheckpoints)
            .early_stopping(stop)
            .renderer(self.renderer(samples, deferred, &Interrupter::new()))
    }

    /// Adds the metrics of training and validation, and the logger that writes the history from them.
    fn with_metrics(
        &self,
        supervised: SupervisedTraining<Objective>,
        watch: &NonFiniteWatch,
        next_update: Arc<AtomicU64>,
        history: History,
    ) -> SupervisedTraining<Objective> {
        let text_metrics = self.prepared.text_metrics(self.experiment);
        let numbers = &self.prepared.valid_numbers;
        let perplexity = MeanOfCorpora::geometric(Ratio::perplexity(), numbers.len());
        let bleu = MeanOfCorpora::arithmetic(TextMetric::bleu(text_metrics), numbers.len());
        let chrf = MeanOfCorpora::arithmetic(TextMetric::chrf(text_metrics), numbers.len());
        let loss = Ratio::loss(watch.valid_loss(next_update));
        let history_logger = HistoryLogger::new(history, &perplexity, &bleu, &chrf);
        let several = numbers.iter().enumerate().filter(|_| numbers.len() > 1);
        let supervised = several.fold(supervised, |supervised, (index, &number)| {
            supervised
                .metric_valid_numeric(OfCorpus::new(loss.clone(), index, number))
                .metric_valid_numeric(OfCorpus::new(Ratio::perplexity(), index, number))
                .metric_valid_numeric(OfCorpus::new(TextMetric::bleu(text_metrics), index, number))
                .metric_valid_numeric(OfCorpus::new(TextMetric::chrf(text_metrics), index, number))
        });
        supervised
            .metric_train_numeric(Ratio::loss(watch.loss()))
            .metric_train_numeric(Ratio::perplexity())
            .metric_train_numeric(Ratio::speed())
            .metric_train_numeric(Ratio::padding())
            .metric_train_numeric(Ratio::waiting())
            .metric_train_numeric(Ratio::gradient_norm(watch.gradient_norm()))
            .metric_train_numeric(LearningRate::default())
            .metric_valid_numeric(MeanOfCorpora::arithmetic(loss, numbers.len()))
            .metric_valid_numeric(perplexity)
            .metric_valid_numeric(Ratio::exact_match())
            .metric_valid_numeric(bleu)
            .metric_valid_numeric(chrf)
            .with_metric_logger(history_logger)
    }

    /// Returns the checkpoint at which the run resumes.
    fn resumed_interval(&self) -> Option<usize> {
        let n_done = self.start.state.updates;
        (n_done > 0).then(|| self.experiment.training.interval_of(n_done))
    }

    /// Returns the checkpoints that may be deleted: all except those that were the best under earlier validation
    /// settings, which are not comparable with later ones.
    fn deletable_checkpoints(&self) -> Vec<usize> {
        let checkpoints = &self.folder.checkpoints;
        // A checkpoint may have only some of its parts, if its deletion was interrupted.
        let existing = PARTS
            .iter()
            .flat_map(|part| checkpoints_with(checkpoints, part));
        existing
            .map(|n_updates| self.experiment.training.interval_of(n_updates))
            .filter(|interval| !self.start.state.pinned.contains(interval))
            .collect()
    }

    /// Returns the renderer that shows the training on the terminal.
    fn renderer(
        &self,
        samples: Samples,
        deferred: &DeferredLog,
        dashboard_stop: &Interrupter,
    ) -> Box<dyn MetricsRenderer> {
        match self.environment.display {
            Display::Dashboard => dashboard(dashboard_stop, self.resumed_interval()),
            Display::Lines => Box::new(LineRenderer::new(
                deferred.clone(),
                &self.experiment.training,
                self.start.state.updates,
                self.start.state.elapsed(),
                samples,
            )),
        }
    }

    /// Opens `metrics.csv` and the event file, with their contents up to the resumed update. Also returns the function
    /// that writes histograms of the weights.
    fn csv_log(&self, samples: Samples) -> Result<(CsvLog, Option<OnPublish>), TrainError> {
        let (folder, n_done) = (&self.folder.directory, self.start.state.updates);
        let log = CsvLog::open(
            folder,
            &self.experiment.training,
            self.schedule(),
            n_done,
            samples,
        );
        let log = log.map_err(TrainError::write(&self.folder.metrics))?;
        let content = self.experiment.report.tensorboard;
        if content == TensorBoard::Off {
            return Ok((log, None));
        }
        let opened = EventLog::open(folder, n_done);
        let (events, is_empty) = opened.map_err(TrainError::write(folder))?;
        // The settings belong to the first update with them; a resumed run drops its events.
        events.write_text(n_done + 1, "experiment.toml", &self.experiment.to_toml()?);
        let histograms = (content == TensorBoard::Histograms).then(|| {
            let events = events.clone();
            Arc::new(move |n_done, model: &_| events.write_histograms(n_done, model)) as OnPublish
        });
        Ok((log.with_events(events, is_empty), histograms))
    }

    fn train_loader(&self, gate: &Arc<UpdateGate>) -> TrainLoader {
        let training = &self.experiment.training;
        let mut plan = self.prepared.plan.clone();
        (self.environment.log)(&format!(
            "batches     {} updates a pass over the data, {:.1}% padding",
            training.updates_of(plan.batches_per_pass(0)),
            100.0 * plan.padding_fraction(),
        ));
        TrainLoader::new(
            Arc::clone(&self.prepared.train),
            plan,
            training,
            self.shard_spec(),
            self.start.state.updates,
            &self.environment.device,
            Arc::clone(gate),
        )
    }

    /// Returns the part of an update that this process computes.
    fn shard_spec(&self) -> ShardSpec {
        let n_devices = self.experiment.training.devices as usize;
        let ranks = self.environment.ranks;
        ShardSpec {
            n_devices: n_devices * ranks.n_ranks(),
            device: n_devices * ranks.rank(),
            n_shards: self.start.state.n_threads,
            // BPE-dropout makes lines slightly longer, which is not worth another micro-batch.
            max_tokens: match self.experiment.data.noise().is_none() {
                true => usize::MAX,
                false => self.experiment.training.tokens_per_batch,
            },
        }
    }

    fn valid_loader(&self, samples: Samples, weights: WeightCheck) -> ValidLoader {
        let validation = &self.experiment.validation;
        let batches = valid_batches(
            &self.prepared.valid,
            &self.prepared.valid_corpora,
            &self.prepared.references(validation.max_sentences),
            self.experiment.training.tokens_per_batch,
        );
        let beam_size = validation.interval_beam_size;
        let translator = self.prepared.translator(self.experiment, beam_size);
        ValidLoader::new(
            batches,
            translator,
            samples,
            weights,
            &self.environment.device,
        )
    }

    /// Returns Adam and the schedule of its learning rate (§5.3).
    fn optimizer(&self) -> (ModuleOptimizer, ModuleLrScheduler) {
        let training = &self.experiment.training;
        let adam = Adam {
            beta_1: training.adam_beta1 as f32,
            beta_2: training.adam_beta2 as f32,
            epsilon: training.adam_epsilon as f32,
            weight_decay: training.weight_decay,
        };
        (adam.into(), self.schedule().into())
    }

    fn schedule(&self) -> Schedule {
        Schedule::new(&self.experiment.training, self.prepared.config.d_model)
            .after(self.start.state.updates)
    }
}

/// Removes the text that Burn's Learner puts around one of our errors.
fn unwrapped(error: &str) -> String {
    let ours = error
        .strip_prefix("Checkpoint error: Unknown error: `")
        .and_then(|rest| rest.strip_suffix('`'));
    ours.unwrap_or(error).to_owned()
}
