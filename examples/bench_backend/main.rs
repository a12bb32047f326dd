//! Measures one backend for `cargo xtask bench-backends`, which builds this once for each: is it right, and how
//! fast is it?
//!
//! ```sh
//! cargo run -q -p examples --example bench_backend -- PRESET RUNS SECONDS
//! cargo run -q -p examples --example bench_backend -- PRESET varied UPDATES
//! ```
//!
//! Every figure is printed as soon as it is known, as one line of JSON, so that a backend that gets stuck has
//! told what it could. A figure that varies is measured `RUNS` times for `SECONDS` seconds, and is an array.
//! With `varied` it is memory alone, during updates of which no two have the same shape.

#![expect(clippy::print_stdout, reason = "an example shows what comes out")]

mod decoding;
mod goldens;
mod occupied;
#[path = "../../transformer-core/tests/it/tolerances.rs"]
mod tolerances;
mod training;
mod varied;
#[path = "../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "what only the tests of transformer-core use")]
mod weights;

use std::io::Write;
use std::num::NonZero;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use transformer_core::text::N_SPECIAL;
use transformer_core::{Preset, device};
use transformer_infer::allocator;

use crate::occupied::Occupied;
use crate::tolerances::Tolerances;

/// Size of both vocabularies.
const VOCAB: usize = 8000;

/// Tokens of every source, without EOS, so that no figure depends on how much is padded.
const LEN: usize = 31;

/// How often and for how long something is measured.
#[derive(Clone, Copy, Debug)]
struct Effort {
    n_runs: usize,
    run: Duration,
}

impl Effort {
    /// Calls `work` again and again, and returns the mean seconds of a call in every run.
    fn seconds(self, mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
        let one_run = |_| {
            let (started, mut n) = (Instant::now(), 0);
            while n == 0 || started.elapsed() < self.run {
                work()?;
                n += 1;
            }
            Ok(started.elapsed().as_secs_f64() / f64::from(n))
        };
        (0..self.n_runs).map(one_run).collect()
    }
}

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [preset, work, amount] = arguments.as_slice() else {
        anyhow::bail!("give PRESET RUNS SECONDS, or PRESET varied UPDATES");
    };
    let config = preset.parse::<Preset>()?.config(VOCAB, VOCAB);
    let named = std::env::var("BURN_DEVICE").ok();
    let before = occupied::of_gpus_mib();
    let (backend, device) = device::choose(named.as_deref())?;
    let occupied = Occupied::new(&device, before);
    let n_threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let n_threads = if device::is_cpu_memory(&device) {
        n_threads
    } else {
        1
    };
    say(&json!({
        "backend": backend.to_string(), "device": device::describe(&device), "threads": n_threads,
    }))?;
    if work == "varied" {
        return varied::measure(&config, &device, n_threads, amount.parse()?, &occupied);
    }

    let effort = Effort {
        n_runs: work.parse()?,
        run: Duration::try_from_secs_f64(amount.parse()?)?,
    };
    let started = Instant::now();
    say(&goldens::differences(&device, &Tolerances::of(backend))?)?;
    let mut warm_up = started.elapsed();
    // First, so that it is told of a device too that is stopped before its end.
    warm_up += training::measure(&config, &device, n_threads, effort)?;
    say(&occupied.most())?;
    warm_up += decoding::measure(&config, &device, effort)?;
    say(&json!({ "warm_up_s": warm_up.as_secs_f64() }))?;
    say(&occupied.most())
}

/// Prints a line at once, even if nobody reads yet.
fn say(figures: &Value) -> Result<()> {
    println!("{figures}");
    Ok(std::io::stdout().flush()?)
}

/// Makes sentences of which no two are alike.
fn sentences(n: usize, seed: usize) -> Vec<Vec<u32>> {
    let token = |index: usize| (N_SPECIAL + index * 2_654_435_761 % (VOCAB - N_SPECIAL)) as u32;
    let first = seed * n * LEN;
    let tokens: Vec<u32> = (first..first + n * LEN).map(token).collect();
    tokens.chunks(LEN).map(<[u32]>::to_vec).collect()
}
