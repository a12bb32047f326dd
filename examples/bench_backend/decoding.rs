//! Speed of translation: greedy and with a beam, one sentence and 32 at once.

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
use crate::{Effort, say, sentences};

/// Tokens of every translation.
const N_TOKENS: usize = 24;

/// What is measured: sentences at once, and hypotheses of each.
const CELLS: [(usize, usize); 4] = [(1, 1), (1, 4), (32, 1), (32, 4)];

/// Prints tokens a second of the best hypothesis, and milliseconds to the first token, of every cell. Returns how long
/// all cells took the first time.
pub(crate) fn measure(
    config: &TransformerConfig,
    device: &Device,
    effort: Effort,
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
            anyhow::ensure!(whole, "a translation has not {n_tokens} tokens");
            Ok(())
        };
        // Kernels are compiled, and memory is claimed.
        let started = Instant::now();
        translate(N_TOKENS)?;
        warm_up += started.elapsed();
        let first = effort.seconds(|| translate(1))?;
        let all = effort.seconds(|| translate(N_TOKENS))?;
        let speed = |seconds: &f64| (batch * N_TOKENS) as f64 / seconds;
        say(&json!({ "decoding": {
            "batch": batch,
            "beam": beam,
            "tokens_per_second": all.iter().map(speed).collect::<Vec<_>>(),
            "first_token_ms": first.iter().map(|seconds| 1e3 * seconds).collect::<Vec<_>>(),
        }}))?;
    }
    Ok(warm_up)
}

/// Makes a model that never ends a translation: the bias of EOS forbids it.
fn endless(config: &TransformerConfig, device: &Device) -> Result<Transformer> {
    device.seed(1);
    let config = TransformerConfig {
        output_bias: true,
        ..config.clone()
    };
    Ok(rewrite(config.init(device)?, |name, mut entry| {
        if name == "output_bias" {
            entry.numbers[EOS as usize] = -1e4;
        }
        entry.numbers
    }))
}
