//! Trains a model with Burn's Learner: loaders, metrics, optimizer, schedule and checkpoints (§5.1–5.3).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn_train::checkpoint::ComposedCheckpointingStrategy;
use burn_train::renderer::MetricsRenderer;
use burn_train::{Interrupter, Learner, SupervisedTraining};
use parking_lot::Mutex;

use super::command_scorer::CommandScorer;
use super::environment::{Display, RunEnvironment};
use super::folder::RunFolder;
use super::non_finite::{NonFiniteWatch, Quantity, lines_of_update};
use super::prepare::Prepared;
use crate::batching::{Plan, ShardSpec, TrainLoader, UpdateGate};
use crate::checkpoint::{
    CheckpointWriter, EarlyStop, MODEL, ModelCheckpointer, OPTIMIZER, OnPublish, PARTS,
    PartCheckpointer, Publisher, Retention, SCHEDULER, SavedState, checkpoints_with,
};
use crate::config::{Experiment, TensorBoard};
use crate::error::TrainError;
use crate::optim::{Adam, Schedule};
use crate::progress::DeferredLog;
use crate::report::{CsvLog, EventLog, LineRenderer, dashboard};
use crate::step::{Objective, WeightCheck, strategy};
use crate::validation::{History, IntervalMetric, Samples, ValidLoader, valid_batches};

struct Shared {
    interrupter: Interrupter,
    gate: Arc<UpdateGate>,
    watch: NonFiniteWatch,
    weights: WeightCheck,
    deferred: DeferredLog,
    samples: Samples,
    history: History,
}

type Training = SupervisedTraining<Objective>;

/// Trains from a starting point to the last update, an interrupt or an error.
pub(crate) struct Learning<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) environment: &'a RunEnvironment,
    pub(crate) folder: &'a RunFolder,
    pub(crate) prepared: &'a Prepared,
    /// Publishes the model after each interval; `None` on processes that follow that of rank 0.
    pub(crate) publisher: Option<&'a Publisher>,
    pub(crate) start: &'a SavedState,
    pub(super) scorer: Option<&'a CommandScorer>,
}

