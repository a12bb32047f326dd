//! `transformer-infer evaluate`: translates a test set and scores the translations.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;
use tempfile::NamedTempFile;
use transformer_infer::metrics::{Chrf, Metric};
use transformer_infer::search::{LengthLimit, LengthPenalty, Search};
use transformer_infer::{BatchLimits, Input, Translation, Translator};

use super::{
    CommandError, LineWarnings, Progress, ScoreOptions, SpeedFlags, at_least_one, check_file,
    on_one_line, open, print_scores, read_parallel, unfinished,
};

/// Number of lines of similar length that are translated before progress is shown.
const LINES_AT_ONCE: usize = 1000;

/// Translates a test set and scores the translations: BLEU and chrF, equal to sacreBLEU's.
///
/// It combines `translate` and `bleu`. The time, and lines and tokens per second, are printed to standard error.
#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// File with the sources, one per line, plain or gzip; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// File with the references, one per line; repeat the flag for further references.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
    /// File to write the translations to.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of hypotheses kept at each step; 1 is greedy search, the fastest [default: the model's, or
    /// 4].
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// How scores are normalized by length: none, gnmt:ALPHA or power:ALPHA [default: the
    /// model's, or gnmt:0.6].
    #[arg(long, value_name = "KIND")]
    length_penalty: Option<LengthPenalty>,
    /// Most tokens to generate, as a number or as `1x+50`, where x is the number of source tokens [default:
    /// the model's, or 1x+50].
    #[arg(long, value_name = "LIMIT")]
    max_len: Option<LengthLimit>,
    /// Most source tokens in a batch, padding included, times the beam size.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().batch_tokens, value_parser = at_least_one())]
    batch_tokens: usize,
    /// Longest line, in tokens; the rest is not translated, with a warning.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().max_src_len, value_parser = at_least_one())]
    max_src_len: usize,
    #[command(flatten)]
    speed: SpeedFlags,
    #[command(flatten)]
    options: ScoreOptions,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
}

impl Evaluate {
    /// Reads the files, translates, and prints the scores.
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        let options = &self.options;
        options.check()?;
        // The model's own settings are checked when it is loaded.
        self.search(&Search::default()).validate()?;
        match self.out.as_deref() {
            Some(out) if out == Path::new("-") => return Err(CommandError::OutIsDash),
            Some(out) => check_file(out)?,
            None => {}
        }
        let references = self.references.iter().map(PathBuf::as_path);
        let paths: Vec<&Path> = [self.src.as_path()].into_iter().chain(references).collect();
        let mut files = read_parallel(&paths, "reference")?;
        let sources = files.remove(0);
        if sources.is_empty() {
            return Err(CommandError::NothingToScore {
                path: self.src.clone(),
            });
        }
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
        let inputs = self.references.iter().chain([&self.src]);
        let is_same = |input: &PathBuf| {
            let out = self.out.as_ref().and_then(|out| fs::canonicalize(out).ok());
            out.is_some() && fs::canonicalize(input).ok() == out
        };
        if let Some(input) = inputs.into_iter().find(|input| is_same(input)) {
            return Err(CommandError::OutIsInput {
                path: input.clone(),
            });
        }
        // An error of the output file is reported before the work and not after it.
        let out = self.out.as_deref().map(Out::create).transpose()?;
        let search = self.search(translator.search());
        search.validate()?;
        search.check_lengths(self.max_src_len)?;
        let translations = self.translate(&translator, &sources, &search)?;
        let lines: Vec<String> = translations
            .iter()
            .map(|translation| on_one_line(translation.text()))
            .collect();
        let chrf = options.chrf(Chrf::default());
        let mut metrics: Vec<Box<dyn Metric>> = vec![Box::new(options.bleu()), Box::new(chrf)];
        if let Some(ter) = options.ter() {
            metrics.push(Box::new(ter));
        }
        // The scores are printed even if the file cannot be written.
        let printed = print_scores(&metrics, &lines, &files, options.width());
        if let Some(out) = out {
            out.write(&lines)?;
        }
        printed
    }

    /// Returns the search of the flags; `defaults` apply where a flag is absent.
    fn search(&self, defaults: &Search) -> Search {
        Search {
            beam_size: self.beam.unwrap_or(defaults.beam_size),
            length_penalty: self.length_penalty.unwrap_or(defaults.length_penalty),
            max_len: self.max_len.unwrap_or(defaults.max_len),
            // One translation is scored, whatever the model's manifest says.
            n_best: 1,
            sampling: None,
            ..defaults.clone()
        }
    }

    /// Translates all lines, those of similar length together.
    fn translate(
        &self,
        translator: &Translator,
        sources: &[String],
        search: &Search,
    ) -> Result<Vec<Translation>, CommandError> {
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|line| std::cmp::Reverse(sources[*line].len()));
        let mut translations: Vec<Option<Translation>> = vec![None; sources.len()];
        let mut n_tokens = 0;
        let progress = Progress::new(sources.len(), !self.quiet);
        for (number, chunk) in order.chunks(LINES_AT_ONCE).enumerate() {
            let input = |line: &usize| Input {
                text: &sources[*line],
                index: *line as u64,
                ..Input::default()
            };
            let inputs: Vec<Input<'_>> = chunk.iter().map(input).collect();
            let translated = translator
                .translate_inputs(&inputs, search, &mut |_| ())
                .map_err(|error| error.with_line(|line| chunk[line - 1] + 1))?;
            for (line, translation) in chunk.iter().zip(translated) {
                let best = translation.candidates.first();
                n_tokens += best.map_or(0, |best| best.hypothesis.ids.len() + 1);
                translations[*line] = Some(translation);
            }
            progress.show(number * LINES_AT_ONCE + chunk.len());
        }
        let seconds = progress.elapsed().as_secs_f64();
        drop(progress);
        let translations: Vec<Translation> = translations.into_iter().flatten().collect();
        if !self.quiet {
            let mut warnings = LineWarnings::new(true);
            warnings.check_positions(self.max_len, translator);
            for (line, translation) in (1..).zip(&translations) {
                warnings.print(line, translation.warning);
            }
            report(translations.len(), n_tokens, seconds);
        }
        Ok(translations)
    }
}

/// Prints the speed to standard error.
fn report(n_lines: usize, n_tokens: usize, seconds: f64) {
    let _ = writeln!(
        io::stderr(),
        "{n_lines} lines, {n_tokens} tokens in {seconds:.1} s: {:.0} lines and {:.0} tokens per second",
        n_lines as f64 / seconds,
        n_tokens as f64 / seconds
    );
}

/// The output file, which is replaced when all translations are complete.
struct Out {
    path: PathBuf,
    /// The temporary file; `None` if the path is a pipe or a terminal.
    unfinished: Option<NamedTempFile>,
}

impl Out {
    fn create(path: &Path) -> Result<Self, CommandError> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_file = !target.exists() || target.is_file();
        let unfinished = is_file.then(|| unfinished(&target)).transpose();
        let unfinished = unfinished.map_err(|source| CommandError::WriteFile {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: target,
            unfinished,
        })
    }

    fn write(self, lines: &[String]) -> Result<(), CommandError> {
        let path = self.path.clone();
        self.try_write(lines)
            .map_err(|source| CommandError::WriteFile { path, source })
    }

    fn try_write(self, lines: &[String]) -> io::Result<()> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        match self.unfinished {
            Some(mut file) => {
                file.write_all(text.as_bytes())?;
                file.as_file().sync_all()?;
                file.persist(&self.path)?;
                Ok(())
            }
            None => fs::write(&self.path, text),
        }
    }
}
