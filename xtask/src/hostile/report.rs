//! The table of a run, and how a failure is printed.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use super::case::Runs;

/// An attempt that found a fault.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) fault: String,
    /// The command that makes the attempt again.
    pub(super) again: String,
    /// The folder with its input.
    pub(super) folder: PathBuf,
    /// What was run, as lines for a shell.
    pub(super) lines: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "failure: {}", self.fault)?;
        if let Some(line) = self.lines.last() {
            writeln!(formatter, "    ran:   {line}")?;
        }
        writeln!(formatter, "    again: {}", self.again)?;
        write!(formatter, "    input: {}", self.folder.display())
    }
}

/// What became of an attempt.
#[derive(Debug)]
pub(super) enum Outcome {
    Passed,
    /// It was not made, for a reason.
    Skipped(String),
    Failed,
}

/// The results of a class.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) n_attempts: u64,
    pub(super) n_failures: u64,
    pub(super) n_skipped: u64,
    pub(super) seconds: f64,
    pub(super) runs: Runs,
    /// Why attempts were skipped, each reason once.
    pub(super) skipped: BTreeSet<String>,
}

impl Row {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Counts an attempt and the runs of the programs in it.
    pub(super) fn add(&mut self, outcome: Outcome, runs: Runs) {
        self.n_attempts += 1;
        self.runs.n += runs.n;
        self.runs.n_refused += runs.n_refused;
        self.runs.n_killed += runs.n_killed;
        match outcome {
            Outcome::Passed => {}
            Outcome::Skipped(reason) => {
                self.n_skipped += 1;
                self.skipped.insert(reason);
            }
            Outcome::Failed => self.n_failures += 1,
        }
    }
}

/// Returns the table, in Markdown. Runs are those of the programs; refused are those that ended with an error.
pub(super) fn table(rows: &[Row]) -> String {
    let names = "class | attempts | skipped | runs | refused | killed | failures | seconds";
    let mut text = format!("\n| {names} |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
    let mut all = Row::new("all");
    for row in rows {
        all.n_attempts += row.n_attempts;
        all.n_skipped += row.n_skipped;
        all.n_failures += row.n_failures;
        all.seconds += row.seconds;
        all.runs.n += row.runs.n;
        all.runs.n_refused += row.runs.n_refused;
        all.runs.n_killed += row.runs.n_killed;
        text.push_str(&line(row));
    }
    text + &line(&all)
}

fn line(row: &Row) -> String {
    let made = row.n_attempts - row.n_skipped;
    let Row {
        name,
        n_skipped,
        n_failures,
        seconds,
        ..
    } = row;
    let Runs {
        n,
        n_refused,
        n_killed,
    } = row.runs;
    format!(
        "| {name} | {made} | {n_skipped} | {n} | {n_refused} | {n_killed} | {n_failures} | {seconds:.0} |\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_attempts_are_not_counted_as_made() {
        let mut row = Row::new("disks");
        let runs = Runs {
            n: 3,
            n_refused: 1,
            n_killed: 0,
        };
        row.add(Outcome::Passed, runs);
        row.add(Outcome::Skipped("no root".to_owned()), Runs::default());
        let text = table(&[row]);
        assert!(
            text.contains("| disks | 1 | 1 | 3 | 1 | 0 | 0 | 0 |"),
            "{text}"
        );
        assert!(
            text.ends_with("| all | 1 | 1 | 3 | 1 | 0 | 0 | 0 |\n"),
            "{text}"
        );
    }
}
