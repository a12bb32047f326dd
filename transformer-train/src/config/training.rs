//! `[training]` and `[validation]`: how to train, and how to look at it meanwhile.

use serde::{Deserialize, Serialize};
use transformer_infer::metrics::Tokenization;
use transformer_infer::search::{LengthLimit, LengthPenalty, Search};

use crate::batching::PlanConfig;
use crate::config::{length_penalty, optional};
use crate::optim::ScheduleKind;
use crate::step::SmoothingForm;
use crate::tasks::Task;

/// Says how a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// Length of the training, in updates. Default 100,000 (§5.2, base models).
    pub updates: u64,
    /// Largest batch of one update, in padded cells of its larger side. Default 25,000 (§5.1).
    pub tokens_per_batch: usize,
    /// Number of such batches in one update, computed one after the other: their gradients are those of one
    /// batch so many times as large, in the memory of one. Default 1.
    pub accumulate: u64,
    /// Number of devices that share an update. Each of them computes `accumulate` batches, so that 2 devices
    /// do what one does with twice `accumulate`. Default 1.
    pub devices: u64,
    /// Most sentences that are sorted by length together; more means less padding. Default 131,072
    /// (not in the paper).
    pub window: usize,
    /// What the learning rate does after it has risen: `noam`, `inverse-sqrt`, `constant`, `linear` or `cosine`.
    /// Default: `noam` (§5.3, Eq. 3).
    pub schedule: ScheduleKind,
    /// Updates in which the learning rate rises. Default 4000 (§5.3).
    pub warmup_steps: u64,
    /// What the learning rate of Eq. 3 is multiplied by. Default 1.0 (§5.3).
    pub learning_rate_factor: f64,
    /// Highest learning rate, reached after `warmup_steps`, in place of the one that factor, size of the model and
    /// warm-up make; `inverse-sqrt` needs it. Default: none.
    #[serde(with = "optional")]
    pub peak_learning_rate: Option<f64>,
    /// Share of the target distribution spread over the whole vocabulary, from 0 to below 1. Default
    /// 0.1 (§5.4, ε_ls).
    pub label_smoothing: f64,
    /// Over which tokens it is spread: `all_tokens`, the right one too, as in PyTorch, or `other_tokens`, as in
    /// Tensor2Tensor and fairseq, which is as much as a share larger by `V/(V−1)` for `V` tokens. Default `all_tokens`.
    pub label_smoothing_form: SmoothingForm,
    /// Decay of Adam's mean of gradients, from 0 to below 1. Default 0.9 (§5.3, β₁).
    pub adam_beta1: f64,
    /// Decay of Adam's mean of squared gradients, from 0 to below 1. Default 0.98 (§5.3, β₂).
    pub adam_beta2: f64,
    /// What Adam adds to the root in the divisor. Default 1e-9 (§5.3, ε).
    pub adam_epsilon: f64,
    /// Each update multiplies matrices, but no biases and no gains of layer normalization, by
    /// `1 − learning_rate·weight_decay`: decoupled decay, as in AdamW. Default 0 (not in the paper).
    pub weight_decay: f64,
    /// Decay of the moving average of the weights, from 0 to below 1, for example 0.999: after each update it is
    /// `decay·average + (1 − decay)·weights`, with at most `(1 + n)/(10 + n)` after update `n`. It is then what is
    /// validated, saved as the model and averaged over checkpoints. Default: none (not in the paper).
    #[serde(with = "optional")]
    pub ema_decay: Option<f64>,
    /// Largest norm of all gradients together; larger ones are scaled down to it. Default: none (not
    /// in the paper).
    #[serde(with = "optional")]
    pub clip_norm: Option<f64>,
    /// Time between validations, and between checkpoints, in updates. Default 1000 (the paper: 10
    /// minutes).
    pub validation_interval: u64,
    /// Number of last checkpoints whose mean is the model. Default 5 (§6.1, base models).
    pub average_last: usize,
    /// Number of best checkpoints whose mean is tried as the model as well; 0 is none. Default 0.
    pub average_best: usize,
    /// Number of best checkpoints that are kept beside the last ones. The best is tried as the model; as
    /// many as `average_best` needs, and one for `patience`, are kept in any case. Default 0.
    pub keep_best: usize,
    /// What makes a checkpoint the best, ends patience and decides on the model: `loss`, the true one, on
    /// all validation pairs, or `bleu` or `chrf` of those translated. Default `loss`.
    pub best_by: BestBy,
    /// Number of validations in a row without a better one than the best after which the run ends. Default:
    /// none, it ends after `updates`.
    #[serde(with = "optional")]
    pub patience: Option<u64>,
    /// Precision of the numbers that are computed with: `f32`. `bf16` and `f16` are refused: on processors
    /// they are slower, and nobody has tried them on a GPU. Default `f32`.
    pub precision: ComputePrecision,
    /// Seed of everything that is random. Default 1.
    pub seed: u64,
}

/// Names a precision of floating point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComputePrecision {
    /// 32 bits.
    F32,
    /// 16 bits, 8 of them for the exponent.
    Bf16,
    /// 16 bits, 5 of them for the exponent.
    F16,
}

/// Names what makes one validation better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BestBy {
    /// A lower true loss, and so a lower perplexity, on all validation pairs.
    Loss,
    /// A higher BLEU of the translated validation pairs.
    Bleu,
    /// A higher chrF2 of the translated validation pairs.
    Chrf,
}

