//! The flags of `cargo xtask bench-backends`, most of which `cargo xtask gpu` has too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::process::target_folder;

/// The backends, the duration of measurements, and the folder of the results.
#[derive(Args, Clone, Debug)]
pub(crate) struct Plan {
    /// The backends; `flex` needs no GPU.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        default_value = "flex,ndarray,tch,wgpu,cuda"
    )]
    pub(crate) backends: Vec<Backend>,
    /// Number of measurements of each figure; the programs take turns.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Minutes after which a backend is stopped: all its turns together, and separately its varied updates. The figures
    /// until then are shown.
    #[arg(long, value_name = "MINUTES", default_value = "8", value_parser = minutes)]
    pub(crate) limit: Duration,
    /// A Python with the packages of benchmarks/bench_peers.txt, to measure PyTorch and CTranslate2 too.
    #[arg(long, value_name = "PYTHON")]
    pub(crate) peers: Option<PathBuf>,
    /// Folder for table.md, results.json and chart.svg; until then so-far.json is there. [default: bench-backends in
    /// the target folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// A folder with the benchmark of `cargo xtask gpu --pack`, which is run instead of a new build.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) programs: Option<PathBuf>,
}

impl Plan {
    /// Makes the folder of the results, which by default is `name` in cargo's target folder.
    pub(crate) fn folder(&self, root: &Path, name: &str) -> Result<PathBuf> {
        let out = match &self.out {
            Some(folder) => folder.clone(),
            None => target_folder(root)?.join(name),
        };
        fs::create_dir_all(&out).with_context(|| format!("cannot make `{}`", out.display()))?;
        Ok(out)
    }
}

/// A comparison on one model.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) plan: Plan,
    /// The model.
    #[arg(long, default_value = "tiny")]
    pub(crate) preset: Preset,
    /// Makes N updates of varying shapes with each backend, and shows their memory.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) varied: Option<u64>,
    /// Writes the figures to this file as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Measures nothing, and draws the figures of an earlier comparison again: NAME.json as NAME.svg beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) draw: Option<PathBuf>,
}

/// A backend, by the name of its cargo feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    Flex,
    Ndarray,
    Tch,
    Wgpu,
    Vulkan,
    Metal,
    Cuda,
    Rocm,
}

/// A model with a name for its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    Tiny,
    /// Table 3 (C), with 256 features.
    #[value(name = "c-d256")]
    D256,
    Base,
    Big,
}

/// Returns the name of a value on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map_or_else(String::new, |name| name.get_name().to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text
        .parse()
        .ok()
        .filter(|it: &f64| it.is_finite() && *it > 0.0);
    seconds.ok_or_else(|| "give a number above 0".to_owned())
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes = text.parse().ok();
    let limit = minutes.and_then(|it: f64| Duration::try_from_secs_f64(60.0 * it).ok());
    limit.ok_or_else(|| "give a number of minutes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Flags {
        /// Reads flags.
        pub(in crate::bench_backends) fn of(flags: &[&str]) -> Self {
            let command =
                Self::augment_args(clap::Command::new("bench-backends").no_binary_name(true));
            let matches = command.get_matches_from(flags);
            clap::FromArgMatches::from_arg_matches(&matches).expect("the flags are known")
        }
    }
}
