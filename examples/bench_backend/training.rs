//! The speed of training: whole updates as `transformer-train` makes them, and the parts of an update.

use std::time::{Duration, Instant};

use anyhow::Result;
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Gradients, Tensor};
use transformer_core::device::is_cpu_memory;
use transformer_core::model::MatmulPrecision;
use transformer_core::{Transformer, TransformerConfig, seed_dropout};
use transformer_train::config::SmoothingForm;
use transformer_train::optim::{Adam, global_norm};
use transformer_train::step::{LabelSmoothing, Threads};
use transformer_train::{Batch, SentencePair, ShardSpec, Update};

use crate::figures::{self, Parts};
use crate::goldens::label_loss;
use crate::{Repeats, print, sentences};

/// Sentences of an update.
const N_SENTENCES: usize = 32;

const SMOOTHING: LabelSmoothing = LabelSmoothing {
    epsilon: 0.1,
    form: SmoothingForm::AllTokens,
};

const LEARNING_RATE: f64 = 1e-4;

/// Seed of dropout of the layers that are computed again.
const SEED: u64 = 1;

/// The difference of training from the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Not at all.
    Default,
    /// Layers multiply matrices in bfloat16.
    Bf16,
    /// The backward pass computes layers again.
    Recomputed,
}

impl Variant {
    fn matmul(self) -> MatmulPrecision {
        match self {
            Self::Bf16 => MatmulPrecision::Bf16,
            Self::Default | Self::Recomputed => MatmulPrecision::F32,
        }
    }
}

/// Prints the seconds of the first update, target tokens per second, and the seconds of each part. Returns the
/// duration of the first two updates, after which everything is compiled and allocated.
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
    print(|it| {
        it.parameters = Some(training.model().num_params());
        it.first_update_s = Some(first.as_secs_f64());
    })?;
    // With moments from before, Adam runs other operations than in the first update.
    training.update()?;
    let warm_up = started.elapsed();

    let speed = training.speed(repeats)?;
    print(|it| it.training = Some(speed))?;
    let mut parts = Vec::new();
    repeats.seconds(|| {
        parts.push(training.parts()?);
        Ok(())
    })?;
    let median = |part: usize| {
        let mut seconds: Vec<f64> = parts.iter().map(|seconds| seconds[part]).collect();
        seconds.sort_by(f64::total_cmp);
        vec![seconds[seconds.len() / 2]]
    };
    let (forward_s, backward_s, optimizer_s) = (median(0), median(1), median(2));
    print(|it| {
        it.parts = Some(Parts {
            forward_s,
            backward_s,
            optimizer_s,
        });
    })?;
    Ok(warm_up)
}

/// Prints the speed of the other ways to train that the device can.
pub(crate) fn measure_variants(
    config: &TransformerConfig,
    device: &Device,
    n_threads: usize,
    repeats: Repeats,
) -> Result<()> {
    let speed = |variant: Variant| {
        if !variant.matmul().is_supported(device) {
            return Ok(None);
        }
        let mut training = Training::new(config, device, n_threads, variant)?;
        training.update()?;
        training.update()?;
        training.speed(repeats).map(Some)
    };
    let bf16 = speed(Variant::Bf16)?;
    print(|it| it.training_bf16 = bf16)?;
    let recomputed = speed(Variant::Recomputed)?;
    print(|it| it.training_recomputed = recomputed)
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
        let (sources, targets) = (sentences(N_SENTENCES, 1), sentences(N_SENTENCES, 2));
        let pairs = sources.into_iter().zip(targets);
        let pairs = pairs.map(|(src, tgt)| SentencePair { src, tgt }).collect();
        let model = config.init(&device)?;
        Ok(Self {
            model: Some(model.with_matmul_precision(variant.matmul())),
            optimizer: Adam::default().into(),
            update: update(pairs, 0, threads.as_ref(), &device),
            threads,
            device,
            variant,
        })
    }

    fn model(&self) -> &Transformer {
        let model = self.model.as_ref();
        model.expect("only Adam takes it, and returns it")
    }

    /// Sets the sentences of the next update.
    pub(crate) fn set_sentences(&mut self, pairs: Vec<SentencePair>, number: u64) {
        self.update = update(pairs, number, self.threads.as_ref(), &self.device);
    }

    /// Makes one update; the threads share its sentences.
    pub(crate) fn update(&mut self) -> Result<()> {
        let gradients = |(model, shard)| self.gradients(&model, shard);
        self.apply(self.sum(self.on_shards(self.shards(), gradients)))
    }

    /// Makes updates, and returns their size and target tokens per second.
    fn speed(&mut self, repeats: Repeats) -> Result<figures::Training> {
        let all = repeats.seconds(|| self.update())?;
        let n_labels = self.update.size.n_labels as f64;
        Ok(figures::Training {
            labels: n_labels,
            tokens_per_second: all.iter().map(|seconds| n_labels / seconds).collect(),
        })
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
        let loss = label_loss(model, features.clone(), shard, &SMOOTHING, scale);
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
        let all = started.elapsed().as_secs_f64();
        Ok([forward, both - forward, all - both])
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
        let features = model.forward_features(&shard.src, shard.tgt.ids());
        label_loss(model, features, shard, &SMOOTHING, scale)
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

/// Makes an update of sentences, with a shard for each thread.
fn update(
    pairs: Vec<SentencePair>,
    number: u64,
    threads: Option<&Threads>,
    device: &Device,
) -> Update {
    let shards = ShardSpec::single_device(threads.map_or(1, Threads::n_threads));
    Update::new(vec![pairs], number, 1, shards, device)
}
