//! Ends the training at the first loss or gradient norm that is NaN or infinite, and names the lines of its update.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::tensor::Device;
use burn_train::Interrupter;
use parking_lot::Mutex;
use transformer_core::directory::Languages;

use super::prepare::Prepared;
use crate::batching::UpdateGate;
use crate::config::{DataSource, Experiment, ValidationSource};
use crate::corpus::{KeptPair, ParallelText, encode_into, open_train, tokenized};
use crate::error::TrainError;
use crate::progress::{Interrupt, LogFn, Progress};
use crate::step::have_collectives;
use crate::validation::OnNonFinite;

#[derive(Clone, Copy)]
pub(super) enum Quantity {
    Loss,
    GradientNorm,
    ValidLoss,
}

impl Quantity {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::GradientNorm => "norm of the gradients",
            Self::ValidLoss => "validation loss",
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct NonFinite {
    pub(super) quantity: Quantity,
    /// The last update before the value, from 0.
    pub(super) update: u64,
    pub(super) value: f64,
}

type Stop = Arc<dyn Fn() + Send + Sync>;

/// Remembers the first NaN or infinite value, and ends the training.
pub(super) struct NonFiniteWatch {
    first: Arc<Mutex<Option<NonFinite>>>,
    /// Ends the training after the current update or validation batch.
    stop: Stop,
    /// Ends the training after the same update on all devices.
    stop_devices: Stop,
}

impl NonFiniteWatch {
    pub(super) fn new(
        devices: &[Device],
        interrupter: &Interrupter,
        gate: &Arc<UpdateGate>,
    ) -> Self {
        let (interrupter, gate) = (interrupter.clone(), Arc::clone(gate));
        let stop: Stop = Arc::new(move || interrupter.stop(Some("the loss is not finite")));
        Self {
            first: Arc::default(),
            stop_devices: match have_collectives(devices) {
                true => Arc::new(move || gate.close()),
                false => Arc::clone(&stop),
            },
            stop,
        }
    }

    pub(super) fn loss(&self) -> OnNonFinite {
        self.on_non_finite(Quantity::Loss, &self.stop_devices, |update| update)
    }

    pub(super) fn gradient_norm(&self) -> OnNonFinite {
        self.on_non_finite(Quantity::GradientNorm, &self.stop_devices, |update| update)
    }

    /// Returns the callback of the validation loss metric. `next_update` is the update after the last one.
    pub(super) fn valid_loss(&self, next_update: Arc<AtomicU64>) -> OnNonFinite {
        self.on_non_finite(Quantity::ValidLoss, &self.stop, move |_| {
            next_update.load(Ordering::Relaxed).saturating_sub(1)
        })
    }

    /// Returns a callback. `update_of` converts the number that the metric has to that of the last update.
    fn on_non_finite(
        &self,
        quantity: Quantity,
        stop: &Stop,
        update_of: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> OnNonFinite {
        let (first, stop) = (Arc::clone(&self.first), Arc::clone(stop));
        Arc::new(move |update, value| {
            let update = update_of(update);
            first.lock().get_or_insert(NonFinite {
                quantity,
                update,
                value,
            });
            stop();
        })
    }

    pub(super) fn first(&self) -> Option<NonFinite> {
        *self.first.lock()
    }
}

/// Returns the line numbers, from 1 and in ascending order, of the sentences in an update, which is counted from 0.
///
/// `None` if they are unknown: built-in tasks have no lines, standard input cannot be read again, and line numbers of
/// several corpora would be ambiguous. The token store has no line numbers, so the text is read and tokenized again,
/// since a failed run has the time.
pub(super) fn lines_of_update(
    experiment: &Experiment,
    prepared: &Prepared,
    update: u64,
) -> Option<Vec<u64>> {
    let text = training_text(experiment, &prepared.cleaned_as)?;
    let mut plan = prepared.plan.clone();
    let n_batches = experiment.training.batches_per_update();
    let batches = update * n_batches..(update + 1) * n_batches;
    let wanted: BTreeSet<u32> = batches
        .flat_map(|batch| plan.batch(batch).to_vec())
        .collect();
    let last = *wanted.last()?;

    let (mut sentence, mut lines) = (0, Vec::new());
    let sink = |pair: KeptPair<'_>| {
        if wanted.contains(&sentence) {
            let stored = prepared.train.store().pair(sentence as usize)?;
            // Otherwise the files have changed.
            if (pair.src, pair.tgt) != (&stored.src[..], &stored.tgt[..]) {
                return Err(TrainError::Interrupted);
            }
            lines.push(pair.line);
        }
        sentence += 1;
        match sentence <= last {
            true => Ok(()),
            false => Err(TrainError::Interrupted),
        }
    };
    let tokenizers = &prepared.tokenizers;
    let [src, tgt] = [tokenizers.src(), tokenizers.tgt()].map(tokenized);
    // It ends at the last of these sentences.
    let _ = encode_into(&text, &experiment.data, src, tgt, sink);
    (lines.len() == wanted.len()).then_some(lines)
}

fn training_text(experiment: &Experiment, cleaned_as: &Languages) -> Option<ParallelText> {
    let data = &experiment.data;
    let DataSource::Corpus { train, valid } = data.source().ok()? else {
        return None;
    };
    // The lines of several corpora would have to be named with their files.
    let [(train, _)] = train.as_slice() else {
        return None;
    };
    let no_log: LogFn = Arc::new(|_| {});
    let progress = Progress::new(&no_log, None, &Interrupt::default());
    let train = std::slice::from_ref(train);
    let text = open_train(train, experiment, cleaned_as, &progress, &mut io::empty());
    let (text, _) = text.ok()?;
    let seed = experiment.training.seed;
    match valid {
        ValidationSource::HeldOut => Some(text.hold_out(data.valid_pairs, seed).ok()?.0),
        ValidationSource::Files(_) | ValidationSource::OfCorpora(_) => Some(text),
    }
}
