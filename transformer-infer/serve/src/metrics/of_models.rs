//! [`of_models`]: the current numbers of the models' schedulers.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::Labels;
use transformer_translate::scheduler::{ROW_BORDERS, SchedulerStats, SchedulerTotals};

/// A metric: its name, its description, and its value.
type Metric<T> = (&'static str, &'static str, fn(&SchedulerStats) -> T);

/// Values that go up and down.
const GAUGES: [Metric<usize>; 4] = [
    ("queued_lines", "Lines waiting for a model", |stats| {
        stats.n_queued_lines
    }),
    (
        "queued_tokens",
        "Source tokens waiting for a model",
        |stats| stats.n_queued_tokens,
    ),
    ("running_sentences", "Sentences being translated", |stats| {
        stats.n_running_lines
    }),
    (
        "running_rows",
        "Hypotheses of the sentences being translated",
        |stats| stats.n_running_rows,
    ),
];

/// Values that only go up.
const COUNTERS: [Metric<u64>; 4] = [
    ("source_tokens", "Source tokens", |stats| {
        stats.totals.n_src_tokens
    }),
    ("target_tokens", "Target tokens", |stats| {
        stats.totals.n_tgt_tokens
    }),
    ("steps", "Decoding steps", |stats| stats.totals.n_steps),
    (
        "row_steps",
        "Rows of all decoding steps; divided by steps, the mean batch size",
        |stats| stats.totals.n_row_steps,
    ),
];

/// A part of the work, and its seconds.
type Stage = (&'static str, fn(&SchedulerStats) -> f64);

/// The parts of the work.
const STAGES: [Stage; 2] = [
    ("encode", |stats| stats.totals.encoding.as_secs_f64()),
    ("decode", |stats| stats.totals.decoding.as_secs_f64()),
];

/// A histogram of the rows of decoding steps, for each model.
#[derive(Debug)]
struct StepRows(Vec<(Labels<1>, SchedulerTotals)>);

impl EncodeMetric for StepRows {
    #[expect(clippy::cast_precision_loss, reason = "counts of steps are below 2^53")]
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let borders = ROW_BORDERS.iter().map(|border| *border as f64);
        let borders: Vec<f64> = borders.chain([f64::INFINITY]).collect();
        for (model, totals) in &self.0 {
            let buckets = borders.iter().copied().zip(totals.steps_by_rows);
            let buckets: Vec<(f64, u64)> = buckets.collect();
            let (sum, count) = (totals.n_row_steps as f64, totals.n_steps);
            let mut encoder = encoder.encode_family(model)?;
            encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// Adds the metrics of models, given with their names, to a registry.
pub(super) fn of_models(registry: &mut Registry, models: &[(&str, SchedulerStats)]) {
    let label = |name: &str| [("model", name.to_owned())];
    for (name, help, value) in GAUGES {
        let family = Family::<Labels<1>, Gauge>::default();
        for (model, stats) in models {
            let value = i64::try_from(value(stats)).unwrap_or(i64::MAX);
            family.get_or_create(&label(model)).set(value);
        }
        registry.register(name, help, family);
    }
    for (name, help, value) in COUNTERS {
        let family = Family::<Labels<1>, Counter>::default();
        for (model, stats) in models {
            family.get_or_create(&label(model)).inc_by(value(stats));
        }
        registry.register(name, help, family);
    }
    let totals = models
        .iter()
        .map(|(model, stats)| (label(model), stats.totals));
    let rows = StepRows(totals.collect());
    registry.register("step_rows", "Rows of a decoding step, the batch size", rows);
    let family = Family::<Labels<2>, Counter<f64, AtomicU64>>::default();
    for (model, stats) in models {
        for (stage, seconds) in STAGES {
            let [model] = label(model);
            let labels = [model, ("stage", stage.to_owned())];
            family.get_or_create(&labels).inc_by(seconds(stats));
        }
    }
    let help = "Time that the threads of a model computed";
    registry.register_with_unit("compute", help, Unit::Seconds, family);
}
