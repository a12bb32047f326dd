//! The data loader and the step of validation: the validation pairs, in the same batches every time, their losses and
//! translations. Several processes take the batches in turn, and send their results to the process of rank 0.

use std::sync::Arc;

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use burn_train::InferenceStep;
use serde::{Deserialize, Serialize};
use transformer_core::Transformer;
use transformer_translate::batches_within;

use super::metrics::{BatchMetrics, TranslationCounts};
use super::pair_translator::{PairTranslator, Translation};
use super::samples::Samples;
use crate::batching::Batch;
use crate::corpus::SentencePair;
use crate::step::{GradientNorm, LossSums, Objective, Report, WeightCheck};

/// Loads the validation pairs in batches, the same ones every time.
#[derive(Clone, Debug)]
pub(crate) struct ValidLoader {
    pub(crate) batches: Arc<[ValidPairs]>,
    pub(crate) translator: Arc<PairTranslator>,
    /// The sentences to display, which get their translations at each validation.
    pub(crate) samples: Samples,
    pub(crate) weights: WeightCheck,
    pub(crate) device: Device,
}

#[derive(Clone, Debug)]
pub(crate) struct ValidPairs {
    pub(crate) pairs: Vec<SentencePair>,
    /// The index of their corpus, which is scored by itself; 0 for a single corpus.
    pub(crate) corpus: usize,
    /// The reference of each pair; `None` if only the loss of the pairs is computed, without translations.
    pub(crate) references: Option<Vec<Reference>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Position of the pair among the validation pairs, from 0.
    pub(crate) index: usize,
    pub(crate) text: String,
}

#[derive(Clone, Debug)]
pub(crate) struct ValidBatch {
    /// Number of the batch in the validation, from 0.
    pub(super) index: usize,
    pub(crate) batch: Batch,
    loader: ValidLoader,
}

impl ValidBatch {
    pub(super) fn weights(&self) -> &WeightCheck {
        &self.loader.weights
    }

    fn pairs(&self) -> &ValidPairs {
        &self.loader.batches[self.index]
    }

    /// Returns the measurements of the batch. `translations` are those of its sentences, if they are translated.
    pub(super) fn metrics(
        &self,
        losses: LossSums,
        translations: Option<Vec<Translation>>,
    ) -> BatchMetrics {
        let translations = translations.map(|translations| self.count(&translations));
        BatchMetrics {
            report: Report {
                corpus: self.pairs().corpus,
                ..Report::new(self.batch.size, losses, GradientNorm::default())
            },
            translations: translations.unwrap_or_default(),
        }
    }

    /// Translates the sentences, if they have references.
    pub(super) fn translate(&self, model: &Transformer) -> Option<Vec<Translation>> {
        let pairs = self.pairs();
        pairs.references.as_ref()?;
        let translator = &self.loader.translator;
        Some(translator.translate_pairs(model, &pairs.pairs))
    }

    /// Compares translations with the references, and keeps those to be shown or scored.
    fn count(&self, translations: &[Translation]) -> TranslationCounts {
        let ValidPairs {
            pairs, references, ..
        } = self.pairs();
        self.loader.samples.update(pairs, translations);
        let references = || references.iter().flatten();
        let texts = references().map(|reference| reference.text.as_str());
        let counts = self.loader.translator.count(translations, pairs, texts);
        let indexed = references().zip(translations);
        TranslationCounts {
            texts: indexed
                .map(|(reference, translation)| (reference.index, translation.text.clone()))
                .collect(),
            ..counts
        }
    }
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
            device: device.clone(),
            ..self.clone()
        })
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<ValidBatch>> {
        Arc::new(Self {
            batches: self.batches[start..end].into(),
            ..self.clone()
        })
    }
}

struct ValidPass<'a> {
    loader: &'a ValidLoader,
    next: usize,
}

impl Iterator for ValidPass<'_> {
    type Item = Result<ValidBatch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        let pairs = &self.loader.batches.get(index)?.pairs;
        self.next += 1;
        Some(Ok(ValidBatch {
            index,
            batch: Batch::new(pairs, &self.loader.device),
            loader: self.loader.clone(),
        }))
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

