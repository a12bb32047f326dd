//! The module that the Learner trains: the model, its loss, and its update (§5).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::module::Module;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;
use burn_train::{TrainOutput, TrainStep};
use parking_lot::Mutex;
use transformer_core::random::hash;
use transformer_core::{Transformer, seed_dropout};

use super::loss::{
    LabelSmoothing, LossSums, Projection, projected_loss, projected_loss_with_gradient,
};
use super::ranks::Ranks;
use super::report::{GradientNorm, Report};
use super::sum::{sum_gradients, sum_reports};
use super::threads::Threads;
use crate::batching::{Batch, Update};
use crate::config::{Checkpointing, TrainingSettings};
use crate::optim::{clip_by_global_norm, ema, global_norm};

#[derive(Module, Debug)]
pub(crate) struct Objective {
    model: Transformer,
    /// Exponential moving average of the model; if present, validated and published in its place.
    ema: Option<Transformer>,
    #[module(skip)]
    settings: Settings,
}

#[derive(Clone, Debug)]
struct Settings {
    smoothing: LabelSmoothing,
    clip_norm: Option<f64>,
    ema_decay: Option<f64>,
    /// Number of updates with computed gradients. The workers of Burn's DDP share this and `pending_norms` without
    /// synchronization, so either may already belong to the next update.
    n_updates: Arc<AtomicU64>,
    /// Gradient norms of the current update that are still to be set, one in the report of each device.
    pending_norms: Arc<Mutex<Vec<GradientNorm>>>,
    /// The threads that share an update, on backends that compute on the calling thread.
    threads: Option<Threads>,
    ranks: Ranks,
    checkpointing: Checkpointing,
}

impl Objective {
    /// Creates the objective. `threads` share an update, on backends that compute on the calling thread.
    pub(crate) fn new(
        model: Transformer,
        training: &TrainingSettings,
        threads: Option<Threads>,
    ) -> Self {
        let matmul = training.precision.matmul().unwrap_or_default();
        Self {
            ema: training.ema_decay.map(|_| ema::copy(&model)),
            model: model.with_matmul_precision(matmul),
            settings: Settings {
                smoothing: LabelSmoothing {
                    epsilon: training.label_smoothing,
                    form: training.label_smoothing_form,
                },
                clip_norm: training.clip_norm,
                ema_decay: training.ema_decay,
                n_updates: Arc::default(),
                pending_norms: Arc::default(),
                threads,
                ranks: Ranks::default(),
                checkpointing: training.checkpointing,
            },
        }
    }

    /// Shares every update with other processes.
    pub(crate) fn with_ranks(mut self, ranks: Ranks) -> Self {
        self.settings.ranks = ranks;
        self
    }

    /// Returns the model to validate and publish: the moving average, if any.
    pub(crate) fn published(&self) -> &Transformer {
        self.ema.as_ref().unwrap_or(&self.model)
    }

    /// Returns the published model, with its adapters merged.
    pub(crate) fn into_model(self) -> Transformer {
        self.ema.unwrap_or(self.model).merge_adapters()
    }

    /// Selects the decoder's output at the positions with labels.
    ///
    /// # Shapes
    ///
    /// - `features`: `[batch, tgt_len, d_model]`
    /// - returns: `[n_labels, d_model]`
    fn label_features(features: Tensor<3>, batch: &Batch) -> Tensor<2> {
        let features: Tensor<2> = features.flatten(0, 1); // [batch * tgt_len, d_model]
        features.select(0, batch.label_positions.clone())
    }

    fn shard_gradients(&self, batch: &Batch, seed: u64, scale: f64) -> (GradientsParams, LossSums) {
        seed_dropout(&self.model.device(), seed);
        match self.settings.checkpointing {
            Checkpointing::None => {
                let features = self.model.forward_features(&batch.src, batch.tgt.ids());
                let (sums, surrogate) = self.loss_with_gradient(features, batch, scale);
                let gradients = surrogate.backward();
                (GradientsParams::from_grads(gradients, self), sums)
            }
            Checkpointing::Layers => self.recomputed_gradients(batch, seed, scale),
        }
    }

