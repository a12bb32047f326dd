//! The speed of translation: greedy and with a beam, one sentence and 32 at once.

use std::time::{Duration, Instant};

use anyhow::Result;
use burn::tensor::Device;
use serde_json::json;
use transformer_core::device::in_thread_pool;
use transformer_core::text::EOS;
use transformer_core::{Transformer, TransformerConfig};
use transformer_infer::Scorer;
use transformer_infer::search::{Request, Search};

use crate::weights::rewrite;
use crate::{Repeats, print_line, sentences};

/// Tokens of every translation.
const N_TOKENS: usize = 24;

/// The measured batch sizes, in sentences, and beam sizes.
const CELLS: [(usize, usize); 4] = [(1, 1), (1, 4), (32, 1), (32, 4)];

/// Prints the tokens of the best hypothesis per second, and the milliseconds to the first token, for each cell.
/// Returns the duration of the first translation of all cells.
pub(crate) fn measure(
    config: &TransformerConfig,
    device: &Device,
    repeats: Repeats,
) -> Result<Duration> {
    let model = endless(config, device)?;
    let mut warm_up = Duration::ZERO;
    for (batch, beam) in CELLS {
        let search = Search {
            beam_size: beam,
            ..Search::default()
        };
        let sources = sentences(batch, 1);
        let translate = |n_tokens| {
            let requests = vec![Request::up_to(n_tokens); batch];
            let found = in_thread_pool(device, || {
                search.run(&mut Scorer::new(&model, &sources), &requests)
            });
            let whole = found.iter().all(|found| found[0].ids.len() == n_tokens);
            anyhow::ensure!(whole, "a translation does not have {n_tokens} tokens");
            Ok(())
        };
        // The first translation compiles kernels and allocates memory.
        let started = Instant::now();
        translate(N_TOKENS)?;
        warm_up += started.elapsed();
        let first = repeats.seconds(|| translate(1))?;
        let all = repeats.seconds(|| translate(N_TOKENS))?;
        let speed = |seconds: &f64| (batch * N_TOKENS) as f64 / seconds;
        print_line(&json!({ "decoding": {
            "batch": batch,
            "beam": beam,
            "tokens_per_second": all.iter().map(speed).collect::<Vec<_>>(),
            "first_token_ms": first.iter().map(|seconds| 1e3 * seconds).collect::<Vec<_>>(),
        }}))?;
    }
    Ok(warm_up)
}

/// Makes a model that never ends a translation: the bias of EOS prevents it.
fn endless(config: &TransformerConfig, device: &Device) -> Result<Transformer> {
    device.seed(1);
    let config = TransformerConfig {
        output_bias: true,
        ..config.clone()
    };
    Ok(rewrite(config.init(device)?, |name, mut entry| {
        if name == "output_bias" {
            entry.values[EOS as usize] = -1e4;
        }
        entry.values
    }))
}
