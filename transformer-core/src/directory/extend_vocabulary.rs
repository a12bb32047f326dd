//! Writing a copy of a model with more pieces in its vocabulary.

use std::path::{Path, PathBuf};

use burn::store::RecordError;
use burn::tensor::TensorData;

use super::stored_weights::{self, NamedTensor};
use super::{DirectoryError, ModelDirectory, ModelParts, Precision, Tokenizers};
use crate::config::{ConfigError, Place, TransformerConfig, Tying};
use crate::text::{
    AddedToken, ExtendError, ExtendedTokenizer, N_SPECIAL, PiecePosition, Tokenizer,
};

/// Pieces to add, and the vocabulary that they are added to.
#[derive(Clone, Copy, Debug)]
pub struct NewPieces<'a> {
    /// The pieces, without a mark of the start of a word.
    pub pieces: &'a [String],
    /// The position in a word at which they are found.
    pub position: PiecePosition,
    /// The vocabulary to extend.
    pub side: VocabularySide,
}

/// A vocabulary of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VocabularySide {
    /// The vocabularies of source and target, or their joint one.
    Both,
    /// The vocabulary of the source.
    Src,
    /// The vocabulary of the target.
    Tgt,
}

/// The tokens that were added to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedVocabulary {
    /// New tokens of the source.
    pub src: Vec<AddedToken>,
    /// New tokens of the target; the same as those of the source if there is one vocabulary.
    pub tgt: Vec<AddedToken>,
}

/// Error of extending the vocabulary of a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ExtendVocabularyError {
    #[error(
        "`{path}` is stored in {found}, and cannot be trained further; give the model as it was trained"
    )]
    Reduced { path: PathBuf, found: Precision },
    #[error("source and target of `{path}` share their vocabulary; leave --side out")]
    SharedVocabulary { path: PathBuf },
    /// A piece cannot be added.
    #[error(transparent)]
    Piece(#[from] ExtendError),
    /// Both tokenizers write a piece differently, but share their embeddings; or the vocabulary gets too large.
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("`{path}` does not hold the weights of a model; restore the file, or train again")]
    Weights { path: PathBuf, source: RecordError },
    /// The model cannot be read or written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
}

impl ModelDirectory {
    /// Writes a copy of the model with more pieces in its vocabulary, to be trained further.
    ///
    /// The vector of a new token is the mean of the vectors of the tokens that spelled it before, and so is its bias; a
    /// token of unknown characters gets the mean of all. So the logit of a new token is never above the largest of the
    /// others, and greedy search translates text without new pieces as before.
    ///
    /// # Errors
    ///
    /// Returns an [`ExtendVocabularyError`] if a piece cannot be added, if the model is in reduced precision, or if
    /// reading or writing fails.
    pub fn write_extended(
        &self,
        path: impl AsRef<Path>,
        new: &NewPieces<'_>,
    ) -> Result<ExtendedVocabulary, ExtendVocabularyError> {
        let found = self.manifest().precision;
        if found != Precision::F32 {
            let path = self.path().to_owned();
            return Err(ExtendVocabularyError::Reduced { path, found });
        }
        let (tokenizers, added) = self.extended_tokenizers(new)?;
        let config = TransformerConfig {
            src_vocab_size: tokenizers.src().vocab_size(),
            tgt_vocab_size: tokenizers.tgt().vocab_size(),
            ..self.config().clone()
        };
        config.validate()?;
        tokenizers.check_tying(&config)?;
        let not_weights = |source| ExtendVocabularyError::Weights {
            path: self.weights_path(),
            source,
        };
        let tensors = self.read_weights()?.map_err(not_weights)?;
        let tensors =
            tensors
                .into_iter()
                .map(|tensor| match rows_of(&tensor.0, config.tying, &added) {
                    Some(rows) => with_rows(tensor, &rows),
                    None => tensor,
                });
        let weights = stored_weights::pack(tensors.collect()).map_err(not_weights)?;
        let mut training = self.manifest().training.clone();
        if let Some(training) = training.as_object_mut() {
            let n_added = [added.src.len(), added.tgt.len()];
            training.insert("added_tokens".to_owned(), serde_json::json!(n_added));
        }
        let parts = ModelParts {
            config: &config,
            tokenizers: &tokenizers,
            weights: &weights,
            training,
        };
        Self::write(path, &parts)?;
        Ok(added)
    }

