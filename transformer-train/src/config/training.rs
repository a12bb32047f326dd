//! `[training]`: how a model is trained.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::model::MatmulPrecision;

use crate::config::optional;

/// The optimizer, its learning rate schedule, its batches, and how the final model is selected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// Number of updates (optimizer steps). Default 100,000 (§5.2, base models).
    pub updates: u64,
    /// Maximum size of a batch, in tokens of its larger side, padding included. Default 25,000 (§5.1).
    pub tokens_per_batch: usize,
    /// Gradient accumulation: number of batches whose gradients are summed in one update, one batch after the other. It
    /// acts like a batch that many times as large, in the memory of one. Default 1.
    pub accumulate: u64,
    /// Number of devices that share an update. Each computes `accumulate` batches, so 2 devices
    /// compute the same update as one device with twice the `accumulate`. Default 1.
    pub devices: u64,
    /// Number of processes that share an update, one on each machine or GPU; `mpirun` and the like
    /// set it. Each computes `accumulate` batches, as each of several devices does. Default 1.
    pub ranks: u64,
    /// Maximum number of sentences that are sorted by length together. A larger number means less padding, but the same
    /// sentences are in one batch more often. Default 131,072 (not in the paper).
    pub window: usize,
    /// Learning rate schedule after the warm-up: `noam`, `inverse-sqrt`, `constant`, `linear` or
    /// `cosine`. Default: `noam` (§5.3, Eq. 3).
    pub schedule: ScheduleKind,
    /// Length of the warm-up, in updates, in which the learning rate rises linearly. Default 4000 (§5.3).
    pub warmup_steps: u64,
    /// Factor of the learning rate of Eq. 3. Default 1.0 (§5.3).
    pub learning_rate_factor: f64,
    /// Learning rate at the end of the warm-up. It replaces the one that follows from `learning_rate_factor`, `d_model`
    /// and `warmup_steps`; `inverse-sqrt` requires it. Default: none.
    #[serde(with = "optional")]
    #[schemars(with = "Option<f64>")]
    pub peak_learning_rate: Option<f64>,
    /// Label smoothing: probability that is moved from the correct token to the vocabulary, at
    /// least 0 and less than 1. Default 0.1 (§5.4, ε_ls).
    pub label_smoothing: f64,
    /// Tokens that get the probability of label smoothing: `all_tokens`, including the correct one, as in PyTorch; or
    /// `other_tokens`, as in Tensor2Tensor and fairseq, which equals `all_tokens` with a `label_smoothing` larger by
    /// the factor `V/(V−1)`, for `V` tokens. Default: `all_tokens`.
    pub label_smoothing_form: SmoothingForm,
    /// Adam's decay rate of the mean of the gradients, at least 0 and less than 1. Default 0.9 (§5.3, β₁).
    pub adam_beta1: f64,
    /// Adam's decay rate of the mean of the squared gradients, at least 0 and less than 1. Default 0.98 (§5.3, β₂).
    pub adam_beta2: f64,
    /// Adam's term added to the denominator, for numerical stability. Default 1e-9 (§5.3, ε).
    pub adam_epsilon: f64,
    /// Decoupled weight decay, as in AdamW: each update multiplies weight matrices by `1 − learning_rate·weight_decay`,
    /// but not biases and layer normalization. Default 0 (not in the paper).
    pub weight_decay: f64,
    /// Decay rate of an exponential moving average of the weights, at least 0 and less than 1, for example 0.999. After
    /// update `n`, the average becomes `decay·average + (1 − decay)·weights`, where `decay` is at most
    /// `(1 + n)/(10 + n)`. Validation, checkpoint averaging and the final model then use the average. Default: none
    /// (not in the paper).
    #[serde(with = "optional")]
    #[schemars(with = "Option<f64>")]
    pub ema_decay: Option<f64>,
    /// Gradient clipping: maximum norm of all gradients together. Larger gradients are scaled down
    /// to it. Default: none (not in the paper).
    #[serde(with = "optional")]
    #[schemars(with = "Option<f64>")]
    pub clip_norm: Option<f64>,
    /// Updates from one validation and checkpoint to the next. Default 1000 (in the paper, a
    /// checkpoint is written every 10 minutes).
    pub validation_interval: u64,
    /// Number of last checkpoints whose average is the final model. Default 5 (§6.1, base models).
    pub average_last: usize,
    /// Number of best checkpoints whose average is a further candidate for the final model; 0 for none. Default 0.
    pub average_best: usize,
    /// Number of last checkpoints to keep. `average_last` keeps those that it needs in any case, and
    /// two are always kept, since one may be damaged. Default 2.
    pub keep_last: usize,
    /// Number of best checkpoints to keep, beside the last ones. The best checkpoint is a further candidate for the
    /// final model. `average_best` and `patience` keep those that they need in any case. Default 0.
    pub keep_best: usize,
    /// Metric that ranks checkpoints, for `patience` and the final model: `loss`, without label
    /// smoothing, on all validation pairs; or `bleu`, `chrf` or `command` (`validation.command`), on
    /// those that are translated. Default: `loss`.
    pub best_by: BestBy,
    /// Early stopping: number of consecutive validations without a new best after which training
    /// stops. Default: none; training stops after `updates`.
    #[serde(with = "optional")]
    #[schemars(with = "Option<u64>")]
    pub patience: Option<u64>,
    /// Floating point format in which layers multiply matrices in training: `f32`, or `bf16` (mixed
    /// precision), which is for GPUs, and for CPUs with the instructions `amx_bf16` (Intel's Xeons
    /// from 2023 on) under Linux; on others it is refused. Weights, Adam's moments, softmax,
    /// normalization and loss are `f32` in any case, and so are validation and translation. `f16`
    /// is refused: its range requires scaling of the loss. Default: `f32`.
    pub precision: ComputePrecision,
    /// Gradient checkpointing: `layers` keeps the inputs of layers only, and computes each layer
    /// again in the backward pass. That takes a forward pass more, and much less memory for
    /// activations. On CPUs the weights are those of `none`. Default: `none`.
    pub checkpointing: Checkpointing,
    /// Seed of everything random: initial weights, order of sentences, dropout. Default 1.
    pub seed: u64,
}

