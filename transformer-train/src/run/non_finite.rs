//! Ends the training at the first loss or gradient norm that is NaN or infinite.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use burn_train::Interrupter;

use crate::batching::UpdateGate;
use crate::step::have_collectives;
use crate::validation::OnNonFinite;

/// A measured quantity that must be finite.
#[derive(Clone, Copy)]
pub(super) enum Quantity {
    Loss,
    GradientNorm,
    ValidLoss,
}

impl Quantity {
    /// Returns the name for error texts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::GradientNorm => "norm of the gradients",
            Self::ValidLoss => "validation loss",
        }
    }
}

/// A quantity that is NaN or infinite.
#[derive(Clone, Copy)]
pub(super) struct NonFinite {
    pub(super) quantity: Quantity,
    /// The last update before the value, from 0.
    pub(super) update: u64,
    pub(super) value: f64,
}

/// Ends the training.
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

    /// Returns the callback of the loss metric.
    pub(super) fn loss(&self) -> OnNonFinite {
        self.on_non_finite(Quantity::Loss, &self.stop_devices, |update| update)
    }

    /// Returns the callback of the gradient norm metric.
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
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(NonFinite {
                quantity,
                update,
                value,
            });
            stop();
        })
    }

    /// Returns the first NaN or infinite value, if any.
    pub(super) fn first(&self) -> Option<NonFinite> {
        *self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
