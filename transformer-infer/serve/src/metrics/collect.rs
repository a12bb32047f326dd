//! [`Metrics`]: the counts of the server, and the numbers of the models' schedulers.

use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::Labels;
use super::of_models::of_models;
use transformer_translate::scheduler::SchedulerStats;

/// The beginning of all names.
const PREFIX: &str = "transformer";

/// The borders of the latency histogram, in seconds.
const SECONDS: [f64; 13] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
];

/// The counts of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Labels<3>, Counter>,
    refusals: Family<Labels<1>, Counter>,
    latency: Family<Labels<1>, Histogram, fn() -> Histogram>,
    reloads: Family<Labels<1>, Counter>,
    /// Number of characters of texts to translate.
    pub(crate) chars: Counter,
    /// Number of requests that ended because the client hung up.
    pub(crate) hang_ups: Counter,
    /// Number of open connections.
    pub(crate) connections: Gauge,
    /// Number of refused connections.
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
        let help = "Answered requests";
        registry.register("requests", help, metrics.requests.clone());
        let help = "Refused requests, by reason";
        registry.register("refused_requests", help, metrics.refusals.clone());
        let help = "Time from the headers of a request to those of its response";
        registry.register_with_unit("latency", help, Unit::Seconds, metrics.latency.clone());
        let help = "Reloads of models and API keys";
        registry.register("reloads", help, metrics.reloads.clone());
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
    /// Counts an answered request.
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

    /// Counts a refused request.
    pub(crate) fn refused(&self, reason: &'static str) {
        let reason = ("reason", reason.to_owned());
        self.refusals.get_or_create(&[reason]).inc();
    }

    /// Counts a reload of models and keys; `ok` is true if all could be read.
    pub(crate) fn reloaded(&self, ok: bool) {
        let result = if ok { "ok" } else { "failed" };
        let result = ("result", result.to_owned());
        self.reloads.get_or_create(&[result]).inc();
    }

    /// Writes all metrics, with those of the models, in the text format of OpenMetrics.
    pub(crate) fn encode(&self, n_in_flight: usize, models: &[(&str, SchedulerStats)]) -> String {
        let mut now = Registry::with_prefix(PREFIX);
        let in_flight = Gauge::<i64>::default();
        in_flight.set(i64::try_from(n_in_flight).unwrap_or(i64::MAX));
        now.register("in_flight_requests", "Requests in progress", in_flight);
        of_models(&mut now, models);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &now);
        let _ = encode_eof(&mut text);
        text
    }
}
