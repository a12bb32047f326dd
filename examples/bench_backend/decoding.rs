//! The speed of translation: greedy and with a beam, of 1, 32 and 1000 sentences.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use burn::tensor::Device;
use transformer_core::device::is_cpu_memory;
use transformer_core::text::EOS;
use transformer_core::{ComputePrecision, PackedTransformer, Transformer, TransformerConfig};
use transformer_infer::{BatchLimits, Source, translate_packed, translate_sources};

use crate::figures::Decoding;
use crate::weights::rewrite;
use crate::{Repeats, print, search, sentences};

/// Tokens of every translation.
const N_TOKENS: usize = 24;

/// The measured batch sizes, in sentences, and beam sizes.
const CELLS: [(usize, usize); 6] = [(1, 1), (1, 4), (32, 1), (32, 4), (1000, 1), (1000, 4)];

/// The maximum of seconds that one translation of a cell may take; a cell that would take longer is left out.
const MAX_SECONDS: f64 = 40.0;

/// Prints the tokens of the best hypothesis per second, and the milliseconds to the first token, for each cell.
/// Returns the duration of the first translation of all cells.
pub(crate) fn measure(
    config: &TransformerConfig,
    device: &Device,
    repeats: Repeats,
) -> Result<Duration> {
    let model = endless(config, device)?;
    let mut warm_up = Duration::ZERO;
    let packed =
        is_cpu_memory(device).then(|| PackedTransformer::of(&model, ComputePrecision::default()));
    let n_threads = std::thread::available_parallelism()?.get();
    let limits = BatchLimits::default();
    let mut seconds_per_row = 0.0;
    for (batch, beam) in CELLS {
        if seconds_per_row * (batch * beam) as f64 > MAX_SECONDS {
            writeln!(
                io::stderr(),
                "{batch} sentences, beam {beam}: left out, too slow"
            )?;
            continue;
        }
        let sources = sentences(batch, 1);
        let translate = |n_tokens| {
            let search = search(beam, n_tokens);
            let inputs = sources.iter().map(|ids| Source {
                ids,
                ..Source::default()
            });
            let inputs: Vec<Source<'_>> = inputs.collect();
            let found = match &packed {
                Some(model) => {
                    translate_packed(&[model], &inputs, &search, &limits, n_threads, &mut |_| ())
                }
                None => translate_sources(&[&model], &inputs, &search, &limits, &mut |_| ()),
            };
            let whole = found.iter().all(|found| found[0].ids.len() == n_tokens);
            anyhow::ensure!(whole, "a translation does not have {n_tokens} tokens");
            Ok(())
        };
        // The first translation compiles kernels and allocates memory.
        let started = Instant::now();
        translate(N_TOKENS)?;
        warm_up += started.elapsed();
        seconds_per_row = started.elapsed().as_secs_f64() / (batch * beam) as f64;
        let first = repeats.seconds(|| translate(1))?;
        let all = repeats.seconds(|| translate(N_TOKENS))?;
        let speed = |seconds: &f64| (batch * N_TOKENS) as f64 / seconds;
        let cell = Decoding {
            batch,
            beam,
            tokens_per_second: all.iter().map(speed).collect(),
            first_token_ms: first.iter().map(|seconds| 1e3 * seconds).collect(),
        };
        print(|it| it.decoding.push(cell))?;
    }
    Ok(warm_up)
}

/// Makes a model that never ends a translation: the bias of EOS prevents it.
fn endless(config: &TransformerConfig, device: &Device) -> Result<Transformer> {
    device.seed(1);
    let mut config = config.clone();
    config.output_bias = true;
    Ok(rewrite(config.init(device)?, |name, mut entry| {
        if name == "output_bias" {
            entry.values[EOS as usize] = -1e4;
        }
        entry.values
    }))
}