    /// Like [`shard_gradients`](Self::shard_gradients), with the activations of one layer at a time in memory.
    fn recomputed_gradients(
        &self,
        batch: &Batch,
        seed: u64,
        scale: f64,
    ) -> (GradientsParams, LossSums) {
        let tgt = batch.tgt.ids();
        let pass = self.model.forward_recomputed(&batch.src, tgt, seed);
        let features = pass.features();
        let (sums, surrogate) = self.loss_with_gradient(features.clone(), batch, scale);
        let gradients = surrogate.backward();
        let d_features = features.grad(&gradients);
        let d_features = d_features.expect("the loss depends on the features");
        let mut accumulator = GradientsAccumulator::new();
        let mut collect = |gradients| {
            accumulator.accumulate(self, GradientsParams::from_grads(gradients, self));
        };
        collect(gradients);
        drop((features, surrogate));
        pass.backward(d_features, collect);
        (accumulator.grads(), sums)
    }

    /// Computes the loss of a shard from its features, and the surrogate loss with its gradient.
    fn loss_with_gradient(
        &self,
        features: Tensor<3>,
        batch: &Batch,
        scale: f64,
    ) -> (LossSums, Tensor<1>) {
        projected_loss_with_gradient(
            Self::label_features(features, batch),
            Projection::of(&self.model),
            batch.labels.clone().without_autodiff(),
            &self.settings.smoothing,
            scale,
        )
    }

    fn micro_batch_gradients(
        &self,
        shards: Vec<Batch>,
        seeds: impl Iterator<Item = u64>,
        scale: f64,
    ) -> Vec<(GradientsParams, LossSums)> {
        let shards = shards.into_iter().zip(seeds);
        match &self.settings.threads {
            None => shards
                .map(|(shard, seed)| self.shard_gradients(&shard, seed, scale))
                .collect(),
            Some(threads) => {
                // Burn merges autodiff graphs that share leaves, so every shard gets its own leaves.
                let device = self.model.device();
                let shards = shards.map(|(shard, seed)| (self.clone().fork(&device), shard, seed));
                threads.run(shards.collect(), |(objective, shard, seed)| {
                    objective.shard_gradients(&shard, seed, scale)
                })
            }
        }
    }

    /// Reports the gradient norm of a whole update, then clips the gradients if a maximum is set.
    fn clip(&self, gradients: GradientsParams) -> GradientsParams {
        let pending: Vec<GradientNorm> = self.settings.pending_norms.lock().drain(..).collect();
        let Some(norm) = global_norm(self, &gradients) else {
            return gradients;
        };
        for report in pending {
            // Devices that each update their own copy of the model compute the same norm.
            let _ = report.set(norm.clone());
        }
        match self.settings.clip_norm {
            Some(max_norm) => clip_by_global_norm(self, gradients, norm, max_norm),
            None => gradients,
        }
    }

    pub(crate) fn loss(&self, batch: &Batch) -> LossSums {
        let model = self.published();
        let smoothing = &self.settings.smoothing;
        let features = model.forward_features(&batch.src, batch.tgt.ids());
        projected_loss(
            Self::label_features(features, batch),
            Projection::of(model),
            batch.labels.clone(),
            smoothing,
        )
    }
}

impl TrainStep for Objective {
    type Input = Update;
    type Output = Report;

    fn step(&self, mut update: Update) -> TrainOutput<Report> {
        let micro_batches = std::mem::take(&mut update.micro_batches);
        let scale = 1.0 / update.n_labels as f64;
        let seed = update.seed;
        let mut seeds = (update.first_shard..).map(|shard| hash(seed, shard));
        let mut accumulator = GradientsAccumulator::new();
        let mut sums = None;
        for shards in micro_batches {
            for (gradients, part) in self.micro_batch_gradients(shards, &mut seeds, scale) {
                accumulator.accumulate(self, gradients);
                sums = Some(match sums.take() {
                    Some(sums) => sums + part,
                    None => part,
                });
            }
        }
        let sums =
            sums.expect("an update has at least one micro-batch, which has at least one shard");
        let n_updates = &self.settings.n_updates;
        n_updates.store(update.number + 1, Ordering::Relaxed);
        let norm = GradientNorm::default();
        self.settings.pending_norms.lock().push(Arc::clone(&norm));
        let (ranks, mut grads, mut sums) = (self.settings.ranks, accumulator.grads(), sums);
        if !ranks.is_alone() {
            grads = sum_gradients(self, grads, ranks);
            (sums, update.size) = sum_reports(sums, update.size, ranks);
        }
        TrainOutput {
            grads,
            item: Report {
                update: update.number,
                timing: update.timing,
                ..Report::new(update.size, sums, norm)
            },
        }
    }

