//! Hands a model to Burn's Learner: loaders, metrics, optimizer, schedule, checkpoints (§5.1–5.3).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::tensor::Device;
use burn_train::metric::LearningRateMetric;
use burn_train::{Interrupter, Learner, SupervisedTraining};

use crate::TrainError;
use crate::batching::{TrainLoader, UpdateGate};
use crate::checkpoint::{
    Checkpoints, Keep, ModelCheckpointer, PARTS, PartCheckpointer, Stop, saved,
};
use crate::optim::Adam;
use crate::progress::DeferredLog;
use crate::report::{CsvLog, LineRenderer, dashboard};
use crate::run::{Begun, Display, Run, lines_of};
use crate::step::{Objective, have_collectives, strategy};
use crate::validation::{
    History, OnNonFinite, Ratio, Samples, TextMetric, ValidLoader, valid_batches,
};

/// What errors call the loss of validation pairs.
const VALID_LOSS: &str = "validation loss";

/// Trains until the last update, an interrupt or an error; the checkpoints of the last intervals stay.
pub(crate) fn learn(run: &Run<'_>, objective: &Objective) -> Result<(), TrainError> {
    let interrupter = Interrupter::new();
    let trouble = Trouble::default();
    let deferred = DeferredLog::new(Arc::clone(&run.environment.log));
    let training = supervised(run, objective, &interrupter, &trouble, &deferred)?;
    let (optimizer, schedule) = optimizer(run);
    let result = training.launch(Learner::new(objective.clone(), optimizer, schedule));

    deferred.release_all();
    let model = run.saved_model();
    if let Some(NotANumber {
        what,
        update,
        value,
    }) = trouble.first()
    {
        return Err(TrainError::NonFinite {
            update: update + 1,
            what,
            value,
            // A validation hangs on all updates before it.
            lines: match what {
                VALID_LOSS => Vec::new(),
                _ => lines_of(run, update).unwrap_or_default(),
            },
            model,
        });
    }
    match result.error {
        Some(error) => Err(TrainError::Learner {
            reason: in_our_words(&error.to_string()),
            model,
        }),
        None => Ok(()),
    }
}

/// Takes from an error what Burn's Learner has wrapped around one of ours.
fn in_our_words(error: &str) -> String {
    let wrapped = error
        .strip_prefix("Checkpoint error: Unknown error: `")
        .and_then(|rest| rest.strip_suffix('`'));
    wrapped.unwrap_or(error).to_owned()
}

/// Puts together Burn's training: an epoch of it is an interval of ours.
fn supervised(
    run: &Run<'_>,
    objective: &Objective,
    interrupter: &Interrupter,
    trouble: &Trouble,
    deferred: &DeferredLog,
) -> Result<SupervisedTraining<Objective>, TrainError> {
    let training = &run.experiment.training;
    let (interval, n_updates) = (training.validation_interval, training.updates);
    let metrics = run.text_metrics();
    let history = History::new(run.validations());
    let curve = curve(run, history.clone(), objective.samples())?;
    let directory = &run.folder.checkpoints;
    let gate = Arc::new(UpdateGate::new(interrupter));
    let train = Arc::new(train_loader(run, &gate)?);
    let checkpoints = Arc::new(Checkpoints::new(run, history.clone(), train.plan()));
    let part = |part| PartCheckpointer {
        part,
        checkpoints: Arc::clone(&checkpoints),
    };
    let model = Arc::clone(&checkpoints);
    let model = ModelCheckpointer::new(run, model, objective.valid(), deferred.clone());
    let valid = Arc::new(valid_loader(run));
    let devices = run.environment.devices();
    let keys = Interrupter::new();
    let stop = end_of(interrupter);
    let stop_training = end_of_all(&devices, gate, &stop);
    let [loss, norm, valid_loss] = watches(trouble, &stop, &stop_training, train.next_update());
    let supervised = SupervisedTraining::<Objective>::new(directory, train, valid)
        .metric_train_numeric(Ratio::loss(loss))
        .metric_train_numeric(Ratio::perplexity())
        .metric_train_numeric(Ratio::speed())
        .metric_train_numeric(Ratio::padding())
        .metric_train_numeric(Ratio::waiting())
        .metric_train_numeric(Ratio::gradient_norm(norm))
        .metric_train_numeric(LearningRateMetric::new())
        .metric_valid_numeric(Ratio::loss(valid_loss))
        .metric_valid_numeric(Ratio::perplexity())
        .metric_valid_numeric(Ratio::exact_match())
        .metric_valid_numeric(TextMetric::bleu(metrics))
        .metric_valid_numeric(TextMetric::chrf(metrics))
        .with_metric_logger(curve)
        .with_application_logger(None)
        .with_interrupter(interrupter.clone())
        .with_custom_checkpointers(model, part("optim"), part("scheduler"))
        .with_checkpointing_strategy(Keep::new(
            training,
            history.clone(),
            checkpoints_to_keep(run),
        ))
        .early_stopping(Stop::new(
            &run.environment.interrupt,
            &keys,
            training,
            history,
        ))
        .with_training_strategy(strategy(&devices).into())
        .num_epochs(n_updates.div_ceil(interval) as usize);
    let supervised = match &run.resumed {
        Some(resumed) => supervised.checkpoint(resumed.interval),
        None => supervised,
    };
    Ok(displayed(run, supervised, objective, deferred, &keys))
}

