//! The speed of training: whole updates as `transformer-train` makes them, and the parts of an update.

use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Gradients, Tensor};
use serde_json::{Value, json};
use transformer_core::device::is_cpu_memory;
use transformer_core::model::MatmulPrecision;
use transformer_core::{Transformer, TransformerConfig, seed_dropout};
use transformer_train::config::SmoothingForm;
use transformer_train::optim::{Adam, global_norm};
use transformer_train::step::{LabelSmoothing, Threads};
use transformer_train::{Batch, SentencePair, ShardSpec, Update};

use crate::goldens::{label_loss, loss_of_features};
use crate::{Repeats, print_line, sentences};

/// Sentences of an update.
const N_SENTENCES: usize = 32;

const SMOOTHING: LabelSmoothing = LabelSmoothing {
    epsilon: 0.1,
    form: SmoothingForm::AllTokens,
};

const LEARNING_RATE: f64 = 1e-4;

/// Seed of dropout in the recomputed layers.
const SEED: u64 = 1;

/// A difference of training from the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// No difference.
    Default,
    /// Layers multiply matrices in bfloat16.
    Bf16,
    /// The backward pass computes layers again.
    Recomputed,
}

impl FromStr for Variant {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "bf16" => Ok(Self::Bf16),
            "recomputed" => Ok(Self::Recomputed),
            _ => bail!("`{name}` is no way to train; give bf16 or recomputed"),
        }
    }
}

impl Variant {
    fn matmul(self) -> MatmulPrecision {
        match self {
            Self::Bf16 => MatmulPrecision::Bf16,
            Self::Default | Self::Recomputed => MatmulPrecision::F32,
        }
    }
}

