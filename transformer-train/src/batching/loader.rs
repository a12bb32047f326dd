//! Hands the Learner its batches, an interval at a time.
//!
//! What the Learner calls an epoch is here an interval: a fixed number of updates between two
//! validations, whatever the size of the corpus.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use transformer_core::random::hash;

use crate::batching::{Clock, Deal, Gate, Plan, Update};
use crate::config::TrainingSettings;
use crate::corpus::{CorpusError, TrainingText};

/// Hands out the updates of a plan, `interval` of them for each call of `iter`: to one device, or from
/// [`slice`](DataLoader::slice) on to one of several its part of each.
#[derive(Clone, Debug)]
pub(crate) struct TrainLoader {
    text: Arc<TrainingText>,
    plan: Arc<Mutex<Plan>>,
    /// The next update to hand out.
    next_update: Arc<AtomicU64>,
    interval: u64,
    n_updates: u64,
    /// Number of the plan's batches in an update, on all devices.
    n_batches: u64,
    seed: u64,
    deal: Deal,
    gate: Arc<Gate>,
    device: Device,
}

impl TrainLoader {
    pub(crate) fn new(
        text: Arc<TrainingText>,
        plan: Plan,
        training: &TrainingSettings,
        n_shards: usize,
        first_update: u64,
        device: &Device,
        gate: Arc<Gate>,
    ) -> Self {
        Self {
            text,
            plan: Arc::new(Mutex::new(plan)),
            next_update: Arc::new(AtomicU64::new(first_update)),
            interval: training.validation_interval,
            n_updates: training.updates,
            n_batches: training.batches_per_update(),
            seed: training.seed,
            deal: Deal {
                n_devices: training.devices as usize,
                ..Deal::to_one_device(n_shards)
            },
            gate,
            device: device.clone(),
        }
    }

    /// Returns the counter of updates handed out, which goes on counting.
    pub(crate) fn next_update(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.next_update)
    }

    /// Returns the plan, which counts passes as they come.
    pub(crate) fn plan(&self) -> Arc<Mutex<Plan>> {
        Arc::clone(&self.plan)
    }

    fn update(&self, number: u64) -> Result<Update, CorpusError> {
        let batches = number * self.n_batches..(number + 1) * self.n_batches;
        let sentences: Vec<(u64, Vec<u32>)> = {
            let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
            batches
                .map(|batch| (batch, plan.update(batch).to_vec()))
                .collect()
        };
        // Other devices read their parts meanwhile.
        let micro_batches: Result<_, _> = sentences
            .iter()
            .map(|(batch, sentences)| self.text.pairs(sentences, *batch))
            .collect();
        // The plan shuffles with the seed itself; dropout must not draw the same numbers.
        Ok(Update::new(
            micro_batches?,
            number,
            hash(!self.seed, number),
            self.deal,
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
            clock: Clock {
                started: Some(Instant::now()),
                ..Clock::default()
            },
        })
    }

    /// Counts an update once for each device that has a part of it.
    fn num_items(&self) -> usize {
        self.interval as usize * self.deal.n_devices
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<Update>> {
        Arc::new(Self {
            device: device.clone(),
            ..self.clone()
        })
    }

    /// Returns what hands out the updates to one device: Burn cuts the items into as many equal runs as there
    /// are devices, and here the first run stands for the first device's part of every update.
    fn slice(&self, start: usize, _end: usize) -> Arc<dyn DataLoader<Update>> {
        let number = start / self.interval as usize;
        let next_update = match number {
            0 => self.next_update(),
            _ => Arc::new(AtomicU64::new(self.next_update.load(Ordering::Relaxed))),
        };
        Arc::new(Self {
            deal: Deal {
                device: number,
                ..self.deal
            },
            next_update,
            ..self.clone()
        })
    }
}

/// Goes through the updates of one interval.
struct Interval<'a> {
    loader: &'a TrainLoader,
    first: u64,
    end: u64,
    clock: Clock,
}

impl Iterator for Interval<'_> {
    type Item = Result<Update, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.loader.next_update.load(Ordering::Relaxed);
        if number >= self.end || !self.loader.gate.lets_in(number) {
            return None;
        }
        let asked = Instant::now();
        let update = match self.loader.update(number) {
            Ok(update) => update,
            Err(error) => return Some(Err(DatasetError::new(error))),
        };
        self.clock.n_labels += update.n_labels as u64;
        self.clock.waited += asked.elapsed();
        self.loader.next_update.store(number + 1, Ordering::Relaxed);
        let clock = self.clock;
        Some(Ok(Update { clock, ..update }))
    }
}

impl DataLoaderIterator<Update> for Interval<'_> {
    fn progress(&self) -> Progress {
        let done = self.loader.next_update.load(Ordering::Relaxed) - self.first;
        let total = self.end - self.first;
        Progress::new(done as usize, total as usize, Some("updates".to_owned()))
    }
}
