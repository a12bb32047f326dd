//! Loads the models that the flags of a command name.

use std::io::{self, Write};
use std::path::PathBuf;

use transformer_core::device;
use transformer_infer::{BatchLimits, OpenOptions, Translator};

use super::CommandError;

/// Returns the number format of the matrix products, such as `, f32`, or the formats of an ensemble, such as `, f32 +
/// int8`.
fn precisions(translator: &Translator) -> String {
    let mut precisions = translator.precisions();
    precisions.dedup();
    let names: Vec<&str> = precisions.iter().map(|it| it.name()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(", {}", names.join(" + ")),
    }
}

/// Loads a model or an ensemble on the backend; if `reports`, prints both to standard error.
pub(crate) fn open(
    models: &[PathBuf],
    backend: Option<&str>,
    limits: BatchLimits,
    options: &OpenOptions,
    reports: bool,
) -> Result<Translator, CommandError> {
    let (backend, device) = device::choose(backend)?;
    let translator = Translator::open_ensemble(models, &device, options)?.with_limits(limits);
    if reports {
        let config = translator.config();
        let (encoder, decoder) = (config.n_encoder_layers, config.n_decoder_layers);
        let format = match options.as_module {
            true => String::new(),
            false => precisions(&translator),
        };
        let models = models.iter().map(|path| path.display().to_string());
        let models = models.collect::<Vec<_>>().join(" + ");
        // A closed standard error does not stop the command.
        let _ = writeln!(
            io::stderr(),
            "backend {backend}, model {models} ({encoder}+{decoder} layers, d_model {}, vocabulary {}){format}",
            config.d_model,
            config.tgt_vocab_size
        );
    }
    Ok(translator)
}
