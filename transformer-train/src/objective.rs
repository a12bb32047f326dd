//! The module that the Learner steps: the model, its loss, and how it is updated (§5).

use burn::module::Module;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Int, Tensor};
use burn_train::{InferenceStep, TrainOutput, TrainStep};
use derive_new::new;
use transformer_core::text::Tokenizer;
use transformer_core::{Transformer, seed_dropout};
use transformer_infer::search::{Hypothesis, Search};
use transformer_infer::{BatchLimits, translate_ids};

use crate::batch::{Batch, SentencePair, Update};
use crate::clip::clip_by_global_norm;
use crate::loader::{ValidBatch, ValidPairs};
use crate::loss::{
    LabelSmoothing, LossSums, Projection, projected_loss, projected_loss_with_gradient,
};
use crate::metrics::{StepReport, Translated, ValidReport};
use crate::plan::hash;
use crate::text_scores::TextMetrics;
use crate::threads::Threads;

/// Joins a model with its training objective.
#[derive(Module, Debug, new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct Objective {
    model: Transformer,
    #[module(skip)]
    settings: Settings,
}

/// Holds what an update needs to know besides the model and the batch.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) smoothing: LabelSmoothing,
    /// Largest global norm of the gradients.
    pub(crate) clip_norm: Option<f64>,
    /// How validation pairs are translated.
    pub(crate) translation: Translation,
    /// The threads that share an update, where backends compute on the thread that calls them.
    pub(crate) threads: Option<Threads>,
}

/// Says how validation pairs are translated, and what the translations are worth.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    pub(crate) search: Search,
    pub(crate) limits: BatchLimits,
    /// The tokenizer of the target.
    pub(crate) tokenizer: Tokenizer,
    pub(crate) metrics: TextMetrics,
}

impl Translation {
    /// Translates sources and compares the translations with the targets.
    fn evaluate(
        &self,
        model: &Transformer,
        pairs: &[SentencePair],
        references: &[String],
    ) -> Translated {
        let sources: Vec<&[u32]> = pairs.iter().map(|pair| pair.src.as_slice()).collect();
        let found = translate_ids(model, &sources, &self.search, &self.limits);
        let best: Vec<_> = found.iter().filter_map(|found| found.first()).collect();
        let is_exact =
            |(best, pair): &(&&Hypothesis, &SentencePair)| best.finished && best.ids == pair.tgt;
        let translations: Vec<String> = best
            .iter()
            .map(|best| self.tokenizer.decode(&best.ids))
            .collect();
        let references = references.iter().map(String::as_str);
        Translated {
            n_sentences: pairs.len(),
            n_exact: best.iter().zip(pairs).filter(is_exact).count(),
            text: self
                .metrics
                .count(translations.iter().map(String::as_str).zip(references)),
        }
    }
}

impl Objective {
    pub(crate) fn into_model(self) -> Transformer {
        self.model
    }

    /// Computes the features of the places that have labels.
    ///
    /// # Shapes
    ///
    /// - returns: `[n_labels, d_model]`
    fn label_features(&self, batch: &Batch) -> Tensor<2> {
        let features = self.model.forward_features(&batch.src, batch.tgt.ids());
        let features: Tensor<2> = features.flatten(0, 1); // [batch * tgt_len, d_model]
        features.select(0, batch.label_places.clone())
    }

    /// Computes a shard's part of the update's gradient.
    fn shard(&self, batch: Batch, seed: u64, scale: f64) -> (GradientsParams, LossSums) {
        seed_dropout(&self.model.output_weight().device(), seed);
        let (sums, surrogate) = projected_loss_with_gradient(
            self.label_features(&batch),
            Projection::of(&self.model),
            plain(batch.labels),
            &self.settings.smoothing,
            scale,
        );
        (
            GradientsParams::from_grads(surrogate.backward(), self),
            sums,
        )
    }

    /// Adds up the shards' gradients and losses, in their order.
    fn sum(&self, parts: Vec<(GradientsParams, LossSums)>) -> (GradientsParams, LossSums) {
        let mut accumulator = GradientsAccumulator::new();
        let mut sums = None;
        for (gradients, part) in parts {
            accumulator.accumulate(self, gradients);
            sums = Some(match sums {
                Some(sums) => sums + part,
                None => part,
            });
        }
        (
            accumulator.grads(),
            sums.expect("an update has at least one shard"),
        )
    }

    /// Computes the summed losses of a batch, without gradients.
    pub(crate) fn loss(&self, batch: &Batch) -> LossSums {
        let features = self.label_features(batch);
        let smoothing = &self.settings.smoothing;
        projected_loss(
            features,
            Projection::of(&self.model),
            batch.labels.clone(),
            smoothing,
        )
    }
}

impl TrainStep for Objective {
    type Input = Update;
    type Output = StepReport;

    fn step(&self, mut update: Update) -> TrainOutput<StepReport> {
        let shards = std::mem::take(&mut update.shards);
        let scale = 1.0 / update.size.n_labels as f64;
        let seeds = (0..).map(|shard| hash(update.seed, shard));
        let (gradients, sums) = match &self.settings.threads {
            None => {
                let parts = shards.into_iter().zip(seeds);
                self.sum(
                    parts
                        .map(|(shard, seed)| self.shard(shard, seed, scale))
                        .collect(),
                )
            }
            Some(threads) => {
                // Gradients meet at the leaves of Burn's tape: every shard gets leaves of its own.
                let device = self.model.output_weight().device();
                let parts: Vec<_> = shards
                    .into_iter()
                    .zip(seeds)
                    .map(|(shard, seed)| (self.clone().fork(&device), shard, seed))
                    .collect();
                self.sum(threads.run(parts, |(objective, shard, seed)| {
                    objective.shard(shard, seed, scale)
                }))
            }
        };
        TrainOutput {
            grads: gradients,
            item: StepReport::new(&update, sums),
        }
    }

    fn optimize(
        self,
        optimizer: &mut ModuleOptimizer,
        learning_rate: ModuleLearningRate,
        gradients: GradientsParams,
    ) -> Self {
        let gradients = match self.settings.clip_norm {
            Some(max_norm) => clip_by_global_norm(&self, gradients, max_norm),
            None => gradients,
        };
        optimizer.step(learning_rate, self, gradients)
    }
}

impl InferenceStep for Objective {
    type Input = ValidBatch;
    type Output = ValidReport;

    fn step(&self, ValidBatch { batch, valid }: ValidBatch) -> ValidReport {
        let sums = self.loss(&batch);
        let ValidPairs { pairs, references } = &valid;
        let translated = references.as_ref().map(|references| {
            let translation = &self.settings.translation;
            translation.evaluate(&self.model, pairs, references)
        });
        ValidReport::new(batch.size, sums, translated.unwrap_or_default())
    }
}

/// Takes ids off Burn's tape, if they are on it.
fn plain(ids: Tensor<1, Int>) -> Tensor<1, Int> {
    if ids.device().is_autodiff() {
        ids.inner()
    } else {
        ids
    }
}
