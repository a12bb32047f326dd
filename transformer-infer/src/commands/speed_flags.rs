//! [`SpeedFlags`]: number format and threads of translation on CPUs.

use std::num::NonZeroUsize;

use clap::Args;
use transformer_core::ComputePrecision;
use transformer_infer::OpenOptions;

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
