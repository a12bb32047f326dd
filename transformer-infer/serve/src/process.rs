//! Metrics of the process and of the build, under the names that Prometheus's client libraries use for them.

use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

/// Returns the metrics of now, of a server that started at a time. Those that the system does not tell are left out.
pub(crate) fn registry(started: SystemTime) -> Registry {
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

/// Adds what systems like Unix tell.
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
