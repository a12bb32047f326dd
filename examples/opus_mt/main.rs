//! Translates with a model of OPUS-MT directly from its folder, without writing a model directory.
//!
//! ```sh
//! cargo run -q -p examples --example opus_mt -- FOLDER TEXT…
//! ```
//!
//! The folder has the form of Hugging Face's Transformers; docs/models.md lists the files that it needs.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use anyhow::Result;
use transformer_core::device;
use transformer_core::import::Marian;
use transformer_infer::Translator;
use transformer_infer::allocator;

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, lines @ ..] = arguments.as_slice() else {
        anyhow::bail!("give the folder of a Marian model, and text");
    };
    let named = std::env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(named.as_deref())?;
    let translator = Translator::try_from(Marian::read(folder, &device)?)?;
    // The beam size and the limits come with the model.
    for translation in translator.translate(lines)? {
        println!("{}", translation.text());
    }
    Ok(())
}
