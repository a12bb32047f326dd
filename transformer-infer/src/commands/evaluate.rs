//! `transformer-infer evaluate`: translates a test set and scores the translations.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;
use transformer_infer::metrics::Chrf;
use transformer_infer::search::{LengthLimit, LengthPenalty, Search};
use transformer_infer::{BatchLimits, Input, Translation, Translator, Warning};

use super::{
    CommandError, LanguageFlags, LineFlags, LineWarnings, ParallelLines, Progress, Replacement,
    Row, ScoreOptions, Scores, SpeedFlags, TermFlags, TermReport, at_least_one, check_file,
    on_one_line, open, tell, terms_in,
};

/// Number of lines of similar length that are translated before progress is shown.
const LINES_AT_ONCE: usize = 1000;

/// Number of rows in memory at a time: more than most test sets have, so that lines are sorted by length.
const ROWS_AT_ONCE: usize = 10_000;

/// Translates a test set and scores the translations: BLEU and chrF, equal to sacreBLEU's.
///
/// This combines `translate` and `bleu`. The time, and the lines and tokens per second, are printed to standard error.
#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// File with the sources, one per line, plain or gzip; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// File with the references, one per line; repeat the flag for more references.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
    /// File to write the translations to.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of hypotheses kept at each step; 1 is greedy search, the fastest [default: the model's, or 4].
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// Normalization of scores by length: none, gnmt:ALPHA or power:ALPHA [default: the model's, or gnmt:0.6].
    #[arg(long, value_name = "KIND")]
    length_penalty: Option<LengthPenalty>,
    /// Maximum number of tokens to generate, as a number or as `1x+50`, where x is the number of source tokens
    /// [default: the model's, or 1x+50].
    #[arg(long, value_name = "LIMIT")]
    max_len: Option<LengthLimit>,
    /// Maximum number of source tokens in a batch, padding included, times the beam size.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().batch_tokens, value_parser = at_least_one())]
    batch_tokens: usize,
    /// Maximum length of a line, in tokens; the rest is not translated, with a warning.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().max_src_len, value_parser = at_least_one())]
    max_src_len: usize,
    #[command(flatten)]
    languages: LanguageFlags,
    #[command(flatten)]
    terms: TermFlags,
    #[command(flatten)]
    lines: LineFlags,
    #[command(flatten)]
    speed: SpeedFlags,
    #[command(flatten)]
    options: ScoreOptions,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
}

