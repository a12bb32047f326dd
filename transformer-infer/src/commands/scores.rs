//! The flags for metrics, shared by `bleu`, `evaluate` and `compare`; [`Scores`]: the scores of a translation by several
//! metrics, computed from sums over its lines; [`PieceBleu`]: spBLEU, the BLEU of pieces.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use transformer_core::regular_file::{self, MAX_TOKENIZER_BYTES};
use transformer_core::text::sentencepiece::SentencePiece;
use transformer_infer::metrics::{
    Bleu, Case, Chrf, Metric, Normalization, Punctuation, Scripts, Smoothing, Ter, Tokenization,
    add_counts, is_python_space,
};

use super::CommandError;

/// The scores of a translation by several metrics; its lines are not stored.
pub(crate) struct Scores {
    metrics: Vec<Box<dyn Metric>>,
    sums: Vec<Vec<f64>>,
    pub(crate) n_lines: usize,
}

impl Scores {
    pub(crate) fn new(metrics: Vec<Box<dyn Metric>>) -> Self {
        Self {
            sums: vec![Vec::new(); metrics.len()],
            metrics,
            n_lines: 0,
        }
    }

    pub(crate) fn add(&mut self, hypothesis: &str, references: &[String]) {
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        for (metric, sums) in self.metrics.iter().zip(&mut self.sums) {
            add_counts(sums, &metric.counts(hypothesis, &references));
        }
        self.n_lines += 1;
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

/// Settings of the metrics, with sacreBLEU's defaults.
#[derive(Clone, Debug, Args)]
pub(crate) struct ScoreOptions {
    /// Splitting of lines into words for BLEU.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = TokenizeName::V13a)]
    tokenize: TokenizeName,
    /// SentencePiece model that splits lines for `--tokenize flores101` and `flores200`.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenize_model: Option<PathBuf>,
    /// Smoothing of n-gram orders without a match, in BLEU.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = SmoothName::Exp)]
    smooth: SmoothName,
    /// Value for the smoothings floor (0.1) and add-k (1).
    #[arg(long, value_name = "NUMBER", value_parser = not_negative)]
    smooth_value: Option<f64>,
    /// Ignore case, as TER does by default.
    #[arg(long)]
    lowercase: bool,
    /// Print TER as well: edits per hundred words; lower is better.
    #[arg(long)]
    ter: bool,
    #[command(flatten)]
    ter_options: TerOptions,
    /// Number of decimals.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(..=15))]
    width: u8,
}

/// Settings of TER, named as in sacreBLEU.
#[derive(Clone, Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are four flags of the command line, which become enums in `ter`"
)]
struct TerOptions {
    /// Distinguish case in TER.
    #[arg(long, requires = "ter")]
    ter_case_sensitive: bool,
    /// Separate punctuation for TER.
    #[arg(long, requires = "ter")]
    ter_normalized: bool,
    /// Remove punctuation for TER.
    #[arg(long, requires = "ter")]
    ter_no_punct: bool,
    /// Apply the two flags above to Chinese and Japanese as well; normalization makes characters words.
    #[arg(long, requires = "ter")]
    ter_asian_support: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TokenizeName {
    /// As in WMT: ASCII punctuation is separate
    #[value(name = "13a")]
    V13a,
    /// Punctuation and symbols of all scripts are separate
    Intl,
    /// Chinese characters are words, the rest as 13a
    Zh,
    /// Pieces of the SentencePiece model of FLORES-101: spBLEU
    Flores101,
    /// Pieces of the SentencePiece model of FLORES-200: spBLEU
    Flores200,
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
    /// A value added to all orders above the first
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

impl ScoreOptions {
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let has_value = matches!(self.smooth, SmoothName::Floor | SmoothName::AddK);
        if self.smooth_value.is_some() && !has_value {
            return Err(CommandError::SmoothValue);
        }
        match (self.flores(), &self.tokenize_model) {
            (Some(name), None) => Err(CommandError::NoTokenizeModel { name }),
            (None, Some(_)) => Err(CommandError::TokenizeModel),
            _ => Ok(()),
        }
    }

    /// Returns BLEU, these kinds of chrF, and TER with `--ter`.
    pub(crate) fn metrics(&self, chrfs: &[Chrf]) -> Result<Vec<Box<dyn Metric>>, CommandError> {
        let bleu: Box<dyn Metric> = match (self.flores(), &self.tokenize_model) {
            (Some(name), Some(path)) => Box::new(PieceBleu::open(name, path, self.bleu())?),
            _ => Box::new(self.bleu()),
        };
        let mut metrics = vec![bleu];
        for chrf in chrfs {
            let case = self.case();
            metrics.push(Box::new(Chrf { case, ..*chrf }));
        }
        if self.ter {
            metrics.push(Box::new(self.ter()));
        }
        Ok(metrics)
    }

    /// Returns sacreBLEU's name of the tokenization, if it is one by a SentencePiece model.
    fn flores(&self) -> Option<&'static str> {
        match self.tokenize {
            TokenizeName::Flores101 => Some("flores101"),
            TokenizeName::Flores200 => Some("flores200"),
            _ => None,
        }
    }

