//! The subcommands of the program.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgGroup, Args, Subcommand};
use transformer_core::device;
use transformer_train::{CheckpointChoice, LogFn, average_checkpoints};

use super::summary::Output;

pub(crate) type Failure = Box<dyn std::error::Error>;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the mean of checkpoints of a run as a model
    Average(Average),
}

#[derive(Args, Debug)]
#[command(group(
    ArgGroup::new("which").args(["last", "best", "updates"]).required(true)
))]
pub(crate) struct Average {
    /// Folder of the run
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// Average the last N checkpoints
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    last: Option<u64>,
    /// Average the best N checkpoints, by the run's `best_by`, of those that it has kept
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    best: Option<u64>,
    /// Average the checkpoints after these updates, for example 8000,9000,10000
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    updates: Vec<u64>,
    /// Folder for the model
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Command {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Average(average) => average.run(output),
        }
    }
}

impl Average {
    fn run(&self, output: &Output) -> Result<(), Failure> {
        let choice = match (self.last, self.best) {
            (Some(n), _) => CheckpointChoice::Last(n as usize),
            (_, Some(n)) => CheckpointChoice::Best(n as usize),
            (None, None) => CheckpointChoice::Updates(self.updates.clone()),
        };
        let requested = env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(requested.as_deref())?;
        let log: LogFn = Arc::new(|line| {
            let _ = writeln!(io::stderr(), "{line}");
        });
        let updates = average_checkpoints(&self.run, &choice, &self.out, &device, &log)?;
        let updates: Vec<String> = updates.iter().map(u64::to_string).collect();
        output.print_line(&format!(
            "the mean of the checkpoints after updates {} is in {}",
            updates.join(", "),
            self.out.display()
        ));
        Ok(())
    }
}