impl Learning<'_> {
    /// Trains the model of `objective`; its weights are in the checkpoints afterwards.
    pub(crate) fn run(&self, objective: &Objective) -> Result<(), TrainError> {
        let shared = self.shared();
        let training = self.supervised(objective, &shared)?;
        let (optimizer, schedule) = self.optimizer();
        let result = training.launch(Learner::new(objective.clone(), optimizer, schedule));

        shared.deferred.release_all();
        self.scorer.map_or(Ok(()), CommandScorer::finish_training)?;
        let model = self.folder.saved_model();
        if let Some(found) = shared.watch.first() {
            return Err(TrainError::NonFinite {
                update: found.update + 1,
                what: found.quantity.name(),
                value: found.value,
                lines: match found.quantity {
                    // A validation depends on all previous updates.
                    Quantity::ValidLoss => Vec::new(),
                    Quantity::Loss | Quantity::GradientNorm => {
                        lines_of_update(self.experiment, self.prepared, found.update)
                            .unwrap_or_default()
                    }
                },
                model,
            });
        }
        if shared.weights.has_failed() {
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

    fn shared(&self) -> Shared {
        let interrupter = Interrupter::new();
        let gate = Arc::new(UpdateGate::new(&interrupter));
        Shared {
            watch: NonFiniteWatch::new(&self.environment.devices(), &interrupter, &gate),
            weights: WeightCheck::new(self.environment.ranks),
            interrupter,
            gate,
            deferred: DeferredLog::new(Arc::clone(&self.environment.log)),
            samples: self.prepared.samples(self.experiment.validation.n_samples),
            // Only rank 0 validates, so only its history can end the run.
            history: match self.publisher {
                Some(_) => History::new(&self.start.validations),
                None => History::default(),
            },
        }
    }

    /// Assembles Burn's training, with an interval as its epoch.
    fn supervised(&self, objective: &Objective, shared: &Shared) -> Result<Training, TrainError> {
        let training = &self.experiment.training;
        let train = self.train_loader(&shared.gate);
        let next_update = train.next_update();
        let plan = train.plan();
        let valid = Arc::new(self.valid_loader(shared));
        let supervised = Training::new(&self.folder.checkpoints, Arc::new(train), valid)
            .with_application_logger(None)
            .with_interrupter(shared.interrupter.clone())
            .with_training_strategy(strategy(&self.environment.devices()).into())
            .num_epochs(training.updates.div_ceil(training.validation_interval) as usize);
        let writer = Arc::new(self.writer(shared, plan));
        let part = |part| PartCheckpointer {
            part,
            writer: Arc::clone(&writer),
        };
        let (optimizer, scheduler) = (part(OPTIMIZER), part(SCHEDULER));
        let supervised = match self.publisher {
            Some(publisher) => {
                let supervised = self.with_metrics(supervised, shared, next_update);
                let (csv_log, on_publish) = self.csv_log(shared)?;
                let model = ModelCheckpointer {
                    part: part(MODEL),
                    template: objective.valid(),
                    publisher: publisher.clone(),
                    training: training.clone(),
                    deferred: shared.deferred.clone(),
                    on_publish,
                };
                supervised
                    .with_metric_logger(csv_log)
                    .with_custom_checkpointers(model, optimizer, scheduler)
                    .with_checkpointing_strategy(Retention {
                        training: training.clone(),
                        history: shared.history.clone(),
                        kept: self.deletable_checkpoints(),
                    })
            }
            // The other processes save no checkpoints.
            None => supervised
                .with_custom_checkpointers(part(MODEL), optimizer, scheduler)
                .with_checkpointing_strategy(ComposedCheckpointingStrategy::builder().build()),
        };
        let dashboard_stop = Interrupter::new();
        let supervised = supervised
            .early_stopping(EarlyStop {
                interrupt: self.environment.interrupt.clone(),
                dashboard_stop: dashboard_stop.clone(),
                training: training.clone(),
                history: shared.history.clone(),
                weights: shared.weights.clone(),
                decided: Arc::default(),
            })
            .renderer(self.renderer(shared, &dashboard_stop));
        Ok(match self.resumed_interval() {
            Some(interval) => supervised.checkpoint(interval),
            None => supervised,
        })
    }

    fn writer(&self, shared: &Shared, plan: Arc<Mutex<Plan>>) -> CheckpointWriter {
        CheckpointWriter {
            checkpoints: self.folder.checkpoints.clone(),
            can_write: self.publisher.is_some(),
            start: self.start.clone(),
            training: self.experiment.training.clone(),
            history: shared.history.clone(),
            plan,
            started: Instant::now(),
            written: Mutex::default(),
        }
    }

    fn with_metrics(
        &self,
        supervised: Training,
        shared: &Shared,
        next_update: Arc<AtomicU64>,
    ) -> Training {
        let watch = &shared.watch;
        let supervised = match self.scorer {
            Some(scorer) => supervised.metric_valid_numeric(scorer.metric(&shared.interrupter)),
            None => supervised,
        };
        let text_metrics = self.prepared.text_metrics(self.experiment);
        let numbers = &self.prepared.valid.numbers;
        let loss = IntervalMetric::loss(watch.valid_loss(next_update));
        let perplexity = IntervalMetric::perplexity();
        let bleu = IntervalMetric::bleu(text_metrics);
        let chrf = IntervalMetric::chrf(text_metrics);
        let several = numbers.iter().enumerate().filter(|_| numbers.len() > 1);
        let supervised = several.fold(supervised, |supervised, (index, &number)| {
            [&loss, &perplexity, &bleu, &chrf]
                .into_iter()
                .fold(supervised, |supervised, metric| {
                    supervised.metric_valid_numeric(metric.of_corpus(index, number))
                })
        });
        supervised
            .metric_train_numeric(IntervalMetric::loss(watch.loss()))
            .metric_train_numeric(IntervalMetric::perplexity())
            .metric_train_numeric(IntervalMetric::speed())
            .metric_train_numeric(IntervalMetric::padding())
            .metric_train_numeric(IntervalMetric::waiting())
            .metric_train_numeric(IntervalMetric::gradient_norm(watch.gradient_norm()))
            .metric_train_numeric(IntervalMetric::learning_rate())
            .metric_valid_numeric(loss.over_corpora(numbers.len()))
            .metric_valid_numeric(perplexity.over_corpora(numbers.len()))
            .metric_valid_numeric(IntervalMetric::exact_match())
            .metric_valid_numeric(bleu.over_corpora(numbers.len()))
            .metric_valid_numeric(chrf.over_corpora(numbers.len()))
    }

    fn resumed_interval(&self) -> Option<usize> {
        let n_done = self.start.updates;
        (n_done > 0).then(|| self.experiment.training.interval_of(n_done))
    }

    /// Returns the checkpoints that may be deleted: all except those that were the best under earlier validation
    /// settings, which are not comparable with later ones.
    fn deletable_checkpoints(&self) -> BTreeSet<usize> {
        let checkpoints = &self.folder.checkpoints;
        // A checkpoint may have only some of its parts, if its deletion was interrupted.
        let existing = PARTS
            .iter()
            .flat_map(|part| checkpoints_with(checkpoints, part));
        existing
            .map(|n_updates| self.experiment.training.interval_of(n_updates))
            .filter(|interval| !self.start.pinned.contains(interval))
            .collect()
    }

    fn renderer(&self, shared: &Shared, dashboard_stop: &Interrupter) -> Box<dyn MetricsRenderer> {
        match self.environment.display {
            Display::Dashboard => dashboard(dashboard_stop, self.resumed_interval()),
            Display::Lines => Box::new(LineRenderer::new(
                shared.deferred.clone(),
                self.experiment.training.clone(),
                self.start.updates,
                self.start.elapsed(),
                shared.samples.clone(),
            )),
        }
    }

    /// Opens `metrics.csv` and the event file, with their contents up to the resumed update. Also returns the function
    /// that writes histograms of the weights.
    fn csv_log(&self, shared: &Shared) -> Result<(CsvLog, Option<OnPublish>), TrainError> {
        let (folder, n_done) = (&self.folder.directory, self.start.updates);
        let log = CsvLog::open(
            folder,
            &self.experiment.training,
            self.schedule(),
            n_done,
            shared.samples.clone(),
            shared.history.clone(),
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
            self.start.updates,
            &self.environment.device,
            Arc::clone(gate),
        )
    }

    fn shard_spec(&self) -> ShardSpec {
        let n_devices = self.experiment.training.devices as usize;
        let ranks = self.environment.ranks;
        ShardSpec {
            n_devices: n_devices * ranks.n_ranks(),
            device: n_devices * ranks.rank(),
            n_shards: self.start.n_threads,
            // BPE-dropout makes lines slightly longer, which is not worth another micro-batch.
            max_tokens: match self.experiment.data.has_noise() {
                true => self.experiment.training.tokens_per_batch,
                false => usize::MAX,
            },
        }
    }

    fn valid_loader(&self, shared: &Shared) -> ValidLoader {
        let validation = &self.experiment.validation;
        let batches = valid_batches(
            &self.prepared.valid.pairs,
            &self.prepared.valid.corpora,
            &self.prepared.references(validation.max_sentences),
            self.experiment.training.tokens_per_batch,
        );
        let beam_size = validation.interval_beam_size;
        let translator = self.prepared.translator(self.experiment, beam_size);
        ValidLoader {
            batches: batches.into(),
            translator: Arc::new(translator),
            samples: shared.samples.clone(),
            weights: shared.weights.clone(),
            device: self.environment.device.clone(),
        }
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
            .after(self.start.updates)
    }
}

/// Removes the text that Burn's Learner puts around one of our errors.
fn unwrapped(error: &str) -> String {
    let ours = error
        .strip_prefix("Checkpoint error: Unknown error: `")
        .and_then(|rest| rest.strip_suffix('`'));
    ours.unwrap_or(error).to_owned()
}
