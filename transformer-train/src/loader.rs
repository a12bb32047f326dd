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

use crate::batch::{Batch, Clock, Deal, SentencePair, Update};
use crate::config::TrainingSettings;
use crate::corpus::{CorpusError, TrainingText};
use crate::devices::Gate;
use crate::plan::{Plan, hash};

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

/// Hands out the validation sentences in batches, the same ones every time.
#[derive(Clone, Debug)]
pub(crate) struct ValidLoader {
    batches: Arc<[ValidPairs]>,
    device: Device,
}

impl ValidLoader {
    pub(crate) fn new(batches: Vec<ValidPairs>, device: &Device) -> Self {
        Self {
            batches: batches.into(),
            device: device.clone(),
        }
    }
}

/// Holds the sentences of a validation batch.
#[derive(Clone, Debug)]
pub(crate) struct ValidPairs {
    pub(crate) pairs: Vec<SentencePair>,
    /// The text of each target, if the sources are translated as well.
    pub(crate) references: Option<Vec<String>>,
}

/// Holds a validation batch, with its sentences for translating them.
#[derive(Clone, Debug)]
pub(crate) struct ValidBatch {
    pub(crate) batch: Batch,
    pub(crate) valid: ValidPairs,
}

impl DataLoader<ValidBatch> for ValidLoader {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<ValidBatch> + 'a> {
        Box::new(ValidPass {
            loader: self,
            next: 0,
        })
    }

    fn num_items(&self) -> usize {
        self.batches.len()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<ValidBatch>> {
        Arc::new(Self {
            batches: Arc::clone(&self.batches),
            device: device.clone(),
        })
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<ValidBatch>> {
        let batches = self.batches[start..end].to_vec();
        Arc::new(Self::new(batches, &self.device))
    }
}

struct ValidPass<'a> {
    loader: &'a ValidLoader,
    next: usize,
}

impl Iterator for ValidPass<'_> {
    type Item = Result<ValidBatch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let valid = self.loader.batches.get(self.next)?.clone();
        self.next += 1;
        let batch = Batch::new(&valid.pairs, &self.loader.device);
        Some(Ok(ValidBatch { batch, valid }))
    }
}

impl DataLoaderIterator<ValidBatch> for ValidPass<'_> {
    fn progress(&self) -> Progress {
        Progress::new(
            self.next,
            self.loader.batches.len(),
            Some("batches".to_owned()),
        )
    }
}

/// Cuts validation pairs into batches: the first ones, of which there is a reference as text, to be
/// translated too, the others only for the loss, each lot in order of length and within the budget.
pub(crate) fn valid_batches(
    pairs: &[SentencePair],
    references: &[String],
    budget: usize,
) -> Vec<ValidPairs> {
    let (translated, scored) = pairs.split_at(references.len().min(pairs.len()));
    let by_length = |pair: &SentencePair| (pair.src.len(), pair.tgt.len());
    let mut translated: Vec<_> = translated.iter().cloned().zip(references).collect();
    translated.sort_by_key(|(pair, _)| by_length(pair));
    let (translated, references): (Vec<_>, Vec<_>) = translated.into_iter().unzip();
    let mut references = references.into_iter().cloned();
    let mut batches = Vec::new();
    for pairs in in_batches(translated, budget) {
        let references = references.by_ref().take(pairs.len()).collect();
        batches.push(ValidPairs {
            pairs,
            references: Some(references),
        });
    }
    let mut scored = scored.to_vec();
    scored.sort_by_key(by_length);
    let scored = in_batches(scored, budget).into_iter();
    batches.extend(scored.map(|pairs| ValidPairs {
        pairs,
        references: None,
    }));
    batches
}

/// Cuts pairs, in their order, into batches of at most `budget` padded cells a side.
fn in_batches(pairs: Vec<SentencePair>, budget: usize) -> Vec<Vec<SentencePair>> {
    let mut batches: Vec<Vec<SentencePair>> = Vec::new();
    let mut batch = Vec::new();
    let mut longest = 0;
    for pair in pairs {
        let len = pair.src.len().max(pair.tgt.len()) + 1;
        if !batch.is_empty() && (batch.len() + 1) * longest.max(len) > budget {
            batches.push(std::mem::take(&mut batch));
            longest = 0;
        }
        longest = longest.max(len);
        batch.push(pair);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validation_batches_keep_to_the_budget_and_lose_nobody() {
        let pair = |len: usize| SentencePair {
            src: vec![7; len],
            tgt: vec![8; len / 2],
        };
        let pairs: Vec<SentencePair> = [9, 1, 4, 4, 2, 30].map(pair).into();
        let references = ["nine", "one"].map(str::to_owned);
        let batches = valid_batches(&pairs, &references, 12);
        let lengths: Vec<(Option<Vec<String>>, Vec<usize>)> = batches
            .iter()
            .map(|batch| {
                (
                    batch.references.clone(),
                    batch.pairs.iter().map(|pair| pair.src.len()).collect(),
                )
            })
            .collect();
        // Two of five cells are within 12; 10 cells and 31 cells stand alone, over the budget or not.
        let expected = [
            (Some(vec!["one".to_owned()]), vec![1]),
            (Some(vec!["nine".to_owned()]), vec![9]),
            (None, vec![2, 4]),
            (None, vec![4]),
            (None, vec![30]),
        ];
        assert_eq!(lengths, expected);
    }
}
