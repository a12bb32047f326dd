//! Times translation by a model of another program's: `docs/decoding_speed.py` makes one, calls this, and
//! puts the other programs beside it.
//!
//! ```sh
//! cargo run -p examples --example decoding_speed -- FOLDER BATCH BEAM RUNS
//! ```
//!
//! The folder holds `config.json` (a `TransformerConfig`), `weights.safetensors` (named as those of
//! `torch.nn.Transformer`) and `sources.json` (token ids, without EOS). Every source is translated `RUNS` times,
//! `BATCH` sentences at once; what is found and the seconds of every run are printed as JSON.

#![expect(clippy::print_stdout, reason = "an example shows what comes out")]

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;
use transformer_core::import::{Names, PytorchNames, StateDict};
use transformer_core::{TransformerConfig, device};
use transformer_infer::search::{LengthPenalty, Request, Search};
use transformer_infer::{Scorer, memory};

/// Most tokens of a translation; the model of the script never ends one before.
const MAX_LEN: usize = 24;

fn main() -> Result<()> {
    memory::keep_pages();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, batch, beam, runs] = arguments.as_slice() else {
        anyhow::bail!("give FOLDER BATCH BEAM RUNS");
    };
    let folder = PathBuf::from(folder);
    let (batch, beam_size): (usize, usize) = (batch.parse()?, beam.parse()?);
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let config: TransformerConfig = serde_json::from_str(&read("config.json")?)?;
    let sources: Vec<Vec<u32>> = serde_json::from_str(&read("sources.json")?)?;

    let named = std::env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(named.as_deref())?;
    let weights = StateDict::read(folder.join("weights.safetensors"))?;
    let names = PytorchNames {
        stacks: "model".to_owned(),
        ..PytorchNames::default()
    };
    let model = weights.to_transformer(&config, &Names::Pytorch(names), &device)?;
    let search = Search {
        beam_size,
        length_penalty: LengthPenalty::Power { alpha: 1.0 },
        ..Search::default()
    };

    let mut seconds = Vec::new();
    let mut found = Vec::new();
    for _ in 0..runs.parse()? {
        let started = Instant::now();
        found.clear();
        for sources in sources.chunks(batch) {
            let requests = vec![Request::up_to(MAX_LEN); sources.len()];
            found.extend(search.run(&mut Scorer::new(&model, sources), &requests));
        }
        seconds.push(started.elapsed().as_secs_f64());
    }
    let ids: Vec<&[u32]> = found.iter().map(|found| found[0].ids.as_slice()).collect();
    println!(
        "{}",
        json!({ "backend": backend.to_string(), "seconds": seconds, "ids": ids })
    );
    Ok(())
}
