//! `transformer-infer bleu`: what a translation is worth beside its reference.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use transformer_infer::metrics::{Bleu, Case, Chrf, Smoothing, Tokenization};

use super::{CommandError, read_lines};

/// Scores a translation: BLEU, equal to sacreBLEU's.
///
/// Files may be plain or gzip, and `-` is standard input. What is printed names all that must be known
/// to get the same number elsewhere.
#[derive(Debug, Args)]
#[command(name = "bleu")]
pub(crate) struct BleuCommand {
    /// File with the translations, one a line.
    #[arg(long, value_name = "FILE")]
    hyp: PathBuf,
    /// File with the references, one a line; give it again for each further reference.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
    /// How lines are cut into words.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = TokenizeName::V13a)]
    tokenize: TokenizeName,
    /// What happens to n-gram orders without a match.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = SmoothName::Exp)]
    smooth: SmoothName,
    /// Number for the smoothings floor (0.1) and add-k (1).
    #[arg(long, value_name = "NUMBER", value_parser = not_negative)]
    smooth_value: Option<f64>,
    /// Compare in lower case.
    #[arg(long)]
    lowercase: bool,
    /// Print chrF2 and chrF2++ as well.
    #[arg(long)]
    chrf: bool,
    /// Digits after the point.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(..=15))]
    width: u8,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TokenizeName {
    /// As in WMT: ASCII punctuation apart
    #[value(name = "13a")]
    V13a,
    /// Punctuation and symbols of all scripts apart
    Intl,
    /// Every character is a word
    Char,
    /// At white space only
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SmoothName {
    /// Half a match for the first such order, a quarter for the next
    Exp,
    /// A small number of matches
    Floor,
    /// A number added to all orders above the first
    AddK,
    /// The score is zero
    None,
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..f64::INFINITY).contains(&number) => Ok(number),
        _ => Err("choose a number of at least 0".to_owned()),
    }
}

impl BleuCommand {
    /// Reads the files and prints the scores.
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        let files = self.references.iter().chain([&self.hyp]);
        if files.filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(CommandError::StandardInputTwice);
        }
        if self.smooth_value.is_some()
            && !matches!(self.smooth, SmoothName::Floor | SmoothName::AddK)
        {
            return Err(CommandError::SmoothValue);
        }
        let hypotheses = read_lines(&self.hyp)?;
        let mut references = Vec::new();
        for path in &self.references {
            let lines = read_lines(path)?;
            if lines.len() != hypotheses.len() {
                return Err(CommandError::LineCounts {
                    hyp: self.hyp.clone(),
                    n_hyp: hypotheses.len(),
                    reference: path.clone(),
                    n_ref: lines.len(),
                });
            }
            references.push(lines);
        }
        if hypotheses.is_empty() {
            return Err(CommandError::NothingToScore {
                hyp: self.hyp.clone(),
            });
        }
        self.print(&hypotheses, &references)
            .map_err(CommandError::Write)
    }

    fn print(&self, hypotheses: &[String], references: &[Vec<String>]) -> io::Result<()> {
        let pairs = || {
            let of_line = |line: usize| references.iter().map(move |reference| &reference[line]);
            let lines = hypotheses.iter().enumerate();
            lines.map(move |(line, hypothesis)| (hypothesis, of_line(line)))
        };
        let (n_references, width) = (references.len(), usize::from(self.width));
        let mut output = io::stdout().lock();
        let bleu = self.bleu();
        let score = bleu.corpus_score(pairs());
        let signature = bleu.signature(n_references);
        writeln!(output, "BLEU|{signature} = {score:.width$}")?;
        if self.chrf {
            for chrf in [Chrf::default(), Chrf::plus_plus()] {
                let chrf = Chrf {
                    case: self.case(),
                    ..chrf
                };
                let (name, score) = (chrf.name(), chrf.corpus_score(pairs()));
                let signature = chrf.signature(n_references);
                writeln!(output, "{name}|{signature} = {score:.width$}")?;
            }
        }
        Ok(())
    }

    fn bleu(&self) -> Bleu {
        Bleu {
            tokenization: match self.tokenize {
                TokenizeName::V13a => Tokenization::V13a,
                TokenizeName::Intl => Tokenization::Intl,
                TokenizeName::Char => Tokenization::Char,
                TokenizeName::None => Tokenization::None,
            },
            smoothing: match self.smooth {
                SmoothName::Exp => Smoothing::Exp,
                SmoothName::Floor => Smoothing::Floor(self.smooth_value.unwrap_or(0.1)),
                SmoothName::AddK => Smoothing::AddK(self.smooth_value.unwrap_or(1.0)),
                SmoothName::None => Smoothing::None,
            },
            case: self.case(),
            ..Bleu::default()
        }
    }

    fn case(&self) -> Case {
        if self.lowercase {
            Case::Lower
        } else {
            Case::Mixed
        }
    }
}
