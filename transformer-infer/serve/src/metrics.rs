//! Metrics of the server, of its process and of the build, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use transformer_translate::scheduler::{
    ROW_BORDERS, SchedulerStats, SchedulerTotals, WAIT_BORDERS,
};

const PREFIX: &str = "transformer";

#[derive(Clone, Debug, Default)]
pub(crate) struct Loads {
    results: Family<Labels<1>, Counter>,
    seconds: Counter<f64, AtomicU64>,
}

impl Loads {
    pub(crate) fn ended(&self, ok: bool, time: Duration) {
        self.results.get_or_create(&result(ok)).inc();
        self.seconds.inc_by(time.as_secs_f64());
    }
}

fn result(ok: bool) -> Labels<1> {
    let result = if ok { "ok" } else { "failed" };
    [("result", result.to_owned())]
}

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    started: SystemTime,
    requests: Family<Labels<3>, Counter>,
    refusals: Family<Labels<1>, Counter>,
    latency: Family<Labels<1>, Histogram, fn() -> Histogram>,
    reloads: Family<Labels<1>, Counter>,
    pub(crate) loads: Loads,
    pub(crate) chars: Counter,
    /// Number of requests that ended because the client hung up.
    pub(crate) hang_ups: Counter,
    pub(crate) connections: Gauge,
    pub(crate) refused_connections: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        // The borders of the waits, which are a part of the latency.
        let histogram: fn() -> Histogram = || Histogram::new(WAIT_BORDERS);
        let mut metrics = Self {
            registry: Registry::with_prefix(PREFIX),
            started: SystemTime::now(),
            requests: Family::default(),
            refusals: Family::default(),
            latency: Family::new_with_constructor(histogram),
            reloads: Family::default(),
            loads: Loads::default(),
            chars: Counter::default(),
            hang_ups: Counter::default(),
            connections: Gauge::default(),
            refused_connections: Counter::default(),
        };
        let registry = &mut metrics.registry;
        let help = "Answered requests";
        registry.register("requests", help, metrics.requests.clone());
        let help = "Refused requests, by reason";
        registry.register("refused_requests", help, metrics.refusals.clone());
        let help = "Time from the headers of a request to those of its response";
        registry.register_with_unit("latency", help, Unit::Seconds, metrics.latency.clone());
        let help = "Reloads of models and API keys";
        registry.register("reloads", help, metrics.reloads.clone());
        let help = "Models loaded on demand";
        registry.register("model_loads", help, metrics.loads.results.clone());
        let (help, seconds) = (
            "Time of loading models on demand",
            metrics.loads.seconds.clone(),
        );
        registry.register_with_unit("model_load", help, Unit::Seconds, seconds);
        let help = "Characters in the texts of requests";
        registry.register("characters", help, metrics.chars.clone());
        let help = "Requests that the client ended before the response";
        registry.register("hang_ups", help, metrics.hang_ups.clone());
        let help = "Open connections";
        registry.register("connections", help, metrics.connections.clone());
        let help = "Connections refused because too many were open";
        registry.register(
            "refused_connections",
            help,
            metrics.refused_connections.clone(),
        );
        metrics
    }
}

impl Metrics {
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, time: Duration) {
        let route = ("route", route.to_owned());
        let (method, status) = (
            ("method", method.to_owned()),
            ("status", status.to_string()),
        );
        self.requests
            .get_or_create(&[method, route.clone(), status])
            .inc();
        let latency = self.latency.get_or_create(&[route]);
        latency.observe(time.as_secs_f64());
    }

    pub(crate) fn refused(&self, reason: &'static str) {
        let reason = ("reason", reason.to_owned());
        self.refusals.get_or_create(&[reason]).inc();
    }

    /// Counts a reload of models and keys; `ok` is true if all could be read.
    pub(crate) fn reloaded(&self, ok: bool) {
        self.reloads.get_or_create(&result(ok)).inc();
    }

    /// Writes all metrics, with those of the models, in the text format of OpenMetrics.
    pub(crate) fn encode(
        &self,
        n_in_flight: usize,
        models: &BTreeMap<String, ModelStats>,
    ) -> String {
        let mut now = Registry::with_prefix(PREFIX);
        let in_flight = Gauge::<i64>::default();
        in_flight.set(i64::try_from(n_in_flight).unwrap_or(i64::MAX));
        now.register("in_flight_requests", "Requests in progress", in_flight);
        let loaded = Gauge::<i64>::default();
        let n_loaded = models.values().map(|it| it.n_loaded).sum();
        loaded.set(n_loaded);
        now.register("loaded_models", "Models in memory", loaded);
        of_models(&mut now, models);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &now);
        let _ = encode_registry(&mut text, &of_process(self.started));
        let _ = encode_eof(&mut text);
        text
    }
}

