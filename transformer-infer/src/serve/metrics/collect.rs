//! [`Metrics`]: what the server counts, and what it asks the models' schedulers.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::labels::{ModelLabel, ReasonLabel, RequestLabels, ResultLabel, RouteLabel, StageLabels};
use crate::scheduler::SchedulerStats;

/// The beginning of all names.
const PREFIX: &str = "transformer";

/// The borders of the latency histogram, in seconds.
const SECONDS: [f64; 13] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
];

/// What the server counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    refusals: Family<ReasonLabel, Counter>,
    latency: Family<RouteLabel, Histogram, fn() -> Histogram>,
    reloads: Family<ResultLabel, Counter>,
    /// Number of characters of texts to translate.
    pub(crate) chars: Counter,
    /// Number of requests whose client hung up.
    pub(crate) hang_ups: Counter,
    /// Number of open connections.
    pub(crate) connections: Gauge,
    /// Number of connections that were refused.
    pub(crate) refused_connections: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        let mut metrics = Self {
            registry: Registry::with_prefix(PREFIX),
            requests: Family::default(),
            refusals: Family::default(),
            latency: Family::new_with_constructor(histogram),
            reloads: Family::default(),
            chars: Counter::default(),
            hang_ups: Counter::default(),
            connections: Gauge::default(),
            refused_connections: Counter::default(),
        };
        let registry = &mut metrics.registry;
        let help = "Requests that were answered";
        registry.register("requests", help, metrics.requests.clone());
        let help = "Requests that were refused, by the limit";
        registry.register("refused_requests", help, metrics.refusals.clone());
        let help = "Time from the head of a request to the head of its reply";
        registry.register_with_unit("latency", help, Unit::Seconds, metrics.latency.clone());
        let help = "How often models and keys were read again";
        registry.register("reloads", help, metrics.reloads.clone());
        let help = "Characters of texts to translate";
        registry.register("characters", help, metrics.chars.clone());
        let help = "Requests whose client hung up before the reply";
        registry.register("hang_ups", help, metrics.hang_ups.clone());
        let help = "Open connections";
        registry.register("connections", help, metrics.connections.clone());
        let help = "Connections that were refused since there were too many";
        registry.register(
            "refused_connections",
            help,
            metrics.refused_connections.clone(),
        );
        metrics
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, time: Duration) {
        let route = || route.to_owned();
        let labels = RequestLabels {
            method,
            route: route(),
            status,
        };
        self.requests.get_or_create(&labels).inc();
        let latency = self.latency.get_or_create(&RouteLabel { route: route() });
        latency.observe(time.as_secs_f64());
    }

    /// Counts a request that was refused.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refusals.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Counts that models and keys were read again; `ok` says whether all could be.
    pub(crate) fn reloaded(&self, ok: bool) {
        let result = if ok { "ok" } else { "failed" };
        self.reloads.get_or_create(&ResultLabel { result }).inc();
    }

    /// Writes all metrics, with those of the models, in the text format of OpenMetrics.
    pub(crate) fn encode<'a>(
        &self,
        n_in_flight: usize,
        models: impl Iterator<Item = (&'a str, SchedulerStats)>,
    ) -> String {
        let of_models = of_models(n_in_flight, models);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &of_models);
        let _ = encode_eof(&mut text);
        text
    }
}

/// Returns the metrics of the schedulers at this moment.
fn of_models<'a>(
    n_in_flight: usize,
    models: impl Iterator<Item = (&'a str, SchedulerStats)>,
) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    let in_flight = Gauge::<i64>::default();
    in_flight.set(integer(n_in_flight));
    registry.register("in_flight_requests", "Requests being answered", in_flight);
    let gauge = || Family::<ModelLabel, Gauge>::default();
    let gauges = [gauge(), gauge(), gauge(), gauge()];
    let counter = || Family::<ModelLabel, Counter>::default();
    let counters = [counter(), counter(), counter(), counter()];
    let seconds = Family::<StageLabels, Counter<f64, AtomicU64>>::default();
    for (name, stats) in models {
        let label = ModelLabel {
            model: name.to_owned(),
        };
        let values = [
            stats.n_queued_lines,
            stats.n_queued_tokens,
            stats.n_running_lines,
            stats.n_running_rows,
        ];
        for (family, value) in gauges.iter().zip(values) {
            family.get_or_create(&label).set(integer(value));
        }
        let totals = [
            stats.totals.n_src_tokens,
            stats.totals.n_tgt_tokens,
            stats.totals.n_steps,
            stats.totals.n_row_steps,
        ];
        for (family, total) in counters.iter().zip(totals) {
            family.get_or_create(&label).inc_by(total);
        }
        for (stage, total) in [
            ("encode", stats.totals.encoding.as_secs_f64()),
            ("decode", stats.totals.decoding.as_secs_f64()),
        ] {
            let model = name.to_owned();
            let labels = StageLabels { model, stage };
            seconds.get_or_create(&labels).inc_by(total);
        }
    }
    let names = [
        ("queued_lines", "Lines that wait for a model"),
        ("queued_tokens", "Source tokens that wait for a model"),
        ("running_sentences", "Sentences being translated"),
        ("running_rows", "Hypotheses of these sentences"),
    ];
    for ((name, help), family) in names.into_iter().zip(gauges) {
        registry.register(name, help, family);
    }
    let names = [
        ("source_tokens", "Tokens of sources"),
        ("target_tokens", "Tokens of translations"),
        ("steps", "Decoding steps"),
        (
            "row_steps",
            "Rows of all decoding steps: divided by steps, the mean batch",
        ),
    ];
    for ((name, help), family) in names.into_iter().zip(counters) {
        registry.register(name, help, family);
    }
    let help = "Time that the threads of a model computed";
    registry.register_with_unit("compute", help, Unit::Seconds, seconds);
    registry
}

fn integer(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