/// The course of the learning rate after the warm-up.
///
/// All schedules rise linearly to the same peak, `factor · d_model^−0.5 · warmup_steps^−0.5` or the
/// one given, so switching to another needs no new factor.
///
/// To add a schedule:
///
/// 1. Add a variant here, and its name to the documentation of [`TrainingSettings::schedule`]. The
///    compiler then asks for its formula in `Schedule::learning_rate` (`optim/schedule.rs`), and
///    for its line in `ScheduleKind::depends_on_end`: true if the formula reads `n_updates`.
/// 2. If other settings can make it invalid, check them in `config/check.rs`.
/// 3. Add it to the test of the warm-up in `optim/schedule.rs`, with a test of its own.
/// 4. Add its name to the two sections of `docs/training.md` on schedules and on resuming.
/// 5. `UPDATE=1 cargo test -p transformer-train --lib config` writes the documentation of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ScheduleKind {
    /// Falls with the inverse square root of the update: the paper's Eq. 3, also called Noam. It
    /// does not depend on the number of updates, so a run can be extended.
    Noam,
    /// Falls like `noam`, from a peak that must be given: fairseq's `inverse_sqrt`.
    InverseSqrt,
    /// Stays at the peak.
    Constant,
    /// Falls linearly, to zero after the last update.
    Linear,
    /// Falls along half a cosine, to zero after the last update (Loshchilov and Hutter 2017, Eq. 5
    /// without restarts, <https://arxiv.org/abs/1608.03983>).
    Cosine,
}

impl ScheduleKind {
    /// Returns whether every learning rate depends on the number of updates. A run with such a
    /// schedule cannot be extended without a change of the updates that it has done.
    pub(crate) fn depends_on_end(self) -> bool {
        match self {
            Self::Noam | Self::InverseSqrt | Self::Constant => false,
            Self::Linear | Self::Cosine => true,
        }
    }
}

/// The tokens that receive the probability taken from the gold token.
///
/// The two forms in use give the same loss if their `ε` differ by the factor `V/(V−1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SmoothingForm {
    /// Every token of the vocabulary, including the gold one, receives `ε/V`: `torch.nn.CrossEntropyLoss`.
    AllTokens,
    /// Every token except the gold one receives `ε/(V−1)`: Tensor2Tensor and fairseq.
    OtherTokens,
}

