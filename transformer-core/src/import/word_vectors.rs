//! [`WordVectors`]: vectors that somebody trained for words, as a start for embeddings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use burn::tensor::{Tensor, TensorData};
use flate2::bufread::MultiGzDecoder;

use crate::text::Tokenizer;
use crate::text::special::is_special;

/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Holds the vectors of those words of a file that are tokens of a vocabulary.
///
/// A word counts as known if the tokenizer makes one token of it, which is not a special one; of several
/// words that become the same token the first one counts, which is the most frequent in such files.
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
///     // As large as the other rows, which were drawn from N(0, 1/d_model).
///     let vectors = vectors.with_rms(300_f64.powf(-0.5));
///     let embedding = vectors.laid_over(model.src_embedding())?;
///     Ok(model.with_src_embedding(embedding).freeze_src_embedding())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WordVectors {
    width: usize,
    /// By id.
    rows: BTreeMap<u32, Vec<f32>>,
}

/// Says what is wrong with a file of word vectors, or with its use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordVectorsError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line has too few or too many numbers.
    #[error(
        "`{}`, line {line}: {found} numbers instead of {expected}; each line must be a word and its vector",
        path.display()
    )]
    Width {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// How many numbers the line has.
        found: usize,
        /// How many the first line announced or had.
        expected: usize,
    },
    /// Where a number should be, there is something else.
    #[error("`{}`, line {line}: `{text}` is not a finite number", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// The file has more or fewer vectors than its first line says.
    #[error(
        "`{}` has {found} vectors, but its first line says {expected}; download it again",
        path.display()
    )]
    Count {
        /// The file.
        path: PathBuf,
        /// How many vectors it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// The file has no vector.
    #[error("`{}` has no vectors; give a text file of word2vec or GloVe", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The vectors are not of the model's width.
    #[error(
        "the word vectors have {width} numbers, but `d_model` is {d_model}; choose `d_model` = {width} or \
         other vectors"
    )]
    ModelWidth {
        /// Width of the vectors.
        width: usize,
        /// Width of the model.
        d_model: usize,
    },
    /// The vectors were read for a larger vocabulary.
    #[error(
        "a word vector is for token {id}, but the model has {vocab_size} tokens; use the model's tokenizer"
    )]
    Vocabulary {
        /// The token.
        id: u32,
        /// How many tokens the model has.
        vocab_size: usize,
    },
}

