//! `cargo xtask ci`: all checks that must pass before a commit, but the tests: `cargo test --workspace`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process::{call, cargo};
use crate::{notices, package, tidy};

type Step = (&'static str, fn(&Path) -> Result<()>);

/// The checks, the quickest first: a small mistake is reported soon.
const STEPS: [Step; 8] = [
    ("format", |root| call(&mut cargo(root, "fmt --all --check"))),
    ("tidy", tidy::run),
    ("notices", notices::check),
    ("lint", |root| clippy(root, "--workspace --all-targets")),
    ("packages", package::run),
    ("documentation", |root| {
        let mut doc = cargo(root, "doc --locked --workspace --no-deps");
        call(doc.env("RUSTDOCFLAGS", "-D warnings"))
    }),
    // As libraries alone, and documents in few formats: also without the features `pytorch`, `cli`, `documents` and `serve`. Other features mean
    // that Burn is checked once more: a minute the first time, then seconds. The test of such a build,
    // no_pytorch.rs, is not run: it would compile Burn once more.
    ("without a backend", |root| {
        for features in ["", "text", "formats", "documents", "cli"] {
            let packages = "--no-default-features -p transformer-infer -p transformer-core";
            clippy(root, &format!("{packages} --features={features}"))?;
        }
        let test =
            "test --locked --no-default-features -p transformer-documents --lib format::kind";
        call(&mut cargo(root, test))
    }),
    ("attacks", |root| {
        let mut attacks = cargo(root, "test --locked -p xtask --test attacks");
        // Other seeds are for runs by hand: a check of a commit must not depend on luck.
        call(
            attacks
                .env("RUN_SLOW_TESTS", "1")
                .env("PROPTEST_RNG_SEED", "1"),
        )
    }),
];

fn clippy(root: &Path, arguments: &str) -> Result<()> {
    let arguments = format!("clippy --locked {arguments} -- -D warnings");
    call(&mut cargo(root, &arguments))
}

/// Runs the checks one after the other and stops at the first that fails.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut times = Vec::new();
    for (name, step) in STEPS {
        println!("==> {name}");
        let started = Instant::now();
        step(root).with_context(|| format!("the step `{name}` failed"))?;
        times.push((name, started.elapsed()));
    }
    print!("{}", summary(&times));
    Ok(())
}

fn summary(times: &[(&str, Duration)]) -> String {
    let width = times.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |name: &str, time: f64| format!("    {name:<width$}  {time:7.1} s\n");
    let lines = times
        .iter()
        .map(|(name, time)| line(name, time.as_secs_f64()));
    let total: Duration = times.iter().map(|(_, time)| time).sum();
    format!(
        "==> everything passed\n{}{}",
        lines.collect::<String>(),
        line("all", total.as_secs_f64())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_lines_up_and_adds_up() {
        let times = [
            ("lint", Duration::from_millis(61_500)),
            ("tidy", Duration::from_millis(250)),
        ];
        assert_eq!(
            summary(&times),
            "==> everything passed\n    lint     61.5 s\n    tidy      0.2 s\n    all      61.8 s\n"
        );
    }
}