    fn optimize(
        self,
        optimizer: &mut ModuleOptimizer,
        learning_rate: ModuleLearningRate,
        gradients: GradientsParams,
    ) -> Self {
        let gradients = self.clip(gradients);
        let mut updated = optimizer.step(learning_rate, self, gradients);
        if let (Some(average), Some(decay)) = (updated.ema.take(), updated.settings.ema_decay) {
            let update = updated.settings.n_updates.load(Ordering::Relaxed);
            let decay = ema::decay_at(update, decay);
            updated.ema = Some(ema::update(average, &updated.model, decay));
        }
        updated
    }
}

#[cfg(test)]
mod tests {
    use burn::module::{ModuleVisitor, Param};
    use burn::tensor::Device;
    use transformer_core::{TransformerConfig, device};

    use super::*;
    use crate::batching::ShardSpec;
    use crate::config::SmoothingForm;
    use crate::corpus::SentencePair;
    use crate::weights::random_model;

    /// Creates a model with its objective on an autodiff device.
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
        let training = TrainingSettings {
            label_smoothing: 0.1,
            label_smoothing_form: SmoothingForm::AllTokens,
            clip_norm: None,
            ema_decay: None,
            ..TrainingSettings::default()
        };
        let model = random_model(&config, &device, 1);
        (Objective::new(model, &training, threads), device)
    }

    /// Returns pairs of one to five tokens per side.
    fn pairs() -> Vec<SentencePair> {
        let ids = |n: u32, first: u32| (0..n).map(|id| 4 + (first + 3 * id) % 7).collect();
        let pair = |index: u32| SentencePair {
            src: ids(1 + index % 5, index),
            tgt: ids(1 + (2 * index) % 3, index + 1),
        };
        (0..9).map(pair).collect()
    }

    /// Concatenates the gradients of all parameters.
    struct Collected<'a> {
        gradients: &'a GradientsParams,
        values: Vec<f32>,
    }

    impl ModuleVisitor for Collected<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self.gradients.get::<D>(param.id);
            let gradient = gradient.expect("the loss depends on every parameter");
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
        let shard_spec = ShardSpec::single_device(n_shards);
        let update = Update::new(micro_batches, 0, 1, shard_spec, device);
        let output = TrainStep::step(objective, update);
        let mut collected = Collected {
            gradients: &output.grads,
            values: Vec::new(),
        };
        objective.visit(&mut collected);
        collected.values
    }

    /// Checks that micro-batches of unequal sizes give the gradient of all sentences in one batch.
    fn assert_accumulated(threads: Option<Threads>) {
        let (objective, device) = objective(threads, 0.0);
        let whole = gradients(&objective, &device, vec![pairs()]);
        let micro_batches = [0..4, 4..5, 5..9].map(|range| pairs()[range].to_vec());
        let accumulated = gradients(&objective, &device, micro_batches.into());
        assert!(whole.iter().any(|gradient| gradient.abs() > 0.01));
        // Single precision; the gradients of a mean are at most about one.
        let differences = whole.iter().zip(&accumulated).map(|(a, b)| (a - b).abs());
        let largest = differences.fold(0.0, f32::max);
        assert!(largest < 1e-6, "{largest}");
    }

    #[test]
    fn accumulated_gradients_equal_those_of_one_large_batch() {
        assert_accumulated(None);
    }

    #[test]
    fn gradients_accumulated_over_threads_equal_those_of_one_large_batch() {
        assert_accumulated(Threads::new(2).expect("the system gives two threads"));
    }

    #[test]
    fn equal_micro_batches_have_different_dropout() {
        let (objective, device) = objective(None, 0.3);
        let one = gradients(&objective, &device, vec![pairs()]);
        let again = gradients(&objective, &device, vec![pairs()]);
        assert_eq!(one, again, "dropout depends on the seed of the update only");
        let two = gradients(&objective, &device, vec![pairs(), pairs()]);
        let differences = one.iter().zip(&two).map(|(a, b)| (a - b).abs());
        let largest = differences.fold(0.0, f32::max);
        assert!(largest > 1e-3, "dropout differs: {largest}");
    }
}
