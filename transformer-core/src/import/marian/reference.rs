//! [`Reference`]: logits of another program, to compare with ours.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::MarianError;
use super::vocabulary::rows;
use crate::directory::Tokenizers;
use crate::import::StateDict;
use crate::model::Transformer;
use crate::padded::Padded;
use crate::text::{BOS, EOS};

/// Marks padding after the end of a sequence.
const PADDING: i64 = -1;

/// Sentences as Marian's ids, and the logits that another program computed for them.
#[derive(Clone, Debug)]
pub struct Reference {
    path: PathBuf,
    /// Source sentences, with EOS at the end.
    src: Vec<Vec<i64>>,
    /// Target sentences, with the decoder's first input at the start.
    tgt: Vec<Vec<i64>>,
    /// `[n_sentences, tgt_len, vocab]`.
    logits: TensorData,
}

/// Differences between logits and those of a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The largest absolute difference of two logits.
    pub largest: f32,
    /// The largest magnitude of the reference's logits.
    pub largest_logit: f32,
    /// Number of compared target tokens.
    pub n_tokens: usize,
    /// Number of tokens after which both predict the same most probable token.
    pub n_same_best: usize,
}

impl Reference {
    /// Reads a safetensors file with `src` and `tgt`, 64-bit integers of the shapes `[n_sentences, src_len]` and
    /// `[n_sentences, tgt_len]`, padded with −1, and `logits` of the shape `[n_sentences, tgt_len, vocab]`.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, MarianError> {
        let path = path.as_ref().to_owned();
        let mut dict = StateDict::read(&path)?;
        let wrong = |name, expected| MarianError::Reference {
            path: path.clone(),
            name,
            expected,
        };
        let expected = "[n_sentences, len]";
        let mut rows = |name| match dict.remove(name) {
            Some(ids) => ids_of(&ids).ok_or_else(|| wrong(name, expected)),
            None => Err(wrong(name, expected)),
        };
        let (src, tgt) = (rows("src")?, rows("tgt")?);
        let n_sentences = src.len();
        let expected = "[n_sentences, tgt_len, vocab]";
        let logits = dict
            .remove("logits")
            .ok_or_else(|| wrong("logits", expected))?;
        let longest = tgt.iter().map(Vec::len).max().unwrap_or(0);
        let fits = matches!(logits.shape()[..], [n, len, _] if n == n_sentences && len >= longest);
        if !fits || tgt.len() != n_sentences {
            return Err(wrong("logits", expected));
        }
        Ok(Self {
            path,
            src,
            tgt,
            logits,
        })
    }

    /// Compares the logits of an imported model, sentence by sentence.
    pub fn compare(
        &self,
        model: &Transformer,
        tokenizers: &Tokenizers,
        device: &Device,
    ) -> Result<Difference, MarianError> {
        let (src_rows, mut tgt_rows) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
        if tgt_rows[BOS as usize] == tgt_rows[EOS as usize] {
            tgt_rows[BOS as usize] = None; // It is a copy.
        }
        let [_, tgt_len, vocab] = self.logits.shape()[..] else {
            return Err(self.not_of_this_vocabulary());
        };
        if vocab != tgt_rows.iter().flatten().count() {
            return Err(self.not_of_this_vocabulary());
        }
        let expected: Vec<f32> = self.logits.iter::<f32>().collect();
        let mut difference = Difference {
            largest: 0.0,
            largest_logit: 0.0,
            n_tokens: 0,
            n_same_best: 0,
        };
        let sentences = expected.chunks(tgt_len * vocab).zip(&self.src);
        for ((expected, src), tgt) in sentences.zip(&self.tgt) {
            let src = self.to_ours(src, &src_rows)?;
            let tgt: Vec<i64> = self
                .to_ours(tgt, &tgt_rows)?
                .into_iter()
                .map(i64::from)
                .collect();
            let tgt = Tensor::<1, Int>::from_data(tgt.as_slice(), device).unsqueeze();
            let logits = model.forward(&Padded::new(&[src], device), tgt).into_data();
            let logits: Vec<f32> = logits.iter::<f32>().collect();
            for (ours, theirs) in logits.chunks(tgt_rows.len()).zip(expected.chunks(vocab)) {
                difference.add(ours, theirs, &tgt_rows);
            }
        }
        Ok(difference)
    }

    fn not_of_this_vocabulary(&self) -> MarianError {
        MarianError::Reference {
            path: self.path.clone(),
            name: "logits",
            expected: "[n_sentences, tgt_len, vocab] for the vocabulary of this model",
        }
    }

    fn to_ours(&self, ids: &[i64], rows: &[Option<u32>]) -> Result<Vec<u32>, MarianError> {
        let ours = |id: &i64| {
            let position = rows.iter().position(|row| row.map(i64::from) == Some(*id));
            position
                .map(|position| position as u32)
                .ok_or_else(|| MarianError::ReferenceToken {
                    path: self.path.clone(),
                    id: *id,
                })
        };
        ids.iter().map(ours).collect()
    }
}

impl Difference {
    fn add(&mut self, ours: &[f32], theirs: &[f32], rows: &[Option<u32>]) {
        let (mut our_best, mut their_best) = (f32::MIN, f32::MIN);
        let mut best = (0, 0);
        for (ours, row) in ours.iter().zip(rows) {
            let Some(row) = row.map(|row| row as usize) else {
                continue;
            };
            let theirs = theirs[row];
            // NaN on either side counts as the largest difference.
            let difference = (ours - theirs).abs();
            self.largest = self.largest.max(if difference.is_nan() {
                f32::MAX
            } else {
                difference
            });
            self.largest_logit = self.largest_logit.max(theirs.abs());
            if *ours > our_best {
                (our_best, best.0) = (*ours, row);
            }
            if theirs > their_best {
                (their_best, best.1) = (theirs, row);
            }
        }
        self.n_tokens += 1;
        self.n_same_best += usize::from(best.0 == best.1);
    }
}

fn ids_of(tensor: &TensorData) -> Option<Vec<Vec<i64>>> {
    let [_, len] = tensor.shape()[..] else {
        return None;
    };
    let ids: Vec<i64> = tensor.iter::<i64>().collect();
    let until_end = |row: &[i64]| {
        row.iter()
            .copied()
            .take_while(|id| *id != PADDING)
            .collect()
    };
    Some(ids.chunks(len.max(1)).map(until_end).collect())
}