/// A floating point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComputePrecision {
    /// IEEE single precision: 32 bits.
    F32,
    /// bfloat16: 16 bits, 8 of them for the exponent.
    Bf16,
    /// IEEE half precision: 16 bits, 5 of them for the exponent.
    F16,
}

impl ComputePrecision {
    /// Returns the element type of matrix products; `None` if it is refused.
    pub(crate) fn matmul(self) -> Option<MatmulPrecision> {
        match self {
            Self::F32 => Some(MatmulPrecision::F32),
            Self::Bf16 => Some(MatmulPrecision::Bf16),
            Self::F16 => None,
        }
    }
}

/// The activations that are computed again in the backward pass, instead of being kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Checkpointing {
    /// None: all are kept.
    None,
    /// Those in layers, of which only the inputs are kept.
    Layers,
}

/// The metric that ranks checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BestBy {
    /// The loss without label smoothing on all validation pairs; lower is better. It ranks like perplexity.
    Loss,
    /// BLEU of the translated validation pairs; higher is better.
    Bleu,
    /// chrF2 of the translated validation pairs; higher is better.
    Chrf,
    /// The score that `validation.command` prints for them; higher is better.
    Command,
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            updates: 100_000,
            tokens_per_batch: 25_000,
            accumulate: 1,
            devices: 1,
            ranks: 1,
            window: 131_072,
            schedule: ScheduleKind::Noam,
            warmup_steps: 4000,
            learning_rate_factor: 1.0,
            peak_learning_rate: None,
            label_smoothing: 0.1,
            label_smoothing_form: SmoothingForm::AllTokens,
            adam_beta1: 0.9,
            adam_beta2: 0.98,
            adam_epsilon: 1e-9,
            weight_decay: 0.0,
            ema_decay: None,
            clip_norm: None,
            validation_interval: 1000,
            average_last: 5,
            average_best: 0,
            keep_last: 2,
            keep_best: 0,
            best_by: BestBy::Loss,
            patience: None,
            precision: ComputePrecision::F32,
            checkpointing: Checkpointing::None,
            seed: 1,
        }
    }
}

impl TrainingSettings {
    /// Returns the settings for small models and tens of thousands of sentences.
    pub fn for_small_data() -> Self {
        Self {
            updates: 3000,
            tokens_per_batch: 4096,
            warmup_steps: 500,
            learning_rate_factor: 0.8,
            validation_interval: 250,
            ..Self::default()
        }
    }

    /// Returns the settings of the paper's big model: 300,000 updates (§5.2), the average of the
    /// last 20 checkpoints (§6.1).
    pub fn for_big() -> Self {
        Self {
            updates: 300_000,
            average_last: 20,
            ..Self::default()
        }
    }

    /// Returns the number of batches in one update, on all devices of all processes together.
    pub(crate) fn batches_per_update(&self) -> u64 {
        self.accumulate * self.devices * self.ranks
    }

    /// Returns the number of updates in the first `n_intervals` validation intervals. The last
    /// interval of a run may be shorter than the others.
    pub(crate) fn updates_after(&self, n_intervals: usize) -> u64 {
        (n_intervals as u64 * self.validation_interval).min(self.updates)
    }

    /// Returns the interval, counted from 1, whose end or part these updates are.
    pub(crate) fn interval_of(&self, n_updates: u64) -> usize {
        n_updates.div_ceil(self.validation_interval) as usize
    }

    pub(crate) fn updates_of(&self, n_batches: u64) -> u64 {
        n_batches.div_ceil(self.batches_per_update())
    }

    /// Returns whether an interval, counted from 1, has the full number of updates; the last one of a run may have
    /// fewer.
    pub(crate) fn is_whole(&self, interval: usize) -> bool {
        self.updates_after(interval) == interval as u64 * self.validation_interval
    }

    /// Returns how many of the last checkpoints are kept: at least two, because one may turn out to be damaged.
    pub(crate) fn n_last(&self) -> usize {
        self.keep_last.max(self.average_last).max(2)
    }

    pub(crate) fn n_best(&self) -> usize {
        let for_patience = usize::from(self.patience.is_some());
        self.keep_best.max(self.average_best).max(for_patience)
    }
}
