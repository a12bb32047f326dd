//! The flags for metrics, shared by `bleu`, `evaluate` and `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use transformer_infer::metrics::{
    Bleu, Case, Chrf, Metric, Normalization, Punctuation, Scripts, Smoothing, Ter, Tokenization,
};

use super::CommandError;
use super::piece_bleu::PieceBleu;

/// Settings of the metrics, with sacreBLEU's defaults.
#[derive(Clone, Debug, Args)]
pub(crate) struct ScoreOptions {
    /// Splitting of lines into words for BLEU.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = TokenizeName::V13a)]
    tokenize: TokenizeName,
    /// SentencePiece model that splits lines for `--tokenize flores101` and `flores200`.
    #[arg(long, value_name = "FILE")]
    tokenize_model: Option<PathBuf>,
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
    /// Checks that the flags do not contradict each other.
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

    /// Returns the file of the tokenization's model.
    pub(crate) fn tokenize_model(&self) -> Option<&PathBuf> {
        self.tokenize_model.as_ref()
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
        Ter {
            normalization: if options.ter_normalized {
                Normalization::Tercom
            } else {
                Normalization::None
            },
            punctuation: if options.ter_no_punct {
                Punctuation::Drop
            } else {
                Punctuation::Keep
            },
            scripts: if options.ter_asian_support {
                Scripts::Asian
            } else {
                Scripts::Western
            },
            case: if options.ter_case_sensitive {
                Case::Mixed
            } else {
                Case::Lower
            },
        }
    }

    /// Returns the number of decimals.
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
