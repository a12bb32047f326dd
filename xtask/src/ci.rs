//! `cargo xtask ci`: everything that must pass before a commit.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cargo::{call, cargo};
use crate::tidy;

/// One thing that must pass.
struct Step {
    name: &'static str,
    work: Work,
}

/// What a step does.
enum Work {
    /// Calls `cargo` with these arguments.
    Cargo(&'static [&'static str]),
    /// Documents every crate, and takes warnings for errors.
    Document,
    /// Checks the repository's own rules.
    Tidy,
}

/// The steps, in the order of what they cost: who has made a small mistake hears of it soon.
const STEPS: [Step; 6] = [
    Step {
        name: "format",
        work: Work::Cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "tidy",
        work: Work::Tidy,
    },
    Step {
        name: "lint",
        work: Work::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "document",
        work: Work::Document,
    },
    // Another set of features is another Burn to check: minutes the first time, seconds from then on.
    Step {
        name: "build without a backend",
        work: Work::Cargo(&["check", "-p", "transformer-core", "--no-default-features"]),
    },
    Step {
        name: "test",
        work: Work::Cargo(&["test", "--workspace"]),
    },
];

/// Runs the steps one after the other and stops at the first that fails.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut times = Vec::new();
    for step in &STEPS {
        println!("==> {}", step.name);
        let started = Instant::now();
        step.run(root)
            .with_context(|| format!("the step `{}` failed", step.name))?;
        times.push((step.name, started.elapsed()));
    }
    print!("{}", summary(&times));
    Ok(())
}

impl Step {
    fn run(&self, root: &Path) -> Result<()> {
        match self.work {
            Work::Cargo(arguments) => call(cargo(root).args(arguments)),
            Work::Document => call(
                cargo(root)
                    .args(["doc", "--workspace", "--no-deps"])
                    .env("RUSTDOCFLAGS", "-D warnings"),
            ),
            Work::Tidy => tidy::run(root),
        }
    }
}

/// Returns a table of the steps and their durations.
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
