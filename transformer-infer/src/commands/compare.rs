//! `transformer-infer compare`: tests whether the difference between translations is statistically significant.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use transformer_infer::metrics::{
    Chrf, Compared, CorpusCounts, Metric, PairedTest, PairedTestKind,
};

use super::buckets::{BucketRow, BucketTable, ByFrequency, tables_by_length};
use super::compare_page::{ComparisonPage, PageFlags, TextTable};
use super::{CommandError, LineFlags, ParallelLines, Row, ScoreOptions};

/// The p-value below which a difference is marked.
const SIGNIFICANT: f64 = 0.05;

/// The index of chrF2 among the metrics. It ranks sentences: of one sentence, BLEU says little.
const CHRF: usize = 1;

/// Compares translations with a baseline: BLEU and chrF, with the paired tests of sacreBLEU.
///
/// Prints for each translation: its score; in parentheses the mean of the resampled scores and half of their 95%
/// interval; the difference from the baseline, which is the first translation; and p, the probability of a
/// difference as large by chance alone. A star marks p < 0.05 if the scores differ. With the same number of samples
/// and the same seed, p is equal to sacreBLEU's.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// File with the references, one per line; repeat the flag for more references.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
    /// File with translations, one per line; repeat the flag for each system. The first is the baseline.
    #[arg(long = "hyp", value_name = "FILE", required = true)]
    hypotheses: Vec<PathBuf>,
    /// Kind of test.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = TestName::Bootstrap)]
    test: TestName,
    /// Number of samples [default: 1000 for bootstrap, 10000 for randomization].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: Option<u32>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 12345)]
    seed: u64,
    /// Print the scores by the length of the first reference as well, in words.
    #[arg(long)]
    by_length: bool,
    /// File with training text of the target language: print the F1 of words by their frequency in it.
    #[arg(long, value_name = "FILE")]
    by_frequency: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    page: PageFlags,
    #[command(flatten)]
    lines: LineFlags,
    #[command(flatten)]
    options: ScoreOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TestName {
    /// Sentences are drawn with replacement (Koehn 2004)
    Bootstrap,
    /// Translations of a sentence are swapped at random between the two systems (Riezler and Maxwell 2005)
    Randomization,
}

/// The output of `--json` for one metric.
#[derive(Debug, Serialize)]
struct Comparison {
    metric: String,
    signature: String,
    systems: Vec<System>,
}

#[derive(Debug, Serialize)]
struct WithTables<'a> {
    comparisons: &'a [Comparison],
    tables: &'a [BucketTable],
}

#[derive(Debug, Serialize)]
struct System {
    file: String,
    score: f64,
    mean: f64,
    interval: [f64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    p_value: Option<f64>,
}

struct Tally<'a> {
    metrics: &'a [Box<dyn Metric>],
    /// Those of every sentence for each system, by metric, suffice for the tests.
    counts: Vec<Vec<CorpusCounts>>,
    /// The lengths of the first references, in words.
    lengths: Vec<usize>,
    by_frequency: Option<ByFrequency>,
}

impl Tally<'_> {
    fn push(&mut self, hypotheses: &[String], references: &[String]) {
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        self.lengths.push(references[0].split_whitespace().count());
        if let Some(by_frequency) = &mut self.by_frequency {
            by_frequency.push(hypotheses, references[0]);
        }
        for (metric, systems) in self.metrics.iter().zip(&mut self.counts) {
            for (counts, hypothesis) in systems.iter_mut().zip(hypotheses) {
                counts.push(&**metric, hypothesis, &references);
            }
        }
    }
}