    fn extended_tokenizers(
        &self,
        new: &NewPieces<'_>,
    ) -> Result<(Tokenizers, ExtendedVocabulary), ExtendVocabularyError> {
        let NewPieces {
            pieces,
            position,
            side,
        } = *new;
        let is_shared = match self.tokenizers() {
            Tokenizers::Joint(_) => true,
            Tokenizers::Separate { .. } => self.config().tying == Tying::All,
        };
        if is_shared && side != VocabularySide::Both {
            let path = self.path().to_owned();
            return Err(ExtendVocabularyError::SharedVocabulary { path });
        }
        let extended = |tokenizer: &Tokenizer, other_side| match side == other_side {
            true => Ok((tokenizer.clone(), Vec::new())),
            false => {
                let extended = tokenizer.extended(pieces, position);
                extended.map(|ExtendedTokenizer { tokenizer, added }| (tokenizer, added))
            }
        };
        let (tokenizers, src, tgt) = match self.tokenizers() {
            Tokenizers::Joint(joint) => {
                let ExtendedTokenizer { tokenizer, added } = joint.extended(pieces, position)?;
                (Tokenizers::Joint(tokenizer), added.clone(), added)
            }
            Tokenizers::Separate { src, tgt } => {
                let (src, of_src) = extended(src, VocabularySide::Tgt)?;
                let (tgt, of_tgt) = extended(tgt, VocabularySide::Src)?;
                (Tokenizers::Separate { src, tgt }, of_src, of_tgt)
            }
        };
        Ok((tokenizers, ExtendedVocabulary { src, tgt }))
    }
}

/// Returns, for each new row of a tensor, the rows that it is the mean of; `None` if the tensor does not have a row for
/// each token.
fn rows_of(name: &str, tying: Tying, added: &ExtendedVocabulary) -> Option<Vec<Vec<u32>>> {
    let ExtendedVocabulary { src, tgt } = added;
    let parts = |tokens: &[AddedToken]| tokens.iter().map(|it| it.parts.clone()).collect();
    match Place::named(name)? {
        // With one matrix, a logit belongs to the same tokens as its vector.
        Place::SrcVocabulary | Place::OutputBias if tying == Tying::All => {
            // Two SentencePiece models may spell a piece of the same vocabulary in two ways; the spelling in its own
            // language has fewer parts.
            let pairs = src.iter().zip(tgt);
            let shorter = pairs.map(|(src, tgt)| {
                let is_tgt = src.parts.is_empty()
                    || (!tgt.parts.is_empty() && tgt.parts.len() < src.parts.len());
                if is_tgt { tgt } else { src }.parts.clone()
            });
            Some(shorter.collect())
        }
        Place::SrcVocabulary => Some(parts(src)),
        Place::TgtVocabulary | Place::Output | Place::OutputBias => Some(parts(tgt)),
        _ => None,
    }
}

/// Appends rows to a tensor, each the mean of some of its rows, or of all except those of special tokens.
fn with_rows((name, data, id): NamedTensor, new_rows: &[Vec<u32>]) -> NamedTensor {
    let mut shape = data.shape().to_vec();
    let width: usize = shape[1..].iter().product();
    let mut values: Vec<f32> = data.iter::<f32>().collect();
    let all: Vec<u32> = (N_SPECIAL as u32..shape[0] as u32).collect();
    let of_all = mean(&values, width, &all);
    let added = new_rows.iter().flat_map(|rows| match rows.is_empty() {
        true => of_all.clone(),
        false => mean(&values, width, rows),
    });
    let added: Vec<f32> = added.collect();
    values.extend(added);
    shape[0] += new_rows.len();
    (name, TensorData::new(values, shape), id)
}

fn mean(values: &[f32], width: usize, rows: &[u32]) -> Vec<f32> {
    let of_column = |column: usize| {
        let value = |row: &u32| f64::from(values[*row as usize * width + column]);
        let sum: f64 = rows.iter().map(value).sum();
        (sum / rows.len() as f64) as f32
    };
    (0..width).map(of_column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_row_is_the_mean_of_its_parts_and_an_unknown_one_that_of_all_tokens() {
        let values: Vec<f32> = (0..14).map(|value| (value * value) as f32).collect();
        let data = TensorData::new(values.clone(), [7, 2]);
        let (_, data, _) = with_rows(("x".to_owned(), data, None), &[vec![4, 6, 6], vec![]]);
        assert_eq!(&data.shape()[..], [9, 2]);
        let found: Vec<f32> = data.iter::<f32>().collect();
        assert_eq!(found[..14], values);
        let mean = |a: f32, b: f32, c: f32| (a + b + c) / 3.0;
        let expected = [
            mean(64.0, 144.0, 144.0),
            mean(81.0, 169.0, 169.0),
            mean(64.0, 100.0, 144.0),
            mean(81.0, 121.0, 169.0),
        ];
        assert_eq!(found[14..], expected);
    }

    #[test]
    fn a_shared_matrix_takes_the_shorter_spelling() {
        let token = |parts: &[u32]| AddedToken {
            token: "x".to_owned(),
            parts: parts.to_vec(),
        };
        let added = ExtendedVocabulary {
            src: vec![token(&[5, 6, 7]), token(&[5]), token(&[])],
            tgt: vec![token(&[8, 9]), token(&[]), token(&[4])],
        };
        let rows = rows_of("src_vocabulary.weight", Tying::All, &added);
        assert_eq!(rows, Some(vec![vec![8, 9], vec![5], vec![4]]));
        assert_eq!(rows_of("output_bias", Tying::All, &added), rows);
        assert_eq!(rows_of("encoder.layers.0.x", Tying::All, &added), None);
    }
}
