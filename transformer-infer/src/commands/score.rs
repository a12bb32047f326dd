//! `transformer-infer score`: the log-probabilities of given translations.

use std::io::{self, Write};
use std::path::PathBuf;
use std::slice;

use clap::Args;
use serde::Serialize;
use transformer_infer::{BatchLimits, OpenOptions, PairScore, TotalScore, Translator};

use super::{
    CommandError, LanguageFlags, LineFlags, ParallelLines, Progress, at_least_one, open, tell,
};

/// Number of pairs that are scored before they are written.
const PAIRS_AT_ONCE: usize = 2000;

/// Scores given translations: prints the log-probability of each, one per line.
///
/// The logarithm is natural, and EOS is included. A blank line is scored as EOS alone. The total and the
/// perplexity per token are printed to standard error.
#[derive(Debug, Args)]
pub(crate) struct Score {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    #[command(flatten)]
    languages: LanguageFlags,
    /// File with the sources, one per line, plain or gzip; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// File with the translations to score, one for each source.
    #[arg(long, value_name = "FILE")]
    tgt: PathBuf,
    /// Print after each score a tab and the log-probabilities of its tokens, EOS last.
    #[arg(long)]
    per_token: bool,
    /// Print one JSON object for each pair; with --per-token, including the tokens.
    #[arg(long)]
    json: bool,
    /// Maximum number of tokens of either side in a batch, padding included.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().batch_tokens, value_parser = at_least_one())]
    batch_tokens: usize,
    /// Maximum length of a line of either side, in tokens; the rest is neither read nor scored, with a warning.
    #[arg(long, value_name = "N", default_value_t = BatchLimits::default().max_src_len, value_parser = at_least_one())]
    max_len: usize,
    #[command(flatten)]
    lines: LineFlags,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
}

/// The output of `--json` for one pair.
#[derive(Debug, Serialize)]
struct Line<'a> {
    src: &'a str,
    tgt: &'a str,
    log_prob: f64,
    n_tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<Token>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Debug, Serialize)]
struct Token {
    token: String,
    log_prob: f64,
}

impl Score {
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        let paths = [self.src.as_path(), &self.tgt];
        let (mut rows, n_rows) = ParallelLines::open_checked(&paths, "translation", self.lines)?;
        let limits = BatchLimits {
            batch_tokens: self.batch_tokens,
            max_src_len: self.max_len,
            max_tgt_len: Some(self.max_len.saturating_add(1)), // and EOS
        };
        let options = OpenOptions {
            as_module: true,
            ..OpenOptions::default()
        };
        let translator = open(
            slice::from_ref(&self.model),
            backend,
            limits,
            &options,
            !self.quiet,
        )?;
        let translator = self.languages.apply(translator)?;
        let mut output = io::BufWriter::new(io::stdout().lock());
        let mut total = TotalScore::default();
        let progress = Progress::new(n_rows, !self.quiet);
        loop {
            let chunk = rows.next_rows(PAIRS_AT_ONCE)?;
            if chunk.is_empty() {
                break;
            }
            let pairs: Vec<(&str, &str)> = chunk.iter().map(|row| (&*row[0], &*row[1])).collect();
            let n_before = total.n_pairs;
            let scores = translator.score(&pairs);
            let scores = scores.map_err(|error| error.with_line(|line| n_before + line))?;
            for (pair, score) in pairs.iter().zip(&scores) {
                total.add(score);
                self.warn(total.n_pairs, score);
                self.write(&translator, *pair, score, &mut output)
                    .map_err(CommandError::output)?;
            }
            output.flush().map_err(CommandError::output)?;
            progress.show(total.n_pairs);
        }
        drop(progress);
        self.summarize(&total);
        Ok(())
    }

    fn write(
        &self,
        translator: &Translator,
        (src, tgt): (&str, &str),
        score: &PairScore,
        output: &mut impl Write,
    ) -> io::Result<()> {
        if self.json {
            let tokenizer = translator.tokenizers().tgt();
            let tokens = score.ids.iter().zip(&score.log_probs);
            let tokens = tokens.map(|(id, log_prob)| Token {
                token: tokenizer.token(*id).unwrap_or_default(),
                log_prob: *log_prob,
            });
            let line = Line {
                src,
                tgt,
                log_prob: score.log_prob(),
                n_tokens: score.ids.len(),
                tokens: self.per_token.then(|| tokens.collect()),
                warning: warning(score),
            };
            serde_json::to_writer(&mut *output, &line)?;
            return writeln!(output);
        }
        write!(output, "{:.4}", score.log_prob())?;
        if self.per_token {
            let tokens = score.log_probs.iter().map(|it| format!("{it:.4}"));
            let tokens: Vec<String> = tokens.collect();
            write!(output, "\t{}", tokens.join(" "))?;
        }
        writeln!(output)
    }

    fn warn(&self, line: usize, score: &PairScore) {
        if let Some(warning) = warning(score).filter(|_| !self.quiet) {
            tell(format_args!("warning: line {line}: {warning}"));
        }
    }

    fn summarize(&self, total: &TotalScore) {
        let TotalScore {
            n_pairs,
            n_tokens,
            log_prob,
        } = *total;
        if self.quiet || n_pairs == 0 {
            return;
        }
        let perplexity = total.perplexity();
        tell(format_args!(
            "{n_pairs} pairs, {n_tokens} tokens: log-probability {log_prob:.4}, perplexity \
             {perplexity:.4}"
        ));
    }
}

/// Returns a warning if a part of the pair was not scored.
fn warning(score: &PairScore) -> Option<String> {
    let sides = [
        (score.n_src_cut, "source tokens"),
        (score.n_tgt_cut, "target tokens (EOS included)"),
    ];
    let cut = sides.into_iter().filter(|(n_cut, _)| *n_cut > 0);
    let cut: Vec<String> = cut
        .map(|(n_cut, side)| format!("the last {n_cut} {side}"))
        .collect();
    let text = format!(
        "{} are beyond the limit (--max-len, or the positions of the model) and were left out",
        cut.join(" and ")
    );
    (!cut.is_empty()).then_some(text)
}