impl Compare {
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        let options = &self.options;
        options.check()?;
        if self.hypotheses.len() < 2 && self.page.html.is_none() {
            return Err(CommandError::OneSystem);
        }
        let picture = self.page.picture()?;
        let metrics = options.metrics(&[Chrf::default()])?;
        let (tally, shown) = self.read(&metrics, picture.is_some())?;
        let Tally {
            counts,
            lengths,
            by_frequency,
            ..
        } = tally;
        if counts[0][0].is_empty() {
            return Err(CommandError::NothingToScore {
                path: self.references[0].clone(),
            });
        }
        let test = self.test();
        let comparisons = metrics.iter().zip(&counts).map(|(metric, systems)| {
            let compared = test.run(&**metric, systems);
            self.comparison(&**metric, self.references.len(), &compared)
        });
        let comparisons: Vec<Comparison> = comparisons.collect();
        let mut tables = tables_by_length(&metrics, &counts, &lengths);
        let n_by_length = tables.len();
        tables.extend(by_frequency.map(|it| it.table()));
        if let Some(picture) = picture {
            let page = ComparisonPage {
                flags: &self.page,
                systems: self.names(),
                rows: &shown,
                scores: self.tables_of(&comparisons),
                tables: &tables,
                metric: (&*metrics[CHRF], &counts[CHRF]),
                digits: options.width(),
            };
            picture.write(&page.render())?;
        }
        if !self.by_length {
            tables.drain(..n_by_length);
        }
        self.print(&comparisons, &tables)
            .map_err(CommandError::output)
    }

    /// Counts all sentences, and returns them too if there is a page, which shows them.
    fn read<'a>(
        &self,
        metrics: &'a [Box<dyn Metric>],
        has_page: bool,
    ) -> Result<(Tally<'a>, Vec<Row>), CommandError> {
        let paths = self.hypotheses.iter().chain(&self.references);
        let paths = paths.chain(&self.page.src);
        let paths: Vec<&Path> = paths.map(PathBuf::as_path).collect();
        let mut rows = ParallelLines::open(&paths, "counterpart", self.lines)?;
        let n_systems = self.hypotheses.len();
        let by_frequency = match &self.by_frequency {
            Some(path) => Some(self.frequencies(path)?),
            None => None,
        };
        let mut tally = Tally {
            metrics,
            counts: vec![vec![CorpusCounts::default(); n_systems]; metrics.len()],
            lengths: Vec::new(),
            by_frequency,
        };
        let mut shown: Vec<Row> = Vec::new();
        while let Some(row) = rows.next_row()? {
            let (hypotheses, rest) = row.split_at(n_systems);
            tally.push(hypotheses, &rest[..self.references.len()]);
            if has_page {
                shown.push(row);
            }
        }
        Ok((tally, shown))
    }

    fn names(&self) -> Vec<String> {
        let names = self.hypotheses.iter();
        names.map(|path| path.display().to_string()).collect()
    }

    fn tables_of(&self, comparisons: &[Comparison]) -> Vec<TextTable> {
        let head: &[&str] = match self.hypotheses.len() {
            1 => &["translation", "score", "mean and 95% interval"],
            _ => &[
                "translation",
                "score",
                "mean and 95% interval",
                "difference",
                "p",
            ],
        };
        let table = |it: &Comparison| TextTable {
            title: format!("{}|{}", it.metric, it.signature),
            head: head.iter().copied().map(str::to_owned).collect(),
            rows: (it.systems.iter())
                .map(|system| self.columns(system, &it.systems[0])[..head.len()].to_vec())
                .collect(),
        };
        comparisons.iter().map(table).collect()
    }

    fn frequencies(&self, path: &Path) -> Result<ByFrequency, CommandError> {
        let mut frequencies = ByFrequency::new(self.hypotheses.len());
        let mut lines = ParallelLines::open(&[path], "counterpart", self.lines)?;
        while let Some(row) = lines.next_row()? {
            frequencies.count(&row[0]);
        }
        Ok(frequencies)
    }

    fn test(&self) -> PairedTest {
        let test = match self.test {
            TestName::Bootstrap => PairedTest::bootstrap(),
            TestName::Randomization => PairedTest::randomization(),
        };
        PairedTest {
            n_samples: self.samples.map_or(test.n_samples, |n| n as usize),
            seed: self.seed,
            ..test
        }
    }

    fn comparison(
        &self,
        metric: &dyn Metric,
        n_references: usize,
        results: &[Compared],
    ) -> Comparison {
        // As in sacreBLEU, the test follows the number of references.
        let signature = metric.signature(n_references);
        let test = self.test().signature();
        let signature = match signature.split_once('|') {
            Some((references, rest)) => format!("{references}|{test}|{rest}"),
            None => signature,
        };
        let systems = self.hypotheses.iter().zip(results);
        Comparison {
            metric: metric.name(),
            signature,
            systems: systems
                .map(|(file, result)| System {
                    file: file.display().to_string(),
                    score: result.score,
                    mean: result.mean,
                    interval: [result.low, result.high],
                    p_value: result.p_value,
                })
                .collect(),
        }
    }

    fn print(&self, comparisons: &[Comparison], tables: &[BucketTable]) -> io::Result<()> {
        let mut output = io::stdout().lock();
        if self.json {
            if tables.is_empty() {
                serde_json::to_writer_pretty(&mut output, comparisons)?;
            } else {
                let with_tables = WithTables {
                    comparisons,
                    tables,
                };
                serde_json::to_writer_pretty(&mut output, &with_tables)?;
            }
            return writeln!(output);
        }
        writeln!(output, "{}", self.first_line())?;
        for comparison in comparisons {
            writeln!(output, "\n{}|{}", comparison.metric, comparison.signature)?;
            for line in self.lines(&comparison.systems) {
                writeln!(output, "  {line}")?;
            }
        }
        for table in tables {
            writeln!(output, "\n{}", table.title)?;
            for line in self.lines_of(table) {
                writeln!(output, "  {line}")?;
            }
        }
        Ok(())
    }

    /// Returns a line per bucket, with a column for each system in their order.
    fn lines_of(&self, table: &BucketTable) -> Vec<String> {
        let digits = self.options.width();
        let line = |row: &BucketRow| {
            let scores = row
                .scores
                .iter()
                .map(|score| format!("  {score:6.digits$}"));
            format!(
                "{:>10} {:>8}{}",
                row.bucket,
                row.n,
                scores.collect::<String>()
            )
        };
        table.rows.iter().map(line).collect()
    }

    /// Returns the name of the test; of one system, there are only intervals.
    fn first_line(&self) -> String {
        let test = self.test();
        let kind = match test.kind {
            _ if self.hypotheses.len() < 2 => {
                return "95% intervals by bootstrap resampling".to_owned();
            }
            PairedTestKind::Bootstrap => "bootstrap resampling",
            PairedTestKind::Randomization => "approximate randomization",
        };
        let (baseline, n_samples) = (self.hypotheses[0].display(), test.n_samples);
        format!("paired {kind}, {n_samples} samples; baseline {baseline}")
    }

    /// Returns a line per system, in columns.
    fn lines(&self, systems: &[System]) -> Vec<String> {
        let widest = systems.iter().map(|system| system.file.chars().count());
        let widest = widest.max().unwrap_or(0);
        let line = |system: &System| {
            let [file, score, interval, difference, p_value] = self.columns(system, &systems[0]);
            let scores = format!("{file:widest$}  {score:>6} ({interval})");
            match system.p_value {
                Some(_) => format!("{scores}  {difference}  p = {p_value}"),
                None => scores,
            }
        };
        systems.iter().map(line).collect()
    }

    /// Returns the name of a system, its score, its interval, the difference from the baseline and p, as printed.
    fn columns(&self, system: &System, baseline: &System) -> [String; 5] {
        let digits = self.options.width();
        let System {
            file, score, mean, ..
        } = system;
        let half_interval = 0.5 * (system.interval[1] - system.interval[0]);
        let interval = format!("{mean:.digits$} ± {half_interval:.digits$}");
        let (mut difference, mut p_value) = Default::default();
        if let Some(p) = system.p_value {
            // The difference of the printed scores, so that the columns add up.
            let printed = |score: f64| format!("{score:.digits$}").parse().unwrap_or(score);
            difference = format!("{:+.digits$}", printed(*score) - printed(baseline.score));
            // Equal translations have the smallest possible p, because no sample has a difference above 0.
            let is_marked = p < SIGNIFICANT && *score != baseline.score;
            p_value = format!("{p:.4}{}", if is_marked { " *" } else { "" });
        }
        let score = format!("{score:.digits$}");
        [file.clone(), score, interval, difference, p_value]
    }
}
