//! The data loader of training: batches of the plan, one interval at a time; and [`UpdateGate`], which lets all devices stop
//! after the same update.
//!
//! An epoch of Burn's Learner is an interval here: a fixed number of updates between two validations, independent of
//! the size of the corpus.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use burn_train::Interrupter;
use parking_lot::Mutex;
use transformer_core::random::hash;

use crate::batching::{IntervalTiming, Plan, ShardSpec, Update};
use crate::config::TrainingSettings;
use crate::corpus::TrainingText;
use crate::error::TrainError;

/// Loads the updates of a plan; each call of `iter` yields the next interval.
///
/// Created for a single device; [`slice`](DataLoader::slice) returns the loader of one of several
/// devices, which yields that device's micro-batches of every update.
#[derive(Clone)]
pub(crate) struct TrainLoader {
    text: Arc<TrainingText>,
    plan: Arc<Mutex<Plan>>,
    next_update: Arc<AtomicU64>,
    /// Updates per interval.
    interval: u64,
    n_updates: u64,
    /// Batches of the plan per update, on all devices together.
    batches_per_update: u64,
    seed: u64,
    shard_spec: ShardSpec,
    /// Number of devices of this process.
    n_own_devices: usize,
    gate: Arc<UpdateGate>,
    device: Device,
}

impl TrainLoader {
    pub(crate) fn new(
        text: Arc<TrainingText>,
        plan: Plan,
        training: &TrainingSettings,
        shard_spec: ShardSpec,
        first_update: u64,
        device: &Device,
        gate: Arc<UpdateGate>,
    ) -> Self {
        Self {
            text,
            plan: Arc::new(Mutex::new(plan)),
            next_update: Arc::new(AtomicU64::new(first_update)),
            interval: training.validation_interval,
            n_updates: training.updates,
            batches_per_update: training.batches_per_update(),
            seed: training.seed,
            shard_spec,
            n_own_devices: training.devices as usize,
            gate,
            device: device.clone(),
        }
    }

    pub(crate) fn next_update(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.next_update)
    }

    pub(crate) fn plan(&self) -> Arc<Mutex<Plan>> {
        Arc::clone(&self.plan)
    }

    fn update(&self, number: u64) -> Result<Update, TrainError> {
        let batches = number * self.batches_per_update..(number + 1) * self.batches_per_update;
        // The lock ends with this block: the loaders of other devices read text at the same time.
        let sentences: Vec<(u64, Vec<u32>)> = {
            let mut plan = self.plan.lock();
            batches
                .map(|batch| (batch, plan.batch(batch).to_vec()))
                .collect()
        };
        let micro_batches: Result<_, _> = sentences
            .iter()
            .map(|(batch, sentences)| self.text.pairs(sentences, *batch))
            .collect();
        // The plan hashes the seed itself; its complement gives dropout an independent sequence.
        Ok(Update::new(
            micro_batches?,
            number,
            hash(!self.seed, number),
            self.shard_spec,
            &self.device,
        ))
    }
}

impl DataLoader<Update> for TrainLoader {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<Update> + 'a> {
        let first = self.next_update.load(Ordering::Relaxed);
        let end = (first + self.interval).min(self.n_updates);
        Box::new(Interval {
            loader: self,
            first,
            end,
            timing: IntervalTiming {
                started: Some(Instant::now()),
                ..IntervalTiming::default()
            },
        })
    }

    /// Returns the number of updates per interval, counted once per device.
    fn num_items(&self) -> usize {
        self.interval as usize * self.n_own_devices
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<Update>> {
        Arc::new(Self {
            device: device.clone(),
            ..self.clone()
        })
    }

    /// Returns the loader of one device. Burn splits the items into one equal range per device; here the position of
    /// the range selects the device, which gets its micro-batches of every update.
    fn slice(&self, start: usize, _end: usize) -> Arc<dyn DataLoader<Update>> {
        let device = start / self.interval as usize;
        let next_update = match device {
            0 => self.next_update(),
            _ => Arc::new(AtomicU64::new(self.next_update.load(Ordering::Relaxed))),
        };
        Arc::new(Self {
            shard_spec: ShardSpec {
                device: self.shard_spec.device + device,
                ..self.shard_spec
            },
            next_update,
            ..self.clone()
        })
    }
}

struct Interval<'a> {
    loader: &'a TrainLoader,
    first: u64,
    end: u64,
    timing: IntervalTiming,
}

impl Iterator for Interval<'_> {
    type Item = Result<Update, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.loader.next_update.load(Ordering::Relaxed);
        if number >= self.end || !self.loader.gate.may_begin(number) {
            return None;
        }
        let requested = Instant::now();
        let update = match self.loader.update(number) {
            Ok(update) => update,
            Err(error) => return Some(Err(DatasetError::new(error))),
        };
        self.timing.n_labels += update.n_labels as u64;
        self.timing.waited += requested.elapsed();
        self.loader.next_update.store(number + 1, Ordering::Relaxed);
        let timing = self.timing;
        Some(Ok(Update { timing, ..update }))
    }
}

impl DataLoaderIterator<Update> for Interval<'_> {
    fn progress(&self) -> Progress {
        let done = self.loader.next_update.load(Ordering::Relaxed) - self.first;
        let total = self.end - self.first;
        Progress::new(done as usize, total as usize, Some("updates".to_owned()))
    }
}

/// Stops training after the same update on all devices.
///
/// Devices that sum their gradients wait for each other: if one stopped an update before another, the other would wait
/// forever. So once the gate is closed, no device begins an update that no other has begun, and every device completes
/// the updates that another has begun.
#[derive(Default)]
pub(crate) struct UpdateGate {
    is_closed: AtomicBool,
    n_begun: Mutex<u64>,
    interrupter: Interrupter,
}

impl UpdateGate {
    pub(crate) fn new(interrupter: &Interrupter) -> Self {
        Self {
            interrupter: interrupter.clone(),
            ..Self::default()
        }
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Returns whether a device may begin an update, counted from 0. If not, stops the training.
    pub(crate) fn may_begin(&self, update: u64) -> bool {
        let mut n_begun = self.n_begun.lock();
        if update < *n_begun {
            return true;
        }
        if self.is_closed.load(Ordering::Relaxed) {
            self.interrupter.stop(None);
            return false;
        }
        *n_begun = update + 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_closing_every_device_completes_the_updates_begun_by_another() {
        let interrupter = Interrupter::new();
        let gate = UpdateGate::new(&interrupter);
        assert!(gate.may_begin(6));
        gate.close();
        assert!(gate.may_begin(6), "another device has begun it");
        assert!(!interrupter.should_stop(), "no device has finished");
        assert!(!gate.may_begin(7) && interrupter.should_stop());
    }
}