impl WordVectors {
    /// Reads the vectors of the tokenizer's words from a text file, plain or gzip.
    ///
    /// Each line is a word and its numbers, separated by spaces. A first line of two whole numbers is
    /// word2vec's, which tells how many vectors there are and how wide; GloVe has none. A word may have
    /// spaces in it (a few of GloVe's have) as long as its last piece is not a number. Every line is
    /// checked, also those of unknown words.
    ///
    /// # Errors
    ///
    /// Returns a [`WordVectorsError`] that names the file and the line.
    pub fn read(path: impl AsRef<Path>, tokenizer: &Tokenizer) -> Result<Self, WordVectorsError> {
        let path = path.as_ref();
        let cannot_read = |source| WordVectorsError::Read {
            path: path.to_owned(),
            source,
        };
        let mut input = open(path).map_err(cannot_read)?;
        let mut reading = Reading {
            path,
            line: 0,
            header: None,
            n_words: 0,
            vectors: Self {
                width: 0,
                rows: BTreeMap::new(),
            },
        };
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).map_err(cannot_read)? > 0 {
            reading.take(&line, tokenizer)?;
            line.clear();
        }
        reading.finish()
    }

    /// Returns for how many tokens there is a vector.
    pub fn n_found(&self) -> usize {
        self.rows.len()
    }

    /// Returns how many numbers a vector has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Multiplies all vectors by one factor, so that the root mean square of their numbers is `rms`.
    ///
    /// Word vectors come in any length, and the sinusoids that are added to embeddings have entries up to
    /// 1: rows of `1/√d_model`, as fresh ones are, reach that size after the factor `√d_model`.
    #[must_use]
    pub fn with_rms(mut self, rms: f64) -> Self {
        let squares = self.rows.values().flatten();
        let sum: f64 = squares.map(|&number| f64::from(number).powi(2)).sum();
        let n_numbers = self.rows.len() * self.width;
        if sum > 0.0 {
            let factor = rms / (sum / n_numbers as f64).sqrt();
            for number in self.rows.values_mut().flatten() {
                *number = (f64::from(*number) * factor) as f32;
            }
        }
        self
    }

    /// Returns the matrix with the vectors in the rows of their tokens; the other rows stay.
    ///
    /// A row is what [`Transformer::with_src_embedding`](crate::Transformer::with_src_embedding) takes: a
    /// config that scales embeddings multiplies it by `√d_model`, as it does any other row. So the matrix
    /// of the model holds the vectors of the file, as it would in other programs that are given them.
    ///
    /// # Shapes
    ///
    /// - `embedding`: `[vocab, d_model]`
    /// - returns: `[vocab, d_model]`
    ///
    /// # Errors
    ///
    /// Returns a [`WordVectorsError`] if the vectors are not of this width, or of another vocabulary.
    pub fn laid_over(&self, embedding: Tensor<2>) -> Result<Tensor<2>, WordVectorsError> {
        let [vocab_size, d_model] = embedding.dims();
        let width = self.width;
        if width != d_model {
            return Err(WordVectorsError::ModelWidth { width, d_model });
        }
        let device = embedding.device();
        let mut numbers: Vec<f32> = embedding.into_data().iter::<f32>().collect();
        for (&id, row) in &self.rows {
            let place = id as usize;
            if place >= vocab_size {
                return Err(WordVectorsError::Vocabulary { id, vocab_size });
            }
            numbers[place * d_model..][..d_model].copy_from_slice(row);
        }
        let data = TensorData::new(numbers, [vocab_size, d_model]);
        Ok(Tensor::from_data(data, &device))
    }
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::new(File::open(path)?);
    let is_gzip = file.fill_buf()?.starts_with(&GZIP);
    Ok(match is_gzip {
        true => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        false => Box::new(file),
    })
}

/// A file that is being read.
struct Reading<'a> {
    path: &'a Path,
    /// The present line, counted from 1.
    line: usize,
    /// How many vectors word2vec's first line announced.
    header: Option<usize>,
    n_words: usize,
    vectors: WordVectors,
}

impl Reading<'_> {
    fn take(&mut self, line: &[u8], tokenizer: &Tokenizer) -> Result<(), WordVectorsError> {
        self.line += 1;
        // Only these bytes separate: words may hold other kinds of space.
        let fields: Vec<&[u8]> = line
            .split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            .filter(|field| !field.is_empty())
            .collect();
        if fields.is_empty() {
            return Ok(());
        }
        if self.line == 1 {
            if let [n_words, width] = fields[..]
                && let (Some(n_words), Some(width)) = (whole(n_words), whole(width))
            {
                self.header = Some(n_words);
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
        let n_before = fields.len().saturating_sub(width);
        let (word, numbers) = fields.split_at(n_before);
        let is_too_long = n_before > 1 && word.last().is_some_and(|last| number(last).is_some());
        if word.is_empty() || is_too_long {
            return Err(WordVectorsError::Width {
                path: self.path.to_owned(),
                line: self.line,
                found: fields.len().saturating_sub(1),
                expected: width,
            });
        }
        let row = self.row(numbers)?;
        self.n_words += 1;
        let word = String::from_utf8_lossy(&word.join(&b' ')).into_owned();
        if let [id] = tokenizer.encode(&word)[..]
            && !is_special(id)
        {
            self.vectors.rows.entry(id).or_insert(row);
        }
        Ok(())
    }

    fn row(&self, fields: &[&[u8]]) -> Result<Vec<f32>, WordVectorsError> {
        let read = |field: &&[u8]| {
            let finite = number(field).filter(|number| number.is_finite());
            finite.ok_or_else(|| WordVectorsError::Number {
                path: self.path.to_owned(),
                line: self.line,
                text: String::from_utf8_lossy(field).into_owned(),
            })
        };
        fields.iter().map(read).collect()
    }

    fn finish(self) -> Result<WordVectors, WordVectorsError> {
        let path = self.path.to_owned();
        let found = self.n_words;
        match self.header {
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

fn whole(field: &[u8]) -> Option<usize> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn number(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
