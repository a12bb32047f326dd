//! [`WordVectors`]: pretrained word vectors, as initial values of embeddings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use burn::tensor::{Tensor, TensorData};

use crate::lines::{LineError, LineReader};
use crate::text::Tokenizer;
use crate::text::special::is_special;

/// The word vectors of a file for the words that are tokens of a vocabulary.
///
/// A word matches a token if the tokenizer encodes it to that token alone and the token is not special. If
/// several words encode to the same token, the first is used, which is the most frequent in such files.
///
/// # Example
///
/// ```no_run
/// use transformer_core::Transformer;
/// use transformer_core::import::{WordVectors, WordVectorsError};
/// use transformer_core::text::Tokenizer;
///
/// fn preset(model: Transformer, tokenizer: &Tokenizer) -> Result<Transformer, WordVectorsError> {
///     let vectors = WordVectors::read("glove.6B.300d.txt", tokenizer)?;
///     println!("{} of {} tokens", vectors.n_found(), tokenizer.vocab_size());
///     // The other rows are drawn from N(0, 1/d_model): give these the same root mean square.
///     let vectors = vectors.with_rms(300_f64.powf(-0.5));
///     let embedding = vectors.replace_rows(model.src_embedding())?;
///     Ok(model.with_src_embedding(embedding).freeze_src_embedding())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WordVectors {
    width: usize,
    rows: BTreeMap<u32, Vec<f32>>,
}

/// Error in reading or using word vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum WordVectorsError {
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    /// The file cannot be read to its end.
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(
        "`{path}`, line {line}: {found} values instead of {expected}; each line must be a word and its vector"
    )]
    Width {
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        found: usize,
        expected: usize,
    },
    #[error("`{path}`, line {line}: `{text}` is not a finite number")]
    Number {
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        text: String,
    },
    #[error("`{path}` has {found} vectors, but its first line says {expected}; download it again")]
    Count {
        path: PathBuf,
        found: usize,
        expected: usize,
    },
    #[error("`{path}` has no vectors; give a text file of word2vec or GloVe")]
    Empty { path: PathBuf },
    #[error(
        "the word vectors have {width} values, but `d_model` is {d_model}; choose `d_model` = {width} or \
         other vectors"
    )]
    ModelWidth { width: usize, d_model: usize },
    #[error(
        "a word vector is for token {id}, but the model has {vocab_size} tokens; use the model's tokenizer"
    )]
    Vocabulary { id: u32, vocab_size: usize },
}

impl WordVectors {
    /// Reads the vectors of the tokenizer's words from a text file, plain or gzip.
    ///
    /// Each line is a word and its values, separated by spaces. A first line of two integers is word2vec's header: the
    /// number of vectors and their width; GloVe has none. A word may contain spaces, as some of GloVe's do, unless its
    /// last part is a number. Every line is checked, including those of unknown words.
    pub fn read(path: impl AsRef<Path>, tokenizer: &Tokenizer) -> Result<Self, WordVectorsError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| WordVectorsError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut lines = LineReader::new(format!("`{}`", path.display()), file)?;
        let mut parser = Parser {
            path,
            line: 0,
            announced: None,
            n_words: 0,
            vectors: Self {
                width: 0,
                rows: BTreeMap::new(),
            },
        };
        while let Some(line) = lines.next_bytes()? {
            parser.parse_line(line, tokenizer)?;
        }
        parser.finish()
    }

    /// Returns the number of tokens that have a vector.
    pub fn n_found(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of values in a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Multiplies all vectors by one factor, so that the root mean square of their values is `rms`.
    ///
    /// Word vectors can have any scale, but the sinusoids that are added to embeddings have values up to 1. Rows of
    /// root mean square `1/√d_model`, like newly initialized ones, reach that scale after the factor `√d_model`.
    #[must_use]
    pub fn with_rms(mut self, rms: f64) -> Self {
        let values = self.rows.values().flatten();
        let sum: f64 = values.map(|&value| f64::from(value).powi(2)).sum();
        let n_values = self.rows.len() * self.width;
        if sum > 0.0 {
            let factor = rms / (sum / n_values as f64).sqrt();
            for value in self.rows.values_mut().flatten() {
                *value = (f64::from(*value) * factor) as f32;
            }
        }
        self
    }

    /// Returns the matrix with the rows of the vectors' tokens replaced, and the other rows unchanged.
    ///
    /// The result is for [`Transformer::with_src_embedding`](crate::Transformer::with_src_embedding). A
    /// config that scales embeddings multiplies these rows by `√d_model` like any other. So the model's
    /// matrix contains the vectors of the file, as in other programs.
    ///
    /// # Shapes
    ///
    /// - `embedding`: `[vocab, d_model]`
    /// - returns: `[vocab, d_model]`
    pub fn replace_rows(&self, embedding: Tensor<2>) -> Result<Tensor<2>, WordVectorsError> {
        let [vocab_size, d_model] = embedding.dims();
        let width = self.width;
        if width != d_model {
            return Err(WordVectorsError::ModelWidth { width, d_model });
        }
        let device = embedding.device();
        let mut values: Vec<f32> = embedding.into_data().iter::<f32>().collect();
        for (&id, row) in &self.rows {
            let index = id as usize;
            if index >= vocab_size {
                return Err(WordVectorsError::Vocabulary { id, vocab_size });
            }
            values[index * d_model..][..d_model].copy_from_slice(row);
        }
        let data = TensorData::new(values, [vocab_size, d_model]);
        Ok(Tensor::from_data(data, &device))
    }
}

