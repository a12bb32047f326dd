//! [`Scores`]: the scores of a translation by several metrics, computed from sums over its lines.

use std::io::{self, Write};

use transformer_infer::metrics::{Metric, add_counts};

use super::CommandError;

/// The scores of a translation by several metrics; its lines are not stored.
pub(crate) struct Scores {
    metrics: Vec<Box<dyn Metric>>,
    /// For each metric, the sums of its counts.
    sums: Vec<Vec<f64>>,
    n_lines: usize,
}

impl Scores {
    pub(crate) fn new(metrics: Vec<Box<dyn Metric>>) -> Self {
        Self {
            sums: vec![Vec::new(); metrics.len()],
            metrics,
            n_lines: 0,
        }
    }

    /// Adds a line and its references.
    pub(crate) fn add(&mut self, hypothesis: &str, references: &[String]) {
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        for (metric, sums) in self.metrics.iter().zip(&mut self.sums) {
            add_counts(sums, &metric.counts(hypothesis, &references));
        }
        self.n_lines += 1;
    }

    /// Returns the number of lines.
    pub(crate) fn n_lines(&self) -> usize {
        self.n_lines
    }

    /// Prints the scores in the format of `sacrebleu -f text`.
    pub(crate) fn print(&self, n_references: usize, width: usize) -> Result<(), CommandError> {
        let mut output = io::stdout().lock();
        for (metric, sums) in self.metrics.iter().zip(&self.sums) {
            let (name, signature) = (metric.name(), metric.signature(n_references));
            let score = metric.describe(sums, width);
            writeln!(output, "{name}|{signature} = {score}").map_err(CommandError::output)?;
        }
        Ok(())
    }
}
