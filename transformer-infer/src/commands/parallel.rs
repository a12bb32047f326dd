//! Parallel files: translations and references, or sources and targets, line by line.

use std::io::{self, Write};
use std::path::Path;

use transformer_infer::metrics::{CorpusCounts, Metric};

use super::{CommandError, read_lines};

/// Reads files with the same number of lines; at most one may be `-`.
///
/// `counterpart` names, for the error, what a line lacks if the numbers differ.
pub(crate) fn read_parallel(
    paths: &[&Path],
    counterpart: &'static str,
) -> Result<Vec<Vec<String>>, CommandError> {
    if paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(CommandError::StandardInputTwice);
    }
    let mut files: Vec<Vec<String>> = Vec::new();
    for path in paths {
        let lines = read_lines(path)?;
        if let Some(first) = files.first()
            && first.len() != lines.len()
        {
            return Err(CommandError::LineCounts {
                first: paths[0].to_owned(),
                n_first: first.len(),
                other: (*path).to_owned(),
                n_other: lines.len(),
                counterpart,
            });
        }
        files.push(lines);
    }
    Ok(files)
}

/// Returns the counts of a metric for every line, given its references.
pub(crate) fn count(
    metric: &dyn Metric,
    hypotheses: &[String],
    references: &[Vec<String>],
) -> CorpusCounts {
    let lines = hypotheses.iter().enumerate();
    CorpusCounts::new(
        metric,
        lines.map(|(line, hypothesis)| {
            let references = references.iter().map(|it| it[line].as_str());
            (hypothesis.as_str(), references.collect())
        }),
    )
}

/// Prints the scores of a translation in the format of `sacrebleu -f text`.
pub(crate) fn print_scores(
    metrics: &[Box<dyn Metric>],
    hypotheses: &[String],
    references: &[Vec<String>],
    width: usize,
) -> Result<(), CommandError> {
    let mut output = io::stdout().lock();
    for metric in metrics {
        let sums = count(&**metric, hypotheses, references).sums();
        let (name, signature) = (metric.name(), metric.signature(references.len()));
        let score = metric.describe(&sums, width);
        writeln!(output, "{name}|{signature} = {score}").map_err(CommandError::output)?;
    }
    Ok(())
}
