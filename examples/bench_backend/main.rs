//! Measures one backend: are its results right, and how fast is it? `cargo xtask bench-backends` builds this
//! program once for each backend.
//!
//! ```sh
//! cargo run -q -p examples --example bench_backend -- PRESET RUNS SECONDS
//! cargo run -q -p examples --example bench_backend -- PRESET varied UPDATES [bf16|recomputed]
//! ```
//!
//! Every figure is printed as one line of JSON as soon as it is known, so that those of a backend that hangs are
//! not lost. Speeds are measured `RUNS` times for `SECONDS` seconds each, and are arrays. `varied` measures only
//! memory, during updates of varying shapes; also with products in bfloat16, or with layers that are computed twice.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod decoding;
mod figures;
mod goldens;
mod memory;
#[path = "../../transformer-core/tests/it/tolerances.rs"]
mod tolerances;
mod training;
mod varied;
#[path = "../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "only the tests of transformer-core use the rest")]
mod weights;

use std::io::Write;
use std::num::NonZero;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;
use transformer_core::text::N_SPECIAL;
use transformer_core::{Preset, device};
use transformer_infer::allocator;
use transformer_infer::search::{LengthLimit, Search};

use crate::figures::Figures;
use crate::memory::MemoryUse;
use crate::tolerances::Tolerances;
use crate::training::{Training, Variant};

/// Size of both vocabularies.
const VOCAB: usize = 8000;

/// Tokens of every source, without EOS; all are of the same length, so that no figure depends on padding.
const LEN: usize = 31;

/// The number of measurements of a speed, and the duration of each.
#[derive(Clone, Copy, Debug)]
struct Repeats {
    n_runs: usize,
    run: Duration,
}

impl Repeats {
    /// Calls `work` repeatedly, and returns the mean seconds of a call for each run.
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
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (preset, work, amount, variant) = match arguments[..] {
        [preset, work, amount] => (preset, work, amount, Variant::Default),
        [preset, "varied", amount, "bf16"] => (preset, "varied", amount, Variant::Bf16),
        [preset, "varied", amount, "recomputed"] => (preset, "varied", amount, Variant::Recomputed),
        _ => anyhow::bail!("give PRESET RUNS SECONDS, or PRESET varied UPDATES [bf16|recomputed]"),
    };
    let config = preset.parse::<Preset>()?.config(VOCAB, VOCAB);
    let named = std::env::var("BURN_DEVICE").ok();
    let before = memory::of_gpus_mib();
    let (backend, device) = device::choose(named.as_deref())?;
    let memory = MemoryUse::new(&device, before);
    let n_threads = match device::is_cpu_memory(&device) {
        true => std::thread::available_parallelism().map_or(1, NonZero::get),
        false => 1,
    };
    print(|it| {
        it.backend = backend.to_string();
        it.device = Some(device::describe(&device));
        it.threads = Some(n_threads);
    })?;
    if work == "varied" {
        let mut training = Training::new(&config, &device, n_threads, variant)?;
        varied::measure(&mut training, amount.parse()?, &memory)?;
        return print(|it| memory.peak(it));
    }

    let repeats = Repeats {
        n_runs: work.parse()?,
        run: Duration::try_from_secs_f64(amount.parse()?)?,
    };
    let started = Instant::now();
    goldens::measure(&device, &Tolerances::of(backend))?;
    let mut warm_up = started.elapsed();
    // Training first: if the program is stopped before its end, these figures are known.
    warm_up += training::measure(&config, &device, n_threads, repeats)?;
    print(|it| memory.peak(it))?;
    warm_up += decoding::measure(&config, &device, repeats)?;
    print(|it| {
        it.warm_up_s = Some(warm_up.as_secs_f64());
        memory.peak(it);
    })?;
    training::measure_variants(&config, &device, n_threads, repeats)
}

/// Prints the figures that a function fills in as a line of JSON, and flushes it.
fn print(fill: impl FnOnce(&mut Figures)) -> Result<()> {
    let mut figures = Figures::default();
    fill(&mut figures);
    let mut line = serde_json::to_value(figures)?;
    let is_empty =
        |it: &Value| it.is_null() || it == "" || it.as_array().is_some_and(Vec::is_empty);
    if let Value::Object(line) = &mut line {
        line.retain(|_, it| !is_empty(it));
    }
    println!("{line}");
    Ok(std::io::stdout().flush()?)
}

/// Returns a search for translations of at most `max_len` tokens.
fn search(beam_size: usize, max_len: usize) -> Search {
    let max_len = LengthLimit {
        extra: max_len,
        ..LengthLimit::ZERO
    };
    Search {
        beam_size,
        max_len,
        ..Search::default()
    }
}

/// Makes sentences that all differ.
fn sentences(n: usize, seed: usize) -> Vec<Vec<u32>> {
    let token = |index: usize| (N_SPECIAL + index * 2_654_435_761 % (VOCAB - N_SPECIAL)) as u32;
    let first = seed * n * LEN;
    let tokens: Vec<u32> = (first..first + n * LEN).map(token).collect();
    tokens.chunks(LEN).map(<[u32]>::to_vec).collect()
}
