//! Measures the time and memory of translation. `benchmarks/decoding_speed.py` and its companions call this
//! program and compare it with others.
//!
//! ```sh
//! cargo run -p examples --example decoding_speed -- MODEL SOURCES BATCH BEAM RUNS MAX_LEN [recompute]
//! ```
//!
//! MODEL is a model directory, or a folder with `config.json` (a `TransformerConfig`) and `weights.safetensors` (with
//! the names of `torch.nn.Transformer`). SOURCES is a JSON file of token ids, without EOS. Every source is translated
//! RUNS times, BATCH sentences with each call, to at most MAX_LEN tokens; a negative MAX_LEN is the length of every
//! translation. The translations, the seconds and the memory after every run, and the peak memory are printed as JSON.
//! `recompute` translates without the decoder's cache.
//!
//! On CPUs the weights are packed, in the format PRECISION (f32 or int8) of the environment, for THREADS threads.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod recompute;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::Device;
use serde_json::json;
use transformer_core::device::is_cpu_memory;
use transformer_core::import::{Names, PytorchNames, StateDict};
use transformer_core::{
    ComputePrecision, ModelDirectory, PackedTransformer, Transformer, TransformerConfig, device,
};
use transformer_infer::allocator;
use transformer_infer::search::{Hypothesis, LengthLimit, LengthPenalty, Search, StopRule};
use transformer_infer::{BatchLimits, Source, translate_packed, translate_sources};

use recompute::Recompute;

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (positional, recomputes) = match arguments.as_slice() {
        [positional @ .., last] if last == "recompute" => (positional, true),
        positional => (positional, false),
    };
    let [model, sources, batch, beam, runs, max_len] = positional else {
        anyhow::bail!("give MODEL SOURCES BATCH BEAM RUNS MAX_LEN [recompute]");
    };
    let (batch, beam_size) = (batch.parse::<usize>()?, beam.parse()?);
    let max_len: isize = max_len.parse()?;
    let sources: Vec<Vec<u32>> = serde_json::from_str(&read(Path::new(sources))?)?;
    let named = std::env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(named.as_deref())?;
    let started = Instant::now();
    let model = match recomputes || !is_cpu_memory(&device) {
        true => Model::Module {
            model: Box::new(load(Path::new(model), &device)?),
            recomputes,
        },
        false => Model::Packed(Box::new(load_packed(Path::new(model), &device)?)),
    };
    let load_seconds = started.elapsed().as_secs_f64();
    let search = search(beam_size, max_len);
    let n_threads = match std::env::var("THREADS") {
        Ok(threads) => threads.parse()?,
        Err(_) => std::thread::available_parallelism()?.get(),
    };

    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    let mut found: Vec<Vec<Hypothesis>> = Vec::new();
    for _ in 0..runs.parse()? {
        let started = Instant::now();
        let calls = sources.chunks(batch);
        found = calls
            .flat_map(|sources| model.translate(sources, &search, n_threads))
            .collect();
        seconds.push(started.elapsed().as_secs_f64());
        memory.push(kibibytes("VmRSS"));
    }
    let ids: Vec<&[u32]> = found.iter().map(|found| found[0].ids.as_slice()).collect();
    let ended = found.iter().filter(|found| found[0].finished).count();
    println!(
        "{}",
        json!({
            "backend": backend.to_string(),
            "load_seconds": load_seconds,
            "seconds": seconds,
            "memory_kib": memory,
            "most_memory_kib": kibibytes("VmHWM"),
            "ids": ids,
            "ended": ended,
        })
    );
    Ok(())
}

/// Returns the search with CTranslate2's length penalty and end of the search.
fn search(beam_size: usize, max_len: isize) -> Search {
    let extra = max_len.unsigned_abs();
    let limit = LengthLimit { factor: 0.0, extra };
    Search {
        beam_size,
        length_penalty: LengthPenalty::Power { alpha: 1.0 },
        stop: StopRule::BeamFinished,
        max_len: limit,
        min_len: if max_len < 0 {
            limit
        } else {
            LengthLimit::ZERO
        },
        ..Search::default()
    }
}

/// A model in the form for translation on the device.
enum Model {
    Packed(Box<PackedTransformer>),
    Module {
        model: Box<Transformer>,
        recomputes: bool,
    },
}

impl Model {
    /// Translates sources with one call.
    fn translate(
        &self,
        sources: &[Vec<u32>],
        search: &Search,
        n_threads: usize,
    ) -> Vec<Vec<Hypothesis>> {
        let inputs = sources.iter().map(|ids| Source {
            ids,
            ..Source::default()
        });
        let inputs: Vec<Source<'_>> = inputs.collect();
        let limits = BatchLimits::default();
        match self {
            Self::Packed(model) => {
                translate_packed(&[model], &inputs, search, &limits, n_threads, &mut |_| ())
            }
            Self::Module {
                model,
                recomputes: true,
            } => {
                let requests = vec![search.request(0); sources.len()];
                search.run(&mut Recompute::new(model, sources), &requests)
            }
            Self::Module { model, .. } => {
                translate_sources(&[model], &inputs, search, &limits, &mut |_| ())
            }
        }
    }
}

/// Packs the model of a model directory, or of the two files that the script wrote.
fn load_packed(path: &Path, device: &Device) -> Result<PackedTransformer> {
    let precision = match std::env::var("PRECISION") {
        Ok(name) => Some(
            name.parse::<ComputePrecision>()
                .map_err(anyhow::Error::msg)?,
        ),
        Err(_) => None,
    };
    if path.join("manifest.json").is_file() {
        let load = |directory: &ModelDirectory| directory.load_packed(precision);
        let (_, model) = ModelDirectory::open_with(path, load)?;
        return Ok(model);
    }
    Ok(PackedTransformer::of(
        &load(path, device)?,
        precision.unwrap_or_default(),
    ))
}

/// Reads a model directory, or the two files that the script wrote.
fn load(path: &Path, device: &Device) -> Result<Transformer> {
    if path.join("manifest.json").is_file() {
        return Ok(ModelDirectory::open(path)?.load(device)?);
    }
    let config: TransformerConfig = serde_json::from_str(&read(&path.join("config.json"))?)?;
    let weights = StateDict::read(path.join("weights.safetensors"))?;
    let names = PytorchNames {
        prefix: "model".to_owned(),
        ..PytorchNames::default()
    };
    Ok(weights.to_transformer(&config, &Names::Pytorch(names), device)?)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Returns a field of this process's memory on Linux; `None` on other systems.
fn kibibytes(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