impl Evaluate {
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        self.check()?;
        let mut scores = Scores::new(self.options.metrics(&[Chrf::default()])?);
        let references = self.references.iter().map(PathBuf::as_path);
        let paths: Vec<&Path> = [self.src.as_path()].into_iter().chain(references).collect();
        let (mut rows, n_rows) = ParallelLines::open_checked(&paths, "reference", self.lines)?;
        if n_rows == Some(0) {
            return Err(self.nothing_to_score());
        }
        let glossary = self.terms.open()?;
        let mut terms = TermReport::default();
        let translator = self.open(backend)?;
        self.check_out_is_no_input()?;
        // An error of the output file is reported before the work, not after it.
        let mut out = self.out.as_deref().map(Out::create).transpose()?;
        let search = self.search(translator.search());
        search.validate()?;
        search.check_lengths(self.max_src_len)?;
        let mut warnings = Vec::new();
        let mut n_tokens = 0;
        let progress = Progress::new(n_rows, !self.quiet);
        loop {
            let rows = rows.next_rows(ROWS_AT_ONCE)?;
            if rows.is_empty() {
                break;
            }
            let n_before = scores.n_lines;
            let of_row = |row: &Row| terms_in(glossary.as_ref(), &row[0]);
            let row_terms: Vec<Vec<&str>> = rows.iter().map(of_row).collect();
            let lines = Chunk {
                rows: &rows,
                terms: &row_terms,
                n_before,
            };
            let translations = lines.translate(&translator, &search, &progress)?;
            for ((row, row_terms), translation) in rows.iter().zip(&row_terms).zip(&translations) {
                let line = on_one_line(translation.text());
                scores.add(&line, &row[1..]);
                terms.add(scores.n_lines, row_terms, translation);
                let best = translation.candidates.first();
                n_tokens += best.map_or(0, |best| best.hypothesis.ids.len() + 1);
                warnings.extend(translation.warning.map(|it| (scores.n_lines, it)));
                if let Some(out) = &mut out {
                    out.write(&line);
                }
            }
        }
        let seconds = progress.elapsed().as_secs_f64();
        drop(progress);
        if scores.n_lines == 0 {
            return Err(self.nothing_to_score());
        }
        if !self.quiet {
            self.print_warnings(&translator, warnings);
            if glossary.is_some() {
                terms.print();
            }
            report(scores.n_lines, n_tokens, seconds);
        }
        // The scores are printed even if the file cannot be written; if it is standard output, they follow the
        // translations.
        let written = out.map_or(Ok(()), Out::finish);
        scores.print(self.references.len(), self.options.width())?;
        written
    }

    /// Checks the flags. The model's own settings are checked when it is loaded.
    fn check(&self) -> Result<(), CommandError> {
        self.options.check()?;
        self.search(&Search::default()).validate()?;
        match self.out.as_deref() {
            Some(out) if out == Path::new("-") => Err(CommandError::OutIsDash),
            Some(out) => Ok(check_file(out)?),
            None => Ok(()),
        }
    }

    fn print_warnings(&self, translator: &Translator, warnings: Vec<(usize, Warning)>) {
        let mut lines = LineWarnings::new(true);
        lines.check_positions(self.max_len, translator);
        for (line, warning) in warnings {
            lines.print(line, Some(warning));
        }
    }

    fn open(&self, backend: Option<&str>) -> Result<Translator, CommandError> {
        let limits = BatchLimits {
            batch_tokens: self.batch_tokens,
            max_src_len: self.max_src_len,
            ..BatchLimits::default()
        };
        let translator = open(
            slice::from_ref(&self.model),
            backend,
            limits,
            &self.speed.options(),
            !self.quiet,
        )?;
        self.languages.apply(translator)
    }

    fn check_out_is_no_input(&self) -> Result<(), CommandError> {
        let inputs = self.references.iter().chain([&self.src]);
        let inputs = inputs.chain(&self.options.tokenize_model);
        let is_same = |input: &PathBuf| {
            let out = self.out.as_ref().and_then(|out| fs::canonicalize(out).ok());
            out.is_some() && fs::canonicalize(input).ok() == out
        };
        if let Some(input) = inputs.into_iter().find(|input| is_same(input)) {
            return Err(CommandError::OutIsInput {
                path: input.clone(),
            });
        }
        Ok(())
    }

    fn nothing_to_score(&self) -> CommandError {
        CommandError::NothingToScore {
            path: self.src.clone(),
        }
    }

    fn search(&self, defaults: &Search) -> Search {
        Search {
            beam_size: self.beam.unwrap_or(defaults.beam_size),
            length_penalty: self.length_penalty.unwrap_or(defaults.length_penalty),
            max_len: self.max_len.unwrap_or(defaults.max_len),
            // Only one translation is scored, whatever the model's manifest says.
            n_best: 1,
            sampling: None,
            ..defaults.clone()
        }
    }
}

/// Rows that are translated together, with the terms of each; `n_before` rows came before.
struct Chunk<'a> {
    rows: &'a [Row],
    terms: &'a [Vec<&'a str>],
    n_before: usize,
}

