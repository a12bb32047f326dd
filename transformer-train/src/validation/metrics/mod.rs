//! What a step reports, and the metrics that the Learner makes of it.

use std::sync::Arc;
use std::time::Duration;

use burn::tensor::{ExecutionError, TensorReadError};
use burn_train::ItemLazy;
use burn_train::metric::{
    Adaptor, Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

use crate::batching::{BatchSize, Clock, Update};
use crate::step::{GradientNorm, HostSums, LossSums, Sums};
use crate::validation::TextCounts;

/// Names of the metrics, as the dashboard and the log show them.
pub(crate) const LOSS: &str = "Loss";
pub(crate) const PERPLEXITY: &str = "Perplexity";
pub(crate) const SPEED: &str = "Target tokens/s";
pub(crate) const PADDING: &str = "Padding";
pub(crate) const WAITING: &str = "Waiting for data";
pub(crate) const GRADIENT_NORM: &str = "Gradient norm";
pub(crate) const EXACT_MATCH: &str = "Exact match";
pub(crate) const BLEU: &str = "BLEU";
pub(crate) const CHRF: &str = "chrF2";

/// Reports one training step.
#[derive(Clone, Debug)]
pub(crate) struct StepReport {
    update: u64,
    size: BatchSize,
    clock: Clock,
    /// Time from the start of the interval to the end of the step, where it is measured.
    elapsed: Duration,
    sums: Sums,
}

impl StepReport {
    /// `gradient_norm` will be that of all gradients together, before clipping.
    pub(crate) fn new(update: &Update, sums: LossSums, gradient_norm: GradientNorm) -> Self {
        let Update {
            number,
            size,
            clock,
            ..
        } = *update;
        Self {
            update: number,
            size,
            clock,
            elapsed: Duration::ZERO,
            sums: Sums::new(sums, gradient_norm),
        }
    }
}

/// Reports one validation batch.
#[derive(Clone, Debug)]
pub(crate) struct ValidReport {
    size: BatchSize,
    sums: Sums,
    translated: Translated,
}

/// Counts the sentences of a batch that were translated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Translated {
    pub(crate) n_sentences: usize,
    /// Those translated exactly as the reference has it.
    pub(crate) n_exact: usize,
    /// What BLEU and chrF are made of.
    pub(crate) text: TextCounts,
}

impl ValidReport {
    pub(crate) fn new(size: BatchSize, sums: LossSums, translated: Translated) -> Self {
        Self {
            size,
            sums: Sums::new(sums, GradientNorm::default()),
            translated,
        }
    }
}

impl ItemLazy for StepReport {
    fn sync(self) -> Result<Self, ExecutionError> {
        let sums = self.sums.read()?; // waits for the device
        Ok(Self {
            sums,
            elapsed: self.clock.started.map_or(Duration::ZERO, |it| it.elapsed()),
            ..self
        })
    }
}

impl ItemLazy for ValidReport {
    fn sync(self) -> Result<Self, ExecutionError> {
        Ok(Self {
            sums: self.sums.read()?,
            ..self
        })
    }
}

/// Holds the numbers of one batch, whichever split it is from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    update: u64,
    size: BatchSize,
    clock: Clock,
    elapsed: Duration,
    smoothed: f64,
    nll: f64,
    gradient_norm: Option<f64>,
    translated: Translated,
}

impl Numbers {
    /// Holds what was translated and nothing else.
    #[cfg(test)]
    pub(crate) fn of_translations(translated: Translated) -> Self {
        Self {
            translated,
            ..Self::default()
        }
    }

    /// Returns what was translated.
    pub(crate) fn translated(&self) -> &Translated {
        &self.translated
    }
}

impl Adaptor<Numbers> for StepReport {
    fn adapt(&self) -> Numbers {
        let HostSums {
            smoothed,
            nll,
            gradient_norm,
        } = self.sums.values();
        let Self {
            update,
            size,
            clock,
            elapsed,
            ..
        } = *self;
        Numbers {
            update,
            size,
            clock,
            elapsed,
            smoothed,
            nll,
            gradient_norm,
            translated: Translated::default(),
        }
    }
}

impl Adaptor<Numbers> for ValidReport {
    fn adapt(&self) -> Numbers {
        let HostSums { smoothed, nll, .. } = self.sums.values();
        Numbers {
            size: self.size,
            smoothed,
            nll,
            translated: self.translated.clone(),
            ..Numbers::default()
        }
    }
}

/// Is told the update of which something is not a number, and its value.
pub(crate) type OnNonFinite = Arc<dyn Fn(u64, f64) + Send + Sync>;

/// Averages one ratio over all batches of an interval: sums of numerators over sums of denominators,
/// so that a long batch counts for what it is.
#[derive(Clone)]
pub(crate) struct Ratio {
    name: Arc<String>,
    unit: Option<&'static str>,
    higher_is_better: bool,
    /// Numerator and denominator of one batch, and whether they are totals already.
    terms: fn(&Numbers) -> Terms,
    finish: fn(f64) -> f64,
    last: f64,
    total: Terms,
    on_non_finite: Option<OnNonFinite>,
}

/// Holds a numerator and a denominator.
#[derive(Clone, Copy, Debug)]
enum Terms {
    /// To be added to those of other batches.
    Batch(f64, f64),
    /// Of the interval so far.
    Interval(f64, f64),
}

