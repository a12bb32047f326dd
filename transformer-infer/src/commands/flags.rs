//! Flags of several commands: [`SpeedFlags`], number format and threads of translation on CPUs; [`LanguageFlags`], the
//! languages between which a multilingual model translates; and [`open`], which loads the models that flags name.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use transformer_core::{ComputePrecision, device};
use transformer_infer::{BatchLimits, OpenOptions, Translator, TranslatorError, allocator};

use super::CommandError;

/// The flags of commands that translate.
#[derive(Debug, Args)]
pub(crate) struct SpeedFlags {
    /// Number format of matrix products on CPUs: f32, or int8, which is 2 to 4 times as fast and loses a little quality
    /// [default: int8 for a model that is stored in it, otherwise f32].
    #[arg(long, value_name = "FORMAT")]
    precision: Option<ComputePrecision>,
    /// Maximum number of threads that translate at the same time, on CPUs; the translations are the same [default: one
    /// per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Use of the model's shortlist on CPUs, if it has one: on, or off to consider all target tokens at each step.
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = ["on", "off"])]
    shortlist: String,
}

impl SpeedFlags {
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions {
            precision: self.precision,
            n_threads: self.threads.and_then(|n| NonZeroUsize::new(n.into())),
            without_shortlist: self.shortlist == "off",
            ..OpenOptions::default()
        }
    }
}

/// The flags of commands that use a multilingual model.
#[derive(Debug, Args)]
pub(crate) struct LanguageFlags {
    /// Language of the source, for a multilingual model such as NLLB-200: a code such as de or zh-Hant, or the model's
    /// own, such as deu_Latn [default: the one given to `import`].
    #[arg(long, value_name = "CODE")]
    src_lang: Option<String>,
    /// Language of the target, likewise.
    #[arg(long, value_name = "CODE")]
    tgt_lang: Option<String>,
}

impl LanguageFlags {
    /// Sets the languages of a translator.
    pub(crate) fn apply(&self, translator: Translator) -> Result<Translator, CommandError> {
        let (src, tgt) = (self.src_lang.as_deref(), self.tgt_lang.as_deref());
        let translator = translator.with_direction(src, tgt);
        Ok(translator.map_err(TranslatorError::from)?)
    }
}

/// Parses an integer of at least 1.
pub(crate) fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

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
    allocator::keep_freed_memory();
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