impl Chunk<'_> {
    /// Translates the first line of each row, those of similar length together.
    fn translate(
        &self,
        translator: &Translator,
        search: &Search,
        progress: &Progress,
    ) -> Result<Vec<Translation>, CommandError> {
        let Self {
            rows,
            terms,
            n_before,
        } = *self;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|row| Reverse(rows[*row][0].len()));
        let mut translations: Vec<Option<Translation>> = vec![None; rows.len()];
        for (number, chunk) in order.chunks(LINES_AT_ONCE).enumerate() {
            let input = |row: &usize| Input {
                text: &rows[*row][0],
                terms: &terms[*row],
                index: (n_before + row) as u64,
                ..Input::default()
            };
            let inputs: Vec<Input<'_>> = chunk.iter().map(input).collect();
            let translated = translator
                .translate_inputs(&inputs, search, &mut |_| ())
                .map_err(|error| error.with_line(|line| n_before + chunk[line - 1] + 1))?;
            for (row, translation) in chunk.iter().zip(translated) {
                translations[*row] = Some(translation);
            }
            progress.show(n_before + number * LINES_AT_ONCE + chunk.len());
        }
        Ok(translations.into_iter().flatten().collect())
    }
}

fn report(n_lines: usize, n_tokens: usize, seconds: f64) {
    tell(format_args!(
        "{n_lines} lines, {n_tokens} tokens in {seconds:.1} s: {:.0} lines and {:.0} tokens per second",
        n_lines as f64 / seconds,
        n_tokens as f64 / seconds
    ));
}

/// The output file, which is replaced when all translations are complete.
struct Out {
    path: PathBuf,
    output: Output,
    /// The first write error; nothing is written after it.
    failure: Option<io::Error>,
}

enum Output {
    File(Replacement),
    /// A pipe, a terminal, or the file of standard output; opened when the first line is written.
    Stream(Option<BufWriter<File>>),
}

impl Out {
    fn create(path: &Path) -> Result<Self, CommandError> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_file = (!target.exists() || target.is_file()) && !is_standard_output(&target);
        let file = is_file.then(|| Replacement::create(&target)).transpose();
        let file = file.map_err(|source| CommandError::WriteFile {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: target,
            output: match file {
                Some(file) => Output::File(file),
                None => Output::Stream(None),
            },
            failure: None,
        })
    }

    /// Writes a line; [`finish`](Self::finish) returns any error.
    fn write(&mut self, line: &str) {
        if self.failure.is_none() {
            self.failure = self.try_write(line).err();
        }
    }

    fn try_write(&mut self, line: &str) -> io::Result<()> {
        match &mut self.output {
            Output::File(file) => writeln!(file.output, "{line}"),
            Output::Stream(stream) => {
                let stream = match stream {
                    Some(stream) => stream,
                    None => stream.insert(BufWriter::new(open_stream(&self.path)?)),
                };
                writeln!(stream, "{line}")
            }
        }
    }

    fn finish(mut self) -> Result<(), CommandError> {
        let written = match (self.failure.take(), self.output) {
            (Some(failure), _) => Err(failure),
            (None, Output::File(file)) => file.finish(),
            (None, Output::Stream(Some(mut stream))) => stream.flush(),
            (None, Output::Stream(None)) => Ok(()),
        };
        let path = self.path;
        written.map_err(|source| CommandError::WriteFile { path, source })
    }
}

/// Returns whether a path is standard output, such as `/dev/stdout`, or the file that it is redirected to. Replacing
/// that file would lose the scores.
fn is_standard_output(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let output = io::stdout().as_fd().try_clone_to_owned();
        let output = output.and_then(|output| File::from(output).metadata());
        let id = |it: fs::Metadata| (it.dev(), it.ino());
        let (path, output) = (fs::metadata(path).map(id), output.map(id));
        matches!((path, output), (Ok(path), Ok(output)) if path == output)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Opens a file that is not replaced. Standard output is duplicated, so that translations and scores do not overwrite
/// each other in a file.
fn open_stream(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if is_standard_output(path) {
        use std::os::fd::AsFd;
        return io::stdout().as_fd().try_clone_to_owned().map(File::from);
    }
    File::create(path)
}
