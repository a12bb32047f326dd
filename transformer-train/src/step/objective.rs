//! The module that the Learner steps: the model, its loss, and how it is updated (§5).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::module::Module;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Int, Tensor};
use burn_train::{InferenceStep, TrainOutput, TrainStep};
use transformer_core::random::hash;
use transformer_core::text::Tokenizer;
use transformer_core::{Transformer, seed_dropout};
use transformer_infer::search::{Hypothesis, Search};
use transformer_infer::{BatchLimits, translate_ids};

use crate::batching::{Batch, Update};
use crate::corpus::SentencePair;
use crate::optim::{clip_by_global_norm, ema, global_norm};
use crate::step::{
    GradientNorm, LabelSmoothing, LossSums, Projection, Threads, projected_loss,
    projected_loss_with_gradient,
};
use crate::validation::{
    Samples, StepReport, TextMetrics, Translated, ValidBatch, ValidPairs, ValidReport,
};

/// Joins a model with its training objective.
#[derive(Module, Debug)]
pub(crate) struct Objective {
    model: Transformer,
    /// The moving average of the model, which is then validated and published in its place.
    ema: Option<Transformer>,
    #[module(skip)]
    settings: Settings,
}

/// Holds what an update needs to know besides the model and the batch.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) smoothing: LabelSmoothing,
    /// Largest global norm of the gradients.
    pub(crate) clip_norm: Option<f64>,
    /// Decay of the moving average of the weights.
    pub(crate) ema_decay: Option<f64>,
    /// Number of updates whose gradients were computed. Workers of Burn's DDP share it and the norms without an
    /// order between them, so that there both may be those of the next update.
    pub(crate) n_updates: Arc<AtomicU64>,
    /// Where the norm of the gradients of the update under way is put, for the reports of all devices.
    pub(crate) norms: Arc<Mutex<Vec<GradientNorm>>>,
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
    /// Sentences that are shown.
    pub(crate) samples: Samples,
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
        self.samples.look(pairs, &translations);
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

