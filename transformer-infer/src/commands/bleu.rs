//! `transformer-infer bleu`: scores of a translation, given its references.

use std::path::{Path, PathBuf};

use clap::Args;
use transformer_infer::metrics::Chrf;

use super::{CommandError, LineFlags, ParallelLines, ScoreOptions, Scores};

/// Scores a translation: BLEU, chrF and TER, equal to sacreBLEU's.
///
/// Files may be plain or gzip, and `-` is standard input. The signatures printed contain all settings that are needed
/// to reproduce the scores.
#[derive(Debug, Args)]
#[command(name = "bleu")]
pub(crate) struct BleuCommand {
    /// File with the translations, one per line.
    #[arg(long, value_name = "FILE")]
    hyp: PathBuf,
    /// File with the references, one per line; repeat the flag for more references.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
    /// Print chrF2 and chrF2++ as well.
    #[arg(long)]
    chrf: bool,
    #[command(flatten)]
    lines: LineFlags,
    #[command(flatten)]
    options: ScoreOptions,
}

impl BleuCommand {
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        let options = &self.options;
        options.check()?;
        let references = self.references.iter().map(PathBuf::as_path);
        let paths: Vec<&Path> = [self.hyp.as_path()].into_iter().chain(references).collect();
        let mut rows = ParallelLines::open(&paths, "reference", self.lines)?;
        let chrfs = [Chrf::default(), Chrf::plus_plus()];
        let chrfs = if self.chrf { &chrfs[..] } else { &[] };
        let mut scores = Scores::new(options.metrics(chrfs)?);
        while let Some(row) = rows.next_row()? {
            scores.add(&row[0], &row[1..]);
        }
        match scores.n_lines {
            0 => Err(CommandError::NothingToScore {
                path: self.hyp.clone(),
            }),
            _ => scores.print(self.references.len(), options.width()),
        }
    }
}
