//! `transformer-infer quantize`: stores a model with less precision.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use transformer_core::directory::{ModelDirectory, Precision};

use super::{CommandError, OutputPathError, one_of};

const PRECISIONS: [(&str, Precision); 2] = [("f16", Precision::F16), ("int8", Precision::Int8)];

/// Stores a model with less precision: half or a quarter of the bytes, nearly the same translations.
///
/// This saves disk space and transfer time. On CPUs, `int8` models are also computed in 8-bit integers, which is faster
/// and takes less memory; otherwise the weights are converted to the precision of the backend when they are loaded.
/// Keep the trained model as well: rounding cannot be undone.
#[derive(Debug, Args)]
pub(crate) struct Quantize {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Directory to write; a model with less precision in it is replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Type of the stored weights: `f16` (16-bit floats) or `int8` (8-bit integers, and a scale for each
    /// output channel of a matrix).
    #[arg(long, value_parser = one_of(&PRECISIONS))]
    precision: Precision,
}

impl Quantize {
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        let precision = self.precision;
        if self.out.is_file() {
            let path = self.out.clone();
            return Err(OutputPathError::IsFile { path }.into());
        }
        let quantize = |original: &ModelDirectory| original.write_quantized(&self.out, precision);
        let (original, out) = ModelDirectory::open_with(&self.model, quantize)?;
        let quantized = ModelDirectory::open(&out)?;
        let bytes = |model: &ModelDirectory| model.manifest().files.weights.bytes;
        let (before, after) = (bytes(&original), bytes(&quantized));
        let share = 100.0 * after as f64 / before as f64;
        let out = out.display();
        writeln!(
            io::stdout(),
            "{out}: weights in {precision}, {after} bytes instead of {before} ({share:.1}%)"
        )
        .map_err(CommandError::output)
    }
}
