//! Translates with a model of OPUS-MT, straight from its folder: no model directory is written.
//!
//! ```sh
//! cargo run -q -p examples --example opus_mt -- FOLDER TEXT…
//! ```
//!
//! The folder is one of Hugging Face's Transformers; docs/opus-mt.md says which files it needs.

#![expect(clippy::print_stdout, reason = "an example shows what comes out")]

use anyhow::Result;
use transformer_core::device;
use transformer_core::import::Marian;
use transformer_infer::{Translator, allocator};

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, lines @ ..] = arguments.as_slice() else {
        anyhow::bail!("give the folder of a Marian model, and text");
    };
    let named = std::env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(named.as_deref())?;
    let translator = Translator::try_from(Marian::read(folder, &device)?)?;
    // The beam and the limits are those that the model brought along.
    for translation in translator.translate(lines, translator.search())? {
        println!("{}", translation.text());
    }
    Ok(())
}
