//! `transformer-infer translate`: one line in, one line out.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use transformer_core::device::{self, Backend};
use transformer_infer::search::{LengthPenalty, MaxLen, Search};
use transformer_infer::{BatchLimits, Translation, Translator, TranslatorError};

use super::{CommandError, Lines, STANDARD_INPUT};

/// Number of lines that are read, translated and written at once.
const LINES_AT_ONCE: usize = 1000;

/// Translates text, line by line.
///
/// The text is what follows the flags, each argument being one line, or else standard input. One line
/// comes out for each line that goes in, in the same order; an empty line stays empty. At a terminal
/// each line is translated when it is entered.
#[derive(Debug, Args)]
pub(crate) struct Translate {
    /// Directory of the model, or of the training run that made it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Number of hypotheses followed at once; 1 is greedy search, the fastest.
    #[arg(long, value_name = "N", default_value_t = 4)]
    beam: usize,
    /// How hypotheses of different lengths compare: none, gnmt:ALPHA or power:ALPHA.
    #[arg(long, value_name = "KIND", default_value_t)]
    length_penalty: LengthPenalty,
    /// Most tokens to generate, as a number or as `1x+50`, where x is the number of source tokens.
    #[arg(long, value_name = "LIMIT", default_value_t)]
    max_len: MaxLen,
    /// Number of translations of each line, best first: always N output lines for one input line,
    /// empty ones where there are not so many. With --json, one list for each input line.
    #[arg(long, value_name = "N", default_value_t = 1)]
    n_best: usize,
    /// Print before each translation its score and a tab.
    ///
    /// The score is the logarithm of the probability divided by the length penalty.
    #[arg(long)]
    scores: bool,
    /// Print one JSON object for each line: source, translations, scores, warning.
    #[arg(long)]
    json: bool,
    /// Most source tokens in a batch, padding included, times the beam size: more is faster up to a
    /// point and needs more memory; the translation is the same.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().batch_tokens)]
    batch_tokens: usize,
    /// Longest line, in tokens; what is beyond is not translated, with a warning.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().max_src_len)]
    max_src_len: usize,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
    /// Text to translate.
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
}

/// Holds what `--json` prints for one line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    src: &'a str,
    translations: Vec<Scored<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Debug, Serialize)]
struct Scored<'a> {
    text: &'a str,
    score: f64,
    log_prob: f64,
    finished: bool,
}

impl Translate {
    /// Translates the arguments, or standard input.
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        let search = self.search();
        search.validate()?;
        let (backend, device) = device::choose(backend)?;
        let limits = BatchLimits {
            batch_tokens: self.batch_tokens,
            max_src_len: self.max_src_len,
            max_tgt_len: None,
        };
        let translator = Translator::open(&self.model, &device)?.with_limits(limits);
        self.report(&translator, backend);
        let session = Session {
            command: self,
            translator: &translator,
            search: &search,
        };
        let mut output = io::BufWriter::new(io::stdout().lock());
        if self.text.is_empty() {
            let input = io::stdin().lock();
            let n_at_once = if io::stdin().is_terminal() {
                1
            } else {
                LINES_AT_ONCE
            };
            session.translate_stream(input, &mut output, n_at_once)
        } else {
            session.translate_lines(&self.text, 1, &mut output)
        }
    }

    fn search(&self) -> Search {
        Search {
            beam_size: self.beam,
            length_penalty: self.length_penalty,
            n_best: self.n_best,
            max_len: self.max_len,
        }
    }

    /// Says what is about to run, so that nobody takes one backend for another.
    fn report(&self, translator: &Translator, backend: Backend) {
        if self.quiet {
            return;
        }
        let config = translator.config();
        let layers = format!(
            "{}+{} layers",
            config.n_encoder_layers, config.n_decoder_layers
        );
        let sizes = format!(
            "d_model {}, vocabulary {}",
            config.d_model, config.tgt_vocab_size
        );
        let model = self.model.display();
        // A closed standard error is no reason not to translate.
        let _ = writeln!(
            io::stderr(),
            "backend {backend}, model {model} ({layers}, {sizes})"
        );
    }
}

/// Holds what all lines of one call share.
struct Session<'a> {
    command: &'a Translate,
    translator: &'a Translator,
    search: &'a Search,
}

impl Session<'_> {
    /// Reads, translates and writes `n_at_once` lines at a time, so that any number fits in memory.
    fn translate_stream(
        &self,
        input: impl BufRead,
        output: &mut impl Write,
        n_at_once: usize,
    ) -> Result<(), CommandError> {
        let mut lines = Lines::new(input, STANDARD_INPUT.to_owned());
        let mut n_before = 0;
        loop {
            let mut some = Vec::new();
            let mut failure = None;
            for line in lines.by_ref().take(n_at_once) {
                match line {
                    Ok(line) => some.push(line),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            // What precedes an unreadable line is translated before the error ends the program.
            self.translate_lines(&some, n_before + 1, output)?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            if some.is_empty() {
                return Ok(());
            }
            n_before += some.len();
        }
    }

    /// Translates and writes lines, the first of which is called `first_line` in messages.
    fn translate_lines(
        &self,
        lines: &[String],
        first_line: usize,
        output: &mut impl Write,
    ) -> Result<(), CommandError> {
        let translated = self.translator.translate(lines, self.search);
        let translations = translated.map_err(|error| match error {
            TranslatorError::NotANumber { line } => TranslatorError::NotANumber {
                line: first_line + line - 1,
            },
            other => other,
        })?;
        for (index, (line, translation)) in lines.iter().zip(&translations).enumerate() {
            if let Some(warning) = translation.warning.filter(|_| !self.command.quiet) {
                let line = first_line + index;
                let _ = writeln!(io::stderr(), "warning: line {line}: {warning}");
            }
            self.write(line, translation, output)
                .map_err(CommandError::Write)?;
        }
        output.flush().map_err(CommandError::Write)
    }

    fn write(
        &self,
        src: &str,
        translation: &Translation,
        output: &mut impl Write,
    ) -> io::Result<()> {
        if self.command.json {
            let scored = translation.candidates.iter().map(|candidate| Scored {
                text: &candidate.text,
                score: candidate.hypothesis.score,
                log_prob: candidate.hypothesis.log_prob,
                finished: candidate.hypothesis.finished,
            });
            let warning = translation.warning.map(|warning| warning.to_string());
            let line = Line {
                src,
                translations: scored.collect(),
                warning,
            };
            serde_json::to_writer(&mut *output, &line)?;
            return writeln!(output);
        }
        for rank in 0..self.search.n_best {
            let candidate = translation.candidates.get(rank);
            if self.command.scores {
                let score = candidate.map_or(f64::NEG_INFINITY, |it| it.hypothesis.score);
                write!(output, "{score:.4}\t")?;
            }
            // A translation is one line, whatever a tokenizer spells.
            let text = candidate.map_or("", |candidate| candidate.text.as_str());
            writeln!(output, "{}", text.replace(['\n', '\r'], " "))?;
        }
        Ok(())
    }
}
