//! Hands the Learner the validation pairs, in the same batches every time.

use std::sync::Arc;

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use transformer_infer::batches_within;

use crate::batching::Batch;
use crate::corpus::SentencePair;

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
    let width = |index: usize| {
        let SentencePair { src, tgt } = &pairs[index];
        src.len().max(tgt.len()) + 1 // EOS, and BOS
    };
    let batches = batches_within(budget, 0..pairs.len(), width);
    let mut pairs = pairs.into_iter();
    let take = |batch: Vec<usize>| pairs.by_ref().take(batch.len()).collect();
    batches.into_iter().map(take).collect()
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