/// The statistics of the models of a name: those in memory, and the totals of those that were dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelStats {
    /// Number of models in memory: one, or two while requests finish with an older one.
    n_loaded: i64,
    stats: SchedulerStats,
}

impl ModelStats {
    pub(crate) fn of_dropped(totals: SchedulerTotals) -> Self {
        let mut all = Self::default();
        all.stats.totals = totals;
        all
    }

    pub(crate) fn add(&mut self, other: &SchedulerStats) {
        self.n_loaded += 1;
        let stats = &mut self.stats;
        stats.n_queued_lines += other.n_queued_lines;
        stats.n_queued_tokens += other.n_queued_tokens;
        stats.n_running_lines += other.n_running_lines;
        stats.n_running_rows += other.n_running_rows;
        stats.totals.add(&other.totals);
    }
}

type Metric<T> = (&'static str, &'static str, fn(&SchedulerStats) -> T);

/// Values that go up and down.
const GAUGES: [Metric<usize>; 4] = [
    ("queued_lines", "Lines waiting for a model", |it| {
        it.n_queued_lines
    }),
    ("queued_tokens", "Source tokens waiting for a model", |it| {
        it.n_queued_tokens
    }),
    ("running_sentences", "Sentences being translated", |it| {
        it.n_running_lines
    }),
    (
        "running_rows",
        "Hypotheses of the sentences being translated",
        |it| it.n_running_rows,
    ),
];

/// Values that only go up.
const COUNTERS: [Metric<u64>; 4] = [
    ("source_tokens", "Source tokens", |it| {
        it.totals.n_src_tokens
    }),
    ("target_tokens", "Target tokens", |it| {
        it.totals.n_tgt_tokens
    }),
    ("steps", "Decoding steps", |it| it.totals.n_steps),
    (
        "row_steps",
        "Rows of all decoding steps; divided by steps, the mean batch size",
        |it| it.totals.n_row_steps,
    ),
];

