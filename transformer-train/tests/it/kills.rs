//! A run that is killed several times, at random moments.
//!
//! `KILLS=1000 cargo test -p transformer-train --test it kills` does it a thousand times;
//! `KILLS_SEED` sets the seed of the moments.

use std::env;
use std::time::{Duration, Instant};

use transformer_core::ModelDirectory;
use transformer_core::random::hash;

use crate::resume::assert_same;
use crate::workplace::Workplace;

const N_KILLS: u64 = 10;
const UPDATES: &str = "150";

/// All settings with a state; with a short interval, many kills happen while a checkpoint is
/// written.
const TRAINING: &str = "warmup_steps = 15
accumulate = 2
weight_decay = 0.01
ema_decay = 0.9
clip_norm = 1.0
keep_best = 2
average_best = 2
patience = 1000";

fn number(name: &str, default: u64) -> u64 {
    let given = env::var(name).ok().and_then(|given| given.parse().ok());
    given.unwrap_or(default)
}

#[expect(
    clippy::print_stdout,
    reason = "who sets KILLS needs to know how many runs were killed"
)]
#[test]
fn kills_at_random_moments_change_nothing() {
    let (n_kills, seed) = (number("KILLS", N_KILLS), number("KILLS_SEED", 1));
    let workplace = Workplace::with(&[
        ("n_heads = 2", "n_heads = 2\ndropout = 0.3"),
        ("warmup_steps = 15", TRAINING),
        ("validation_interval = 10", "validation_interval = 3"),
    ]);
    let started = Instant::now();
    workplace.train("whole", &["--updates", UPDATES]).lines();
    // The program runs for at most a third of the time of a whole run, so that it is killed several
    // times per run, sometimes before it has saved anything.
    let longest = started.elapsed() / 3;
    let (mut n_killed, mut n_starts, mut n_runs) = (0, 0, 0);
    while n_killed < n_kills {
        n_runs += 1;
        let out = format!("run-{n_runs}");
        let mut is_killed = || {
            n_starts += 1;
            let share = hash(seed, n_starts) as f64 / u64::MAX as f64;
            let moment = Duration::from_secs_f64(longest.as_secs_f64() * share);
            let updates = UPDATES.parse().expect("it is a number");
            workplace.start(&out, updates).kill_after(moment)
        };
        while n_killed < n_kills && is_killed() {
            n_killed += 1;
            let has_model = workplace.path(&out).join("model/manifest.json").exists();
            assert!(!has_model || ModelDirectory::open(workplace.path(&out)).is_ok());
        }
        workplace.train(&out, &["--updates", UPDATES]).lines();
        assert_same(&workplace, &out, "whole");
    }
    println!("{n_killed} kills in {n_runs} runs, seed {seed}");
}