impl Settings {
    fn norms(&self) -> MutexGuard<'_, Vec<GradientNorm>> {
        self.norms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objective {
    pub(crate) fn new(model: Transformer, settings: Settings) -> Self {
        let ema = settings.ema_decay.map(|_| ema::copy(&model));
        Self {
            model,
            ema,
            settings,
        }
    }

    /// Returns the sentences that are shown at every validation.
    pub(crate) fn samples(&self) -> Samples {
        self.settings.translation.samples.clone()
    }

    /// Returns what is validated and published.
    fn published(&self) -> &Transformer {
        self.ema.as_ref().unwrap_or(&self.model)
    }

    pub(crate) fn into_model(self) -> Transformer {
        self.ema.unwrap_or(self.model)
    }

    /// Computes the features of the places that have labels.
    ///
    /// # Shapes
    ///
    /// - returns: `[n_labels, d_model]`
    fn label_features(model: &Transformer, batch: &Batch) -> Tensor<2> {
        let features = model.forward_features(&batch.src, batch.tgt.ids());
        let features: Tensor<2> = features.flatten(0, 1); // [batch * tgt_len, d_model]
        features.select(0, batch.label_places.clone())
    }

    /// Computes a shard's part of the update's gradient.
    fn shard(&self, batch: Batch, seed: u64, scale: f64) -> (GradientsParams, LossSums) {
        seed_dropout(&self.model.output_weight().device(), seed);
        let (sums, surrogate) = projected_loss_with_gradient(
            Self::label_features(&self.model, &batch),
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

    /// Computes the parts of a micro-batch, in their order.
    fn micro_batch(
        &self,
        shards: Vec<Batch>,
        seeds: impl Iterator<Item = u64>,
        scale: f64,
    ) -> Vec<(GradientsParams, LossSums)> {
        let parts = shards.into_iter().zip(seeds);
        match &self.settings.threads {
            None => parts
                .map(|(shard, seed)| self.shard(shard, seed, scale))
                .collect(),
            Some(threads) => {
                // Gradients meet at the leaves of Burn's tape: every shard gets leaves of its own.
                let device = self.model.output_weight().device();
                let parts = parts.map(|(shard, seed)| (self.clone().fork(&device), shard, seed));
                threads.run(parts.collect(), |(objective, shard, seed)| {
                    objective.shard(shard, seed, scale)
                })
            }
        }
    }

    /// Clips the gradients of a whole update, if that is wanted, and reports their norm before.
    fn clipped(&self, gradients: GradientsParams) -> GradientsParams {
        let norms: Vec<GradientNorm> = self.settings.norms().drain(..).collect();
        let Some(norm) = global_norm(self, &gradients) else {
            return gradients;
        };
        for report in norms {
            // Devices that each update their own copy of the model find the same norm.
            let _ = report.set(norm.clone());
        }
        match self.settings.clip_norm {
            Some(max_norm) => clip_by_global_norm(self, gradients, norm, max_norm),
            None => gradients,
        }
    }

    /// Computes the summed losses of a batch, without gradients.
    pub(crate) fn loss(&self, batch: &Batch) -> LossSums {
        let model = self.published();
        let smoothing = &self.settings.smoothing;
        projected_loss(
            Self::label_features(model, batch),
            Projection::of(model),
            batch.labels.clone(),
            smoothing,
        )
    }
}

impl TrainStep for Objective {
    type Input = Update;
    type Output = StepReport;

    fn step(&self, mut update: Update) -> TrainOutput<StepReport> {
        let micro_batches = std::mem::take(&mut update.micro_batches);
        let scale = 1.0 / update.n_labels as f64;
        let seed = update.seed;
        let mut seeds = (update.n_before..).map(|shard| hash(seed, shard));
        let mut accumulator = GradientsAccumulator::new();
        let mut sums = None;
        for shards in micro_batches {
            for (gradients, part) in self.micro_batch(shards, &mut seeds, scale) {
                accumulator.accumulate(self, gradients);
                sums = Some(match sums.take() {
                    Some(sums) => sums + part,
                    None => part,
                });
            }
        }
        let sums =
            sums.expect("an update has at least one micro-batch, and that at least one shard");
        let n_updates = &self.settings.n_updates;
        n_updates.store(update.number + 1, Ordering::Relaxed);
        let norm = GradientNorm::default();
        self.settings.norms().push(Arc::clone(&norm));
        TrainOutput {
            grads: accumulator.grads(),
            item: StepReport::new(&update, sums, norm),
        }
    }

    fn optimize(
        self,
        optimizer: &mut ModuleOptimizer,
        learning_rate: ModuleLearningRate,
        gradients: GradientsParams,
    ) -> Self {
        let gradients = self.clipped(gradients);
        let mut updated = optimizer.step(learning_rate, self, gradients);
        if let (Some(average), Some(decay)) = (updated.ema.take(), updated.settings.ema_decay) {
            let update = updated.settings.n_updates.load(Ordering::Relaxed);
            let decay = ema::decay_at(update, decay);
            updated.ema = Some(ema::follow(average, &updated.model, decay));
        }
        updated
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
            translation.evaluate(self.published(), pairs, references)
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

#[cfg(test)]
mod tests {
    use burn::module::{ModuleVisitor, Param};
    use burn::tensor::Device;
    use transformer_core::text::{TokenizerConfig, TokenizerKind};
    use transformer_core::{TransformerConfig, device};
    use transformer_infer::metrics::Tokenization;

    use super::*;
    use crate::batching::Deal;
    use crate::step::SmoothingForm;

    /// Makes a model and its objective, on a device that records gradients.
    fn objective(threads: Option<Threads>, dropout: f64) -> (Objective, Device) {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let device = device.autodiff();
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 12,
            n_heads: 2,
            n_encoder_layers: 1,
            n_decoder_layers: 1,
            dropout,
            ..TransformerConfig::base(11, 11)
        };
        let tokenizer = TokenizerConfig {
            kind: TokenizerKind::Char,
            vocab_size: 11,
            ..TokenizerConfig::default()
        };
        let settings = Settings {
            smoothing: LabelSmoothing {
                epsilon: 0.1,
                form: SmoothingForm::AllTokens,
            },
            clip_norm: None,
            ema_decay: None,
            n_updates: Arc::default(),
            norms: Arc::default(),
            translation: Translation {
                search: Search::default(),
                limits: BatchLimits::for_model(&config),
                tokenizer: Tokenizer::train(&tokenizer, ["abcdefg"]).expect("it has text"),
                metrics: TextMetrics::new(true, Tokenization::V13a),
                samples: Samples::default(),
            },
            threads,
        };
        device.seed(1);
        let model = config.init(&device).expect("the config is right");
        (Objective::new(model, settings), device)
    }

    /// Pairs whose sides have from one to five tokens.
    fn pairs() -> Vec<SentencePair> {
        let ids = |n: u32, first: u32| (0..n).map(|id| 4 + (first + 3 * id) % 7).collect();
        let pair = |index: u32| SentencePair {
            src: ids(1 + index % 5, index),
            tgt: ids(1 + (2 * index) % 3, index + 1),
        };
        (0..9).map(pair).collect()
    }

    /// Collects the gradients of all parameters.
    struct Collected<'a> {
        gradients: &'a GradientsParams,
        values: Vec<f32>,
    }

    impl ModuleVisitor for Collected<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self.gradients.get::<D>(param.id);
            let gradient = gradient.expect("every parameter has a part in the loss");
            self.values.extend(gradient.into_data().iter::<f32>());
        }
    }

    fn gradients(
        objective: &Objective,
        device: &Device,
        micro_batches: Vec<Vec<SentencePair>>,
    ) -> Vec<f32> {
        let n_shards = if objective.settings.threads.is_some() {
            2
        } else {
            1
        };
        let deal = Deal::to_one_device(n_shards);
        let update = Update::new(micro_batches, 0, 1, deal, device);
        let output = TrainStep::step(objective, update);
        let mut collected = Collected {
            gradients: &output.grads,
            values: Vec::new(),
        };
        objective.visit(&mut collected);
        collected.values
    }

    /// Checks that micro-batches of unequal sizes have the gradient of all their sentences together.
    fn assert_accumulated(threads: Option<Threads>) {
        let (objective, device) = objective(threads, 0.0);
        let whole = gradients(&objective, &device, vec![pairs()]);
        let micro_batches = [0..4, 4..5, 5..9].map(|range| pairs()[range].to_vec());
        let accumulated = gradients(&objective, &device, micro_batches.into());
        assert!(whole.iter().any(|gradient| gradient.abs() > 0.01));
        // Single precision: gradients of a mean, of at most one in size.
        let differences = whole.iter().zip(&accumulated).map(|(a, b)| (a - b).abs());
        let largest = differences.fold(0.0, f32::max);
        assert!(largest < 1e-6, "{largest}");
    }

    #[test]
    fn micro_batches_have_the_gradient_of_one_large_batch() {
        assert_accumulated(None);
    }

    #[test]
    fn micro_batches_that_threads_share_have_the_gradient_of_one_large_batch() {
        assert_accumulated(Threads::new(2));
    }

    #[test]
    fn micro_batches_of_the_same_sentences_have_dropout_of_their_own() {
        let (objective, device) = objective(None, 0.3);
        let one = gradients(&objective, &device, vec![pairs()]);
        let again = gradients(&objective, &device, vec![pairs()]);
        assert_eq!(one, again, "the seed of the update fixes what is dropped");
        let two = gradients(&objective, &device, vec![pairs(), pairs()]);
        let apart = one.iter().zip(&two).map(|(a, b)| (a - b).abs());
        let apart = apart.fold(0.0, f32::max);
        assert!(apart > 1e-3, "the mean of two is not the first: {apart}");
    }
}