    fn bleu(&self) -> Bleu {
        Bleu {
            tokenization: match self.tokenize {
                TokenizeName::V13a => Tokenization::V13a,
                TokenizeName::Intl => Tokenization::Intl,
                TokenizeName::Zh => Tokenization::Zh,
                TokenizeName::Char => Tokenization::Char,
                TokenizeName::Flores101 | TokenizeName::Flores200 | TokenizeName::None => {
                    Tokenization::None
                }
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

    fn ter(&self) -> Ter {
        let options = &self.ter_options;
        let mut ter = Ter::default();
        if options.ter_normalized {
            ter.normalization = Normalization::Tercom;
        }
        if options.ter_no_punct {
            ter.punctuation = Punctuation::Drop;
        }
        if options.ter_asian_support {
            ter.scripts = Scripts::Asian;
        }
        if options.ter_case_sensitive {
            ter.case = Case::Mixed;
        }
        ter
    }

    pub(crate) fn width(&self) -> usize {
        usize::from(self.width)
    }

    fn case(&self) -> Case {
        if self.lowercase {
            Case::Lower
        } else {
            Case::Mixed
        }
    }
}

/// BLEU of the pieces of a SentencePiece model, as sacreBLEU's tokenizations `flores101` and `flores200` compute it.
///
/// Goyal et al., "The FLORES-101 Evaluation Benchmark", §3.2: <https://arxiv.org/abs/2106.03193>.
#[derive(Debug)]
pub(super) struct PieceBleu {
    name: &'static str,
    model: SentencePiece,
    /// The settings; the tokenization is [`Tokenization::None`], of lines that are split.
    bleu: Bleu,
}

impl PieceBleu {
    pub(super) fn open(name: &'static str, path: &Path, bleu: Bleu) -> Result<Self, CommandError> {
        let file = regular_file::read(path, MAX_TOKENIZER_BYTES);
        let file = file.map_err(|source| CommandError::OpenFile {
            path: path.to_owned(),
            source,
        })?;
        let wrong = |problem: String| CommandError::WrongTokenizeModel {
            path: path.to_owned(),
            problem,
        };
        let model = SentencePiece::parse(&file).map_err(|error| wrong(error.to_string()))?;
        if model.has_byte_fallback() {
            return Err(wrong(
                "it splits unknown characters into bytes, which those of FLORES do not".to_owned(),
            ));
        }
        Ok(Self { name, model, bleu })
    }

    /// Splits a line into pieces, with spaces between them.
    fn split(&self, line: &str) -> String {
        let line = line.trim_end_matches(is_python_space);
        let pieces = match self.bleu.case {
            Case::Lower => self.model.split(&line.to_lowercase()),
            Case::Mixed => self.model.split(line),
        };
        let pieces: Vec<String> = pieces.into_iter().map(|it| it.piece).collect();
        pieces.join(" ")
    }
}

impl Metric for PieceBleu {
    fn name(&self) -> String {
        self.bleu.name()
    }

    fn signature(&self, n_references: usize) -> String {
        let named = |name: &str| format!("|tok:{name}|");
        let signature = self.bleu.signature(n_references);
        signature.replace(&named(Tokenization::None.name()), &named(self.name))
    }

    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let references: Vec<String> = references.iter().map(|line| self.split(line)).collect();
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        // Normalization may write capitals, which count as such: sacreBLEU changes the case before it.
        let bleu = Bleu {
            case: Case::Mixed,
            ..self.bleu
        };
        bleu.counts(&self.split(hypothesis), &references)
    }

    fn score_of(&self, sums: &[f64]) -> f64 {
        self.bleu.score_of(sums)
    }

    fn describe(&self, sums: &[f64], digits: usize) -> String {
        self.bleu.describe(sums, digits)
    }
}