/// Groups validation pairs into batches of at most `budget` padded tokens per side, sorted by
/// length. `corpora` has the index of each pair's corpus.
///
/// The first pairs, as many as there are `references`, are translated as well; the others have a
/// loss only. No batch has pairs of both kinds, or of two corpora.
pub(crate) fn valid_batches(
    pairs: &[SentencePair],
    corpora: &[usize],
    references: &[String],
    budget: usize,
) -> Vec<ValidPairs> {
    let n_corpora = corpora.iter().max().map_or(0, |last| last + 1);
    let numbered: Vec<(usize, &SentencePair)> = pairs.iter().enumerate().collect();
    let (translated, scored) = numbered.split_at(references.len().min(pairs.len()));
    let mut batches = Vec::new();
    for (pairs, is_translated) in [(translated, true), (scored, false)] {
        for corpus in 0..n_corpora {
            let of_corpus = pairs.iter().filter(|(index, _)| corpora[*index] == corpus);
            let mut of_corpus: Vec<(usize, SentencePair)> = of_corpus
                .map(|(index, pair)| (*index, (*pair).clone()))
                .collect();
            of_corpus.sort_by_key(|(_, pair)| (pair.src.len(), pair.tgt.len()));
            let (indices, pairs): (Vec<usize>, Vec<_>) = of_corpus.into_iter().unzip();
            let mut indices = indices.into_iter();
            for pairs in in_batches(pairs, budget) {
                let reference = |index: usize| Reference {
                    index,
                    text: references[index].clone(),
                };
                let indices = indices.by_ref().take(pairs.len());
                let references = is_translated.then(|| indices.map(reference).collect());
                batches.push(ValidPairs {
                    pairs,
                    corpus,
                    references,
                });
            }
        }
    }
    batches
}

/// Groups pairs, in their order, into batches of at most `budget` padded tokens per side.
fn in_batches(pairs: Vec<SentencePair>, budget: usize) -> Vec<Vec<SentencePair>> {
    let width = |index: usize| {
        let SentencePair { src, tgt } = &pairs[index];
        src.len().max(tgt.len()) + 1 // EOS of the source; BOS of the input, or EOS of the labels
    };
    let batches = batches_within(budget, 0..pairs.len(), width);
    let mut pairs = pairs.into_iter();
    let take = |batch: Vec<usize>| pairs.by_ref().take(batch.len()).collect();
    batches.into_iter().map(take).collect()
}

impl InferenceStep for Objective {
    type Input = ValidBatch;
    type Output = BatchMetrics;

    /// Returns an empty report on processes that do not report.
    fn step(&self, batch: ValidBatch) -> BatchMetrics {
        if !batch.weights().ranks().is_alone() {
            return validate_shared(self, &batch).unwrap_or_default();
        }
        let translations = batch.translate(self.published());
        batch.metrics(self.loss(&batch.batch), translations)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Share {
    /// Label-smoothed cross-entropy, and negative log-likelihood.
    losses: [f64; 2],
    translations: Option<Vec<Translation>>,
}

/// Validates a batch together with other processes, which take the batches in turn. Returns the report on the process
/// of rank 0, and `None` on the others.
fn validate_shared(objective: &Objective, batch: &ValidBatch) -> Option<BatchMetrics> {
    let ranks = batch.weights().ranks();
    if batch.index == 0 {
        batch.weights().check(objective);
    }
    let owner = batch.index % ranks.n_ranks();
    if owner != ranks.rank() && !ranks.is_first() {
        return None;
    }
    let share = match owner == ranks.rank() {
        true => Share {
            losses: objective.loss(&batch.batch).values(),
            translations: batch.translate(objective.published()),
        },
        false => serde_json::from_str(&ranks.receive(owner))
            .expect("every process sends a share in this form"),
    };
    if !ranks.is_first() {
        let text = serde_json::to_string(&share).expect("a share is numbers and text");
        ranks.send_to_first(&text);
        return None;
    }
    let losses = LossSums::on(&batch.batch.labels.device(), share.losses);
    Some(batch.metrics(losses, share.translations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validation_batches_stay_within_the_budget_and_contain_every_pair() {
        let pair = |len: usize| SentencePair {
            src: vec![7; len],
            tgt: vec![8; len / 2],
        };
        let pairs: Vec<SentencePair> = [9, 1, 4, 4, 2, 30].map(pair).into();
        let references = ["nine", "one"].map(str::to_owned);
        let batches = valid_batches(&pairs, &[0; 6], &references, 12);
        let lengths: Vec<(Option<Vec<Reference>>, Vec<usize>)> = batches
            .iter()
            .map(|batch| {
                (
                    batch.references.clone(),
                    batch.pairs.iter().map(|pair| pair.src.len()).collect(),
                )
            })
            .collect();
        let reference = |index, text: &str| {
            let text = text.to_owned();
            Some(vec![Reference { index, text }])
        };
        // Two of five tokens are within 12; those of 10 and of 31 are alone, over the budget or not.
        let expected = [
            (reference(1, "one"), vec![1]),
            (reference(0, "nine"), vec![9]),
            (None, vec![2, 4]),
            (None, vec![4]),
            (None, vec![30]),
        ];
        assert_eq!(lengths, expected);
    }
}