type Stage = (&'static str, fn(&SchedulerStats) -> f64);

const STAGES: [Stage; 2] = [
    ("encode", |stats| stats.totals.encoding.as_secs_f64()),
    ("decode", |stats| stats.totals.decoding.as_secs_f64()),
];

#[derive(Debug)]
struct Histograms(Vec<(Labels<1>, Counts)>);

#[derive(Debug)]
struct Counts {
    /// The upper bounds of the values, each with the number of values from the previous one on.
    buckets: Vec<(f64, u64)>,
    sum: f64,
}

impl Counts {
    #[expect(clippy::cast_precision_loss, reason = "counts of steps are below 2^53")]
    fn of_rows(totals: &SchedulerTotals) -> Self {
        let borders = ROW_BORDERS.iter().map(|border| *border as f64);
        let borders = borders.chain([f64::INFINITY]);
        Self {
            buckets: borders.zip(totals.steps_by_rows).collect(),
            sum: totals.n_row_steps as f64,
        }
    }

    fn of_waits(totals: &SchedulerTotals) -> Self {
        let borders = WAIT_BORDERS.into_iter().chain([f64::INFINITY]);
        Self {
            buckets: borders.zip(totals.jobs_by_wait).collect(),
            sum: totals.waited.as_secs_f64(),
        }
    }
}

impl EncodeMetric for Histograms {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (model, Counts { buckets, sum }) in &self.0 {
            let count = buckets.iter().map(|(_, n)| n).sum();
            let mut encoder = encoder.encode_family(model)?;
            encoder.encode_histogram::<NoLabelSet>(*sum, count, buckets, None)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// Adds the metrics of models, given with their names, to a registry.
fn of_models(registry: &mut Registry, models: &BTreeMap<String, ModelStats>) {
    let label = |name: &str| [("model", name.to_owned())];
    for (name, help, value) in GAUGES {
        let family = Family::<Labels<1>, Gauge>::default();
        let loaded = models.iter().filter(|(_, it)| it.n_loaded > 0);
        for (model, ModelStats { stats, .. }) in loaded {
            let value = i64::try_from(value(stats)).unwrap_or(i64::MAX);
            family.get_or_create(&label(model)).set(value);
        }
        registry.register(name, help, family);
    }
    for (name, help, value) in COUNTERS {
        let family = Family::<Labels<1>, Counter>::default();
        for (model, ModelStats { stats, .. }) in models {
            family.get_or_create(&label(model)).inc_by(value(stats));
        }
        registry.register(name, help, family);
    }
    let histograms = |counts: fn(&SchedulerTotals) -> Counts| {
        let models = models.iter();
        let counts = models.map(|(model, it)| (label(model), counts(&it.stats.totals)));
        Histograms(counts.collect())
    };
    let rows = histograms(Counts::of_rows);
    registry.register("step_rows", "Rows of a decoding step, the batch size", rows);
    let help = "Time until the first of the sentences that a request or a file submits together is taken from the queue";
    let waits = histograms(Counts::of_waits);
    registry.register_with_unit("queue_wait", help, Unit::Seconds, waits);
    let family = Family::<Labels<2>, Counter<f64, AtomicU64>>::default();
    for (model, ModelStats { stats, .. }) in models {
        for (stage, seconds) in STAGES {
            let [model] = label(model);
            let labels = [model, ("stage", stage.to_owned())];
            family.get_or_create(&labels).inc_by(seconds(stats));
        }
    }
    let help = "Time that the threads of a model computed";
    registry.register_with_unit("compute", help, Unit::Seconds, family);
}

/// The labels of a metric, in order: names and values.
type Labels<const N: usize> = [(&'static str, String); N];

/// Returns the metrics of now, of a server that started at a time. Those that the system does not tell are left out.
fn of_process(started: SystemTime) -> Registry {
    let mut registry = Registry::default();
    let version = env!("CARGO_PKG_VERSION");
    let info = Info::new(vec![("version", version)]);
    registry.register("transformer_build", "The version of the program", info);
    let since_1970 = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    registry.register_with_unit(
        "process_start_time",
        "Time at which the server started, since 1970",
        Unit::Seconds,
        ConstGauge::new(since_1970.as_secs_f64()),
    );
    #[cfg(unix)]
    unix(&mut registry);
    registry
}

#[cfg(unix)]
fn unix(registry: &mut Registry) {
    use std::fs;

    use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};

    if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
        let times = [usage.user_time(), usage.system_time()];
        let seconds = times.map(|it| it.tv_sec() as f64 + it.tv_usec() as f64 / 1e6);
        registry.register_with_unit(
            "process_cpu",
            "Time that all threads have computed",
            Unit::Seconds,
            ConstCounter::new(seconds.iter().sum::<f64>()),
        );
    }
    if let Ok((allowed, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let allowed = ConstGauge::new(i64::try_from(allowed).unwrap_or(i64::MAX));
        registry.register("process_max_fds", "Maximum number of open files", allowed);
    }
    // Linux alone has these.
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        let n_files = i64::try_from(files.count()).unwrap_or(i64::MAX);
        registry.register("process_open_fds", "Open files", ConstGauge::new(n_files));
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = kib.and_then(|rest| rest.split_whitespace().next()?.parse::<i64>().ok());
    if let Some(kib) = kib {
        registry.register_with_unit(
            "process_resident_memory",
            "Memory that the process holds",
            Unit::Bytes,
            ConstGauge::new(kib << 10),
        );
    }
}