struct Parser<'a> {
    path: &'a Path,
    line: u64,
    /// Number of vectors in word2vec's header.
    announced: Option<usize>,
    n_words: usize,
    vectors: WordVectors,
}

impl Parser<'_> {
    fn parse_line(&mut self, line: &[u8], tokenizer: &Tokenizer) -> Result<(), WordVectorsError> {
        self.line += 1;
        // Only these bytes are separators: a word may contain other kinds of space.
        let fields: Vec<&[u8]> = line
            .split(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
            .filter(|field| !field.is_empty())
            .collect();
        if fields.is_empty() {
            return Ok(());
        }
        if self.line == 1 {
            if let [n_words, width] = fields[..]
                && let (Some(n_words), Some(width)) = (integer(n_words), integer(width))
            {
                self.announced = Some(n_words);
                self.vectors.width = width;
                return Ok(());
            }
            self.vectors.width = fields.len().saturating_sub(1);
        }
        let width = self.vectors.width;
        if width == 0 {
            return Err(WordVectorsError::Empty {
                path: self.path.to_owned(),
            });
        }
        let n_word_fields = fields.len().saturating_sub(width);
        let (word, values) = fields.split_at(n_word_fields);
        let has_extra_value =
            n_word_fields > 1 && word.last().is_some_and(|last| float(last).is_some());
        if word.is_empty() || has_extra_value {
            return Err(WordVectorsError::Width {
                path: self.path.to_owned(),
                line: self.line,
                found: fields.len().saturating_sub(1),
                expected: width,
            });
        }
        let row = self.parse_values(values)?;
        self.n_words += 1;
        let word = String::from_utf8_lossy(&word.join(&b' ')).into_owned();
        if let [id] = tokenizer.encode(&word)[..]
            && !is_special(id)
        {
            self.vectors.rows.entry(id).or_insert(row);
        }
        Ok(())
    }

    fn parse_values(&self, fields: &[&[u8]]) -> Result<Vec<f32>, WordVectorsError> {
        let parse = |field: &&[u8]| {
            let finite = float(field).filter(|value| value.is_finite());
            finite.ok_or_else(|| WordVectorsError::Number {
                path: self.path.to_owned(),
                line: self.line,
                text: String::from_utf8_lossy(field).into_owned(),
            })
        };
        fields.iter().map(parse).collect()
    }

    fn finish(self) -> Result<WordVectors, WordVectorsError> {
        let path = self.path.to_owned();
        let found = self.n_words;
        match self.announced {
            Some(expected) if expected != found => Err(WordVectorsError::Count {
                path,
                found,
                expected,
            }),
            _ if found == 0 => Err(WordVectorsError::Empty { path }),
            _ => Ok(self.vectors),
        }
    }
}

fn integer(field: &[u8]) -> Option<usize> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn float(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
