//! From the flags of a command to a model that is ready.

use std::io::{self, Write};
use std::path::PathBuf;

use transformer_core::device;
use transformer_infer::{BatchLimits, Translator};

use super::CommandError;

/// Reads a model, or several that predict together, and says on standard error what runs, unless that is not
/// wanted.
pub(crate) fn open(
    models: &[PathBuf],
    backend: Option<&str>,
    limits: BatchLimits,
    tell: bool,
) -> Result<Translator, CommandError> {
    let (backend, device) = device::choose(backend)?;
    let translator = Translator::open_ensemble(models, &device)?.with_limits(limits);
    if tell {
        let config = translator.config();
        let (encoder, decoder) = (config.n_encoder_layers, config.n_decoder_layers);
        let models = models.iter().map(|path| path.display().to_string());
        let models = models.collect::<Vec<_>>().join(" + ");
        // A closed standard error is no reason not to work.
        let _ = writeln!(
            io::stderr(),
            "backend {backend}, model {models} ({encoder}+{decoder} layers, d_model {}, vocabulary {})",
            config.d_model,
            config.tgt_vocab_size
        );
    }
    Ok(translator)
}