impl Ratio {
    /// Smoothed cross-entropy per token, in nats; tells about a loss that is not a number.
    pub(crate) fn loss(on_non_finite: OnNonFinite) -> Self {
        Self {
            on_non_finite: Some(on_non_finite),
            ..Self::new(LOSS, |n| Terms::Batch(n.smoothed, n.size.n_labels as f64))
        }
    }

    /// `exp` of the true negative log-likelihood per token, never of the smoothed loss.
    pub(crate) fn perplexity() -> Self {
        let terms = |n: &Numbers| Terms::Batch(n.nll, n.size.n_labels as f64);
        Self {
            finish: f64::exp,
            ..Self::new(PERPLEXITY, terms)
        }
    }

    /// Target tokens trained in a second, padding not counted.
    pub(crate) fn speed() -> Self {
        let terms = |n: &Numbers| Terms::Interval(n.clock.n_labels as f64, n.elapsed.as_secs_f64());
        Self {
            higher_is_better: true,
            ..Self::new(SPEED, terms)
        }
    }

    /// Share of the time in which the model waits for the sentences of its next update, in percent.
    pub(crate) fn waiting() -> Self {
        let terms = |n: &Numbers| {
            let waited = n.clock.waited.as_secs_f64();
            Terms::Interval(100.0 * waited, n.elapsed.as_secs_f64())
        };
        Self {
            unit: Some("%"),
            ..Self::new(WAITING, terms)
        }
    }

    /// Share of padding in all cells, in percent.
    pub(crate) fn padding() -> Self {
        let terms = |n: &Numbers| {
            let n_tokens = n.size.n_src_tokens + n.size.n_labels;
            Terms::Batch(
                100.0 * (n.size.n_cells - n_tokens) as f64,
                n.size.n_cells as f64,
            )
        };
        Self {
            unit: Some("%"),
            ..Self::new(PADDING, terms)
        }
    }

    /// Norm of all gradients together before clipping, the mean of the updates; tells about one that is not a number.
    pub(crate) fn gradient_norm(on_non_finite: OnNonFinite) -> Self {
        Self {
            on_non_finite: Some(on_non_finite),
            ..Self::new(GRADIENT_NORM, |n| match n.gradient_norm {
                Some(norm) => Terms::Batch(norm, 1.0),
                None => Terms::Batch(0.0, 0.0),
            })
        }
    }

    /// Share of sentences translated exactly as the reference has it, in percent.
    pub(crate) fn exact_match() -> Self {
        let terms = |n: &Numbers| {
            let Translated {
                n_sentences,
                n_exact,
                ..
            } = &n.translated;
            Terms::Batch(100.0 * *n_exact as f64, *n_sentences as f64)
        };
        Self {
            unit: Some("%"),
            higher_is_better: true,
            ..Self::new(EXACT_MATCH, terms)
        }
    }

    fn new(name: &str, terms: fn(&Numbers) -> Terms) -> Self {
        Self {
            name: Arc::new(name.to_owned()),
            unit: None,
            higher_is_better: false,
            terms,
            finish: |ratio| ratio,
            last: f64::NAN,
            total: Terms::Batch(0.0, 0.0),
            on_non_finite: None,
        }
    }

    fn value_of(&self, terms: Terms) -> f64 {
        let (Terms::Batch(numerator, denominator) | Terms::Interval(numerator, denominator)) =
            terms;
        (self.finish)(numerator / denominator)
    }

    fn entry(&self, value: f64) -> SerializedEntry {
        let unit = self.unit.unwrap_or_default();
        let formatted = if value >= 1000.0 {
            format!("{}: {value:.0}{unit}", self.name)
        } else {
            format!("{}: {value:.3}{unit}", self.name)
        };
        SerializedEntry::new(formatted, value.to_string())
    }
}

impl Metric for Ratio {
    type Input = Numbers;

    fn name(&self) -> Arc<String> {
        Arc::clone(&self.name)
    }

    fn attributes(&self) -> MetricAttributes {
        let unit = self.unit.map(str::to_owned);
        NumericAttributes {
            unit,
            higher_is_better: self.higher_is_better,
        }
        .into()
    }

    fn update(
        &mut self,
        numbers: &Numbers,
        _metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        let terms = (self.terms)(numbers);
        self.last = self.value_of(terms);
        self.total = match (self.total, terms) {
            (Terms::Batch(a, b), Terms::Batch(c, d)) => Terms::Batch(a + c, b + d),
            (_, latest) => latest,
        };
        let is_known = !matches!(terms, Terms::Batch(_, n) if n == 0.0);
        if let Some(on_non_finite) = &self.on_non_finite
            && is_known
            && !self.last.is_finite()
        {
            on_non_finite(numbers.update, self.last);
        }
        Ok(self.entry(self.value_of(self.total)))
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.entry(self.value_of(self.total)))
    }

    fn clear(&mut self) {
        self.total = Terms::Batch(0.0, 0.0);
    }
}

impl Numeric for Ratio {
    fn value(&self) -> Option<NumericEntry> {
        self.last
            .is_finite()
            .then_some(NumericEntry::Value(self.last))
    }

    fn running_value(&self) -> Option<NumericEntry> {
        let value = self.value_of(self.total);
        value.is_finite().then_some(NumericEntry::Value(value))
    }

    fn final_value(&self) -> NumericEntry {
        NumericEntry::Final(self.value_of(self.total))
    }
}

#[cfg(test)]
mod tests;
