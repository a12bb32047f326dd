//! [`PieceBleu`]: spBLEU, the BLEU of pieces.

use std::path::Path;

use transformer_core::regular_file::{self, MAX_TOKENIZER_BYTES};
use transformer_core::text::sentencepiece::SentencePiece;
use transformer_infer::metrics::{Bleu, Case, Metric, Tokenization, is_python_space};

use super::CommandError;

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
    /// Reads the model of a tokenization.
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