/// Prints the seconds of the first update, target tokens per second, and the seconds of each part. Returns the duration
/// of the first two updates, after which everything is compiled and allocated.
pub(crate) fn measure(
    config: &TransformerConfig,
    device: &Device,
    n_threads: usize,
    repeats: Repeats,
) -> Result<Duration> {
    let mut training = Training::new(config, device, n_threads, Variant::Default)?;
    let started = Instant::now();
    training.update()?;
    let first = started.elapsed();
    print_line(&json!({
        "parameters": training.model().num_params(), "first_update_s": first.as_secs_f64(),
    }))?;
    // With existing moments, Adam runs other operations than in the first update.
    training.update()?;
    let warm_up = started.elapsed();

    print_line(&json!({ "training": training.speed(repeats)? }))?;

    let mut parts = Vec::new();
    repeats.seconds(|| {
        parts.push(training.parts()?);
        Ok(())
    })?;
    let median = |part: usize| {
        let mut seconds: Vec<f64> = parts.iter().map(|seconds| seconds[part]).collect();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    print_line(&json!({ "parts": {
        "forward_s": [median(0)], "backward_s": [median(1)], "optimizer_s": [median(2)],
    }}))?;
    Ok(warm_up)
}

/// Prints the speed of the other ways of training that the device supports.
pub(crate) fn measure_variants(
    config: &TransformerConfig,
    device: &Device,
    n_threads: usize,
    repeats: Repeats,
) -> Result<()> {
    for (name, variant) in [
        ("training_bf16", Variant::Bf16),
        ("training_recomputed", Variant::Recomputed),
    ] {
        if variant.matmul().is_supported(device) {
            let mut training = Training::new(config, device, n_threads, variant)?;
            for _ in 0..2 {
                training.update()?;
            }
            print_line(&json!({ name: training.speed(repeats)? }))?;
        }
    }
    Ok(())
}

/// A model in training, and the update that it makes repeatedly.
pub(crate) struct Training {
    model: Option<Transformer>,
    optimizer: ModuleOptimizer,
    threads: Option<Threads>,
    update: Update,
    device: Device,
    variant: Variant,
}

impl Training {
    pub(crate) fn new(
        config: &TransformerConfig,
        device: &Device,
        n_threads: usize,
        variant: Variant,
    ) -> Result<Self> {
        let threads = match is_cpu_memory(device) {
            true => Threads::new(n_threads)?,
            false => None,
        };
        let device = device.clone().autodiff();
        device.seed(1);
        seed_dropout(&device, 1);
        let pairs = sentences(N_SENTENCES, 1)
            .into_iter()
            .zip(sentences(N_SENTENCES, 2));
        let pairs: Vec<SentencePair> = pairs.map(|(src, tgt)| SentencePair { src, tgt }).collect();
        let n_shards = threads.as_ref().map_or(1, Threads::n_threads);
        Ok(Self {
            model: Some(
                config
                    .init(&device)?
                    .with_matmul_precision(variant.matmul()),
            ),
            optimizer: Adam::default().into(),
            threads,
            update: Update::new(
                vec![pairs],
                0,
                1,
                ShardSpec::single_device(n_shards),
                &device,
            ),
            device,
            variant,
        })
    }

    fn model(&self) -> &Transformer {
        self.model
            .as_ref()
            .expect("only Adam takes it, and returns it")
    }

    /// Sets the sentences of the next update.
    pub(crate) fn set_sentences(&mut self, pairs: Vec<SentencePair>, number: u64) {
        let n_shards = self.threads.as_ref().map_or(1, Threads::n_threads);
        let shard_spec = ShardSpec::single_device(n_shards);
        self.update = Update::new(vec![pairs], number, 1, shard_spec, &self.device);
    }

    /// Makes one update; the threads share its sentences.
    pub(crate) fn update(&mut self) -> Result<()> {
        let update = self.on_shards(self.shards(), |(model, shard)| {
            self.gradients(&model, shard)
        });
        self.apply(self.sum(update))
    }

    /// Makes updates, and returns their size and target tokens per second.
    fn speed(&mut self, repeats: Repeats) -> Result<Value> {
        let all = repeats.seconds(|| self.update())?;
        let n_labels = self.update.size.n_labels as f64;
        let speeds: Vec<f64> = all.iter().map(|seconds| n_labels / seconds).collect();
        Ok(json!({ "labels": n_labels, "tokens_per_second": speeds }))
    }

    /// Returns the gradients of a shard.
    fn gradients(&self, model: &Transformer, shard: Batch) -> GradientsParams {
        if self.variant != Variant::Recomputed {
            return GradientsParams::from_grads(self.loss(model, shard).backward(), model);
        }
        let src = shard.src.clone();
        let pass = model.forward_recomputed(&src, shard.tgt.ids(), SEED);
        let features = pass.features();
        let scale = 1.0 / self.update.size.n_labels as f64;
        let loss = loss_of_features(model, features.clone(), shard, &SMOOTHING, scale);
        let gradients = loss.backward();
        let d_features = features.grad(&gradients);
        let d_features = d_features.expect("the loss depends on the features");
        let mut sum = GradientsAccumulator::new();
        let mut collect = |gradients: Gradients| {
            sum.accumulate(model, GradientsParams::from_grads(gradients, model));
        };
        collect(gradients);
        pass.backward(d_features, collect);
        sum.grads()
    }

    /// Makes one update and returns the seconds of the forward pass with the loss, of the backward pass, and of Adam.
    /// The threads wait for each other after each part.
    fn parts(&mut self) -> Result<[f64; 3]> {
        let started = Instant::now();
        let losses = self.on_shards(self.shards(), |(model, shard)| {
            let loss = self.loss(&model, shard);
            (model, loss)
        });
        self.device.sync()?;
        let forward = started.elapsed().as_secs_f64();
        let gradients = self.on_shards(losses, |(model, loss)| {
            GradientsParams::from_grads(loss.backward(), &model)
        });
        let sum = self.sum(gradients);
        self.device.sync()?;
        let both = started.elapsed().as_secs_f64();
        self.apply(sum)?;
        Ok([
            forward,
            both - forward,
            started.elapsed().as_secs_f64() - both,
        ])
    }

    /// Returns the shard of each thread, and a model for it.
    fn shards(&self) -> Vec<(Transformer, Batch)> {
        let shards = self.update.micro_batches[0].clone().into_iter();
        let model = || match self.threads {
            None => self.model().clone(),
            // Threads that share leaves of the autodiff graph would share gradients: each gets its own leaves.
            Some(_) => self.model().clone().fork(&self.device),
        };
        shards.map(|shard| (model(), shard)).collect()
    }

    fn on_shards<I: Send, O: Send>(&self, inputs: Vec<I>, task: impl Fn(I) -> O + Sync) -> Vec<O> {
        match &self.threads {
            None => inputs.into_iter().map(task).collect(),
            Some(threads) => threads.run(inputs, task),
        }
    }

    fn loss(&self, model: &Transformer, shard: Batch) -> Tensor<1> {
        let scale = 1.0 / self.update.size.n_labels as f64;
        label_loss(model, shard, &SMOOTHING, scale)
    }

    fn sum(&self, gradients: Vec<GradientsParams>) -> GradientsParams {
        let mut sum = GradientsAccumulator::new();
        for gradients in gradients {
            sum.accumulate(self.model(), gradients);
        }
        sum.grads()
    }

    /// Makes Adam's step, and waits for the device.
    fn apply(&mut self, gradients: GradientsParams) -> Result<()> {
        let model = self.model.take().expect("Adam returns the model");
        // Training computes the norm in every update.
        let _norm = global_norm(&model, &gradients);
        self.model = Some(self.optimizer.step(LEARNING_RATE, model, gradients));
        Ok(self.device.sync()?)
    }
}