/// Says how a model is looked at during training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationSettings {
    /// Most validation pairs that are translated at each validation, for BLEU, chrF and the share of those
    /// that are exactly right; the loss is computed on all. Default 200.
    pub max_sentences: usize,
    /// Number of hypotheses that are kept while translating at each validation; 1 is greedy search, which
    /// takes about a quarter of the time of 4. Default 1.
    pub interval_beam_size: usize,
    /// Number of hypotheses that are kept while translating with the finished model; 1 is greedy search.
    /// Default 4 (§6.1).
    pub beam_size: usize,
    /// What divides the log-probability of `n` tokens, so that long translations are not at a disadvantage:
    /// `gnmt:0.6` is `((5 + n)/6)^0.6`, `power:1` is `n`, and `none` is 1. A number alone is that of `gnmt`.
    /// Default: `gnmt:0.6` (§6.1).
    #[serde(with = "length_penalty")]
    pub length_penalty: LengthPenalty,
    /// How much longer than its source, in tokens, a translation may be. Default 50 (§6.1).
    pub max_extra_len: usize,
    /// How BLEU cuts lines into words, as sacreBLEU names it: `13a`, `intl`, `char` (for Chinese, Japanese and
    /// the like), or `none` for text that is tokenized already. Default `13a`.
    pub tokenize: Tokenization,
    /// Number of validation pairs whose translations are shown, after each line of an interval and at the
    /// end. Default 2.
    pub n_samples: usize,
}

impl Default for TrainingSettings {
    fn default() -> Self {
        let PlanConfig {
            tokens_per_batch,
            window,
            seed,
        } = PlanConfig::default();
        Self {
            updates: 100_000,
            tokens_per_batch,
            accumulate: 1,
            devices: 1,
            window,
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
            keep_best: 0,
            best_by: BestBy::Loss,
            patience: None,
            precision: ComputePrecision::F32,
            seed,
        }
    }
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self {
            max_sentences: 200,
            interval_beam_size: 1,
            beam_size: 4,
            length_penalty: LengthPenalty::default(),
            max_extra_len: 50,
            tokenize: Tokenization::default(),
            n_samples: 2,
        }
    }
}

impl TrainingSettings {
    /// Returns the settings for small models of tens of thousands of sentences.
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

    /// Returns the settings of the paper's big model: 300,000 updates (§5.2), the mean of the last 20
    /// checkpoints (§6.1).
    pub fn for_big() -> Self {
        Self {
            updates: 300_000,
            average_last: 20,
            ..Self::default()
        }
    }

    /// Returns the settings with which a built-in task is learnt in minutes on a processor.
    pub fn for_task(task: Task) -> Self {
        let updates = match task {
            Task::Numbers => 3300,
            Task::Reverse => 3000,
            Task::Copy => 1500,
        };
        Self {
            updates,
            tokens_per_batch: 1024,
            warmup_steps: 300,
            // Falling to zero, it needs neither more updates nor the mean of checkpoints.
            schedule: ScheduleKind::Linear,
            learning_rate_factor: 0.45,
            label_smoothing: 0.0,
            validation_interval: 250,
            average_last: 1,
            ..Self::default()
        }
    }

    /// Returns how many batches of the plan are in one update, on all devices.
    pub(crate) fn batches_per_update(&self) -> u64 {
        self.accumulate * self.devices
    }

    /// Returns how many updates are done after so many intervals; the last one may be short.
    pub(crate) fn updates_after(&self, n_intervals: usize) -> u64 {
        (n_intervals as u64 * self.validation_interval).min(self.updates)
    }

    /// Returns how many updates so many batches of the plan are.
    pub(crate) fn updates_of(&self, n_batches: u64) -> u64 {
        n_batches.div_ceil(self.batches_per_update())
    }

    /// Says whether an interval has all of its updates; the last one of a run may be short.
    pub(crate) fn is_whole(&self, interval: usize) -> bool {
        self.updates_after(interval) == interval as u64 * self.validation_interval
    }

    /// Returns how many of the last checkpoints are kept: two at least, as one of them may be found damaged.
    pub(crate) fn n_last(&self) -> usize {
        self.average_last.max(2)
    }

    /// Returns how many of the best checkpoints are kept.
    pub(crate) fn n_best(&self) -> usize {
        let for_patience = usize::from(self.patience.is_some());
        self.keep_best.max(self.average_best).max(for_patience)
    }

    /// Returns how sentences are put together into batches.
    pub fn plan(&self) -> PlanConfig {
        PlanConfig {
            tokens_per_batch: self.tokens_per_batch,
            window: self.window,
            seed: self.seed,
        }
    }
}

impl ValidationSettings {
    /// Returns the search for translations with so many hypotheses.
    pub fn search(&self, beam_size: usize) -> Search {
        Search {
            beam_size,
            length_penalty: self.length_penalty,
            max_len: LengthLimit {
                factor: 1.0,
                extra: self.max_extra_len,
            },
            ..Search::default()
        }
    }

    /// Returns the settings for a built-in task: greedy search, as there is one right answer.
    pub fn for_task(task: Task) -> Self {
        match task {
            Task::Numbers | Task::Reverse | Task::Copy => Self {
                max_sentences: 100,
                beam_size: 1,
                length_penalty: LengthPenalty::None,
                ..Self::default()
            },
        }
    }
}