/// Returns what is called with a loss, a norm of gradients and a validation loss that are no numbers. `next_update` is the
/// update after the last one.
fn watches(
    trouble: &Trouble,
    stop: &End,
    stop_training: &End,
    next_update: Arc<AtomicU64>,
) -> [OnNonFinite; 3] {
    let own = |update| update;
    let validated = move |_| next_update.load(Ordering::Relaxed).saturating_sub(1);
    [
        trouble.watch("loss", stop_training, Arc::new(own)),
        trouble.watch("norm of the gradients", stop_training, Arc::new(own)),
        trouble.watch(VALID_LOSS, stop, Arc::new(validated)),
    ]
}

/// Returns the checkpoints that are deleted when their time comes: all but the best ones by other measures than that of now,
/// which cannot be compared with those to come.
fn checkpoints_to_keep(run: &Run<'_>) -> Vec<usize> {
    let directory = &run.folder.checkpoints;
    // Of one whose deletion was cut short, not all parts may be there.
    let parts = PARTS.iter().flat_map(|part| saved(directory, part));
    parts
        .filter(|interval| !run.pinned().contains(interval))
        .collect()
}

/// Has the training shown in the way that was asked for.
fn displayed(
    run: &Run<'_>,
    supervised: SupervisedTraining<Objective>,
    objective: &Objective,
    deferred: &DeferredLog,
    keys: &Interrupter,
) -> SupervisedTraining<Objective> {
    match run.environment.display {
        Display::Dashboard => {
            let checkpoint = run.resumed.as_ref().map(|resumed| resumed.interval);
            supervised.renderer(dashboard(keys, checkpoint))
        }
        Display::Lines => {
            let (training, samples) = (&run.experiment.training, objective.samples());
            let Begun { n_updates, elapsed } = run.begun();
            let deferred = deferred.clone();
            let lines = LineRenderer::new(deferred, training, n_updates, elapsed, samples);
            supervised.renderer(Box::new(lines))
        }
    }
}

fn valid_loader(run: &Run<'_>) -> ValidLoader {
    let n_references = run.experiment.validation.max_sentences;
    let batches = valid_batches(
        &run.prepared.valid,
        &run.prepared.references(n_references),
        run.experiment.training.tokens_per_batch,
    );
    ValidLoader::new(batches, &run.environment.device)
}

/// Opens the table of the curve, with what it has of the updates done.
fn curve(run: &Run<'_>, history: History, samples: Samples) -> Result<CsvLog, TrainError> {
    let curve = CsvLog::open(
        &run.folder.directory,
        &run.experiment.training,
        run.schedule(),
        run.begun().n_updates,
        history,
        samples,
    );
    curve.map_err(TrainError::write(&run.folder.curve))
}

fn train_loader(run: &Run<'_>, gate: &Arc<UpdateGate>) -> Result<TrainLoader, TrainError> {
    let training = &run.experiment.training;
    let text = Arc::clone(&run.prepared.train);
    let mut plan = run.prepared.plan.clone();
    run.log(&format!(
        "batches     {} updates a pass over the data, {:.1}% padding",
        training.updates_of(plan.batches_per_pass(0)),
        100.0 * plan.padding_fraction(),
    ));
    let environment = run.environment;
    Ok(TrainLoader::new(
        text,
        plan,
        training,
        run.n_threads,
        run.begun().n_updates,
        &environment.device,
        Arc::clone(gate),
    ))
}

/// Ends a training.
type End = Arc<dyn Fn() + Send + Sync>;

/// Returns what ends the training when the update or validation batch under way is done.
fn end_of(interrupter: &Interrupter) -> End {
    let interrupter = interrupter.clone();
    Arc::new(move || interrupter.stop(Some("the loss is not a number")))
}

/// Returns what ends the training on all of these devices at the same update.
fn end_of_all(devices: &[Device], gate: Arc<UpdateGate>, stop: &End) -> End {
    match have_collectives(devices) {
        true => Arc::new(move || gate.close()),
        false => Arc::clone(stop),
    }
}

/// Returns Adam and the schedule of its learning rate (§5.3).
fn optimizer(run: &Run<'_>) -> (ModuleOptimizer, ModuleLrScheduler) {
    let training = &run.experiment.training;
    let adam = Adam {
        beta_1: training.adam_beta1 as f32,
        beta_2: training.adam_beta2 as f32,
        epsilon: training.adam_epsilon as f32,
        weight_decay: training.weight_decay,
    };
    (adam.into(), run.schedule().into())
}

/// A measure that was not a number.
#[derive(Clone, Copy)]
struct NotANumber {
    what: &'static str,
    /// The last update before it, from 0.
    update: u64,
    value: f64,
}

/// Remembers the first measure that was not a number.
#[derive(Clone, Default)]
struct Trouble(Arc<Mutex<Option<NotANumber>>>);

impl Trouble {
    /// Returns what a metric calls with such a value: it ends the training. `update_of` turns the number
    /// that the metric has into that of the last update.
    fn watch(
        &self,
        what: &'static str,
        end: &End,
        update_of: Arc<dyn Fn(u64) -> u64 + Send + Sync>,
    ) -> OnNonFinite {
        let (trouble, end) = (self.clone(), Arc::clone(end));
        Arc::new(move |update, value| {
            let update = update_of(update);
            let mut first = trouble.0.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(NotANumber {
                what,
                update,
                value,
            });
            end();
        })
    }

    fn first(&self) -> Option<NotANumber> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
