//! [`Tokenizer`]: lines to ids and back, in a file that other programs can read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};

use rayon::prelude::*;
use thiserror::Error;
use tokenizers::Encoding;

use super::sentencepiece::{PieceVocabulary, PieceVocabularyError};
use super::special::{N_SPECIAL, SPECIAL_TOKENS, UNK, is_special};
use super::words::WordCache;
use super::{TokenizerConfig, TokenizerKind, train};

/// Turns lines into token ids and ids into lines.
///
/// Its file is a Hugging Face `tokenizer.json`, or holds a SentencePiece model if it came with a model from
/// elsewhere ([`PieceVocabulary`]). Whatever the kind, the [`SPECIAL_TOKENS`] have the
/// first ids, text never encodes to one of them but [`UNK`], and nothing is added at the ends of a
/// line: `<s>` and `</s>` are the business of the batch. Training is reproducible: the same lines
/// give the same file, byte for byte. Clones share one vocabulary.
///
/// What `decode(encode(line))` gives back, for characters that were seen in training:
/// - BPE and unigram: the line in Unicode form NFC, with every run of whitespace turned into one
///   space and none at the ends. `▁` (U+2581), the mark of a space, counts as whitespace.
/// - characters: the line in form NFC.
/// - words: as BPE, if every word is in the vocabulary and none contains a special spelling.
///
/// # Example
/// ```
/// use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};
/// let config = TokenizerConfig {
///     kind: TokenizerKind::Bpe,
///     vocab_size: 40,
///     ..TokenizerConfig::default()
/// };
/// let tokenizer = Tokenizer::train(&config, ["a rose is a rose", "is a rose"])?;
/// let ids = tokenizer.encode("a rose is a nose");
/// assert_eq!(tokenizer.decode(&ids), "a rose is a ose"); // `n` was never seen
/// # Ok::<(), transformer_core::text::TokenizerError>(())
/// ```
#[derive(Clone)]
pub struct Tokenizer {
    pub(super) inner: Inner,
}

/// What does the work.
#[derive(Clone)]
pub(super) enum Inner {
    /// A `tokenizer.json` of the `tokenizers` crate.
    Library(Arc<Library>),
    /// Pieces of SentencePiece, with the vocabulary of a model from elsewhere.
    Pieces(Arc<PieceVocabulary>),
}

/// A tokenizer of the `tokenizers` crate, and the words that it has seen.
pub(super) struct Library {
    pub(super) tokenizer: tokenizers::Tokenizer,
    /// `None` if its words cannot be encoded each by itself.
    pub(super) words: Option<WordCache>,
}

/// Fewest lines for which another thread is worth its start.
const LINES_PER_THREAD: usize = 64;

/// Why there is no tokenizer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The training text has no word.
    #[error("the training text is empty; give at least one line that is not blank")]
    EmptyCorpus,
    /// The vocabulary has no room for the characters of the text.
    #[error(
        "`vocab_size` ({vocab_size}) is too small: a {kind} vocabulary of this text needs the \
         special tokens and every character; choose at least {smallest}"
    )]
    VocabTooSmall {
        /// The kind of tokenizer that was asked for.
        kind: TokenizerKind,
        /// The size that was asked for, in tokens.
        vocab_size: usize,
        /// The smallest size that this text allows, in tokens.
        smallest: usize,
    },
    /// The file cannot be read.
    #[error("cannot read the tokenizer `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read, but is no tokenizer for this crate.
    #[error("`{}` is not a tokenizer that can be used here", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// The text is not a `tokenizer.json`.
    #[error("not a valid `tokenizer.json`; restore the file, or train the tokenizer again")]
    Parse(#[source] tokenizers::Error),
    /// A special token is missing or has another id than the format says.
    #[error(
        "the token `{token}` must have the id {expected}, but {}; train the tokenizer with this \
         program",
        found.map_or("is missing".to_owned(), |id| format!("has {id}"))
    )]
    SpecialToken {
        /// The special token.
        token: &'static str,
        /// The id that it must have.
        expected: u32,
        /// The id that it has, if any.
        found: Option<u32>,
    },
    /// The ids are not 0, 1, 2 and so on.
    #[error("no token has the id {id}, although the vocabulary has {vocab_size} tokens")]
    MissingId {
        /// The first id without a token.
        id: u32,
        /// How many tokens there are.
        vocab_size: usize,
    },
    /// A SentencePiece model and its vocabulary do not go together.
    #[error(
        "not a tokenizer of SentencePiece's pieces; restore the file, or import the model again"
    )]
    Pieces(#[from] PieceVocabularyError),
    /// The tokenizer fails on text.
    #[error("the tokenizer cannot encode text")]
    Encode(#[source] tokenizers::Error),
}

impl TokenizerError {
    pub(super) fn encode(source: tokenizers::Error) -> Self {
        Self::Encode(source)
    }
}

impl Tokenizer {
    /// Makes a tokenizer from text.
    ///
    /// For one vocabulary on both sides, chain the lines of both. The vocabulary can turn out
    /// smaller than `config.vocab_size`, if the text has no more to learn: see
    /// [`vocab_size`](Self::vocab_size). Holds every distinct word in memory, not the lines.
    ///
    /// # Errors
    /// If the text is blank, or if the vocabulary has no room for its characters.
    pub fn train<I>(config: &TokenizerConfig, lines: I) -> Result<Self, TokenizerError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Self::train_with(config, lines, &mut |_| ())
    }

    /// As [`train`](Self::train); `on_progress` is called now and then with the share of what is to be
    /// learned that is learned, from 0 to 1.
    ///
    /// # Errors
    /// As [`train`](Self::train).
    pub fn train_with<I>(
        config: &TokenizerConfig,
        lines: I,
        on_progress: &mut dyn FnMut(f64),
    ) -> Result<Self, TokenizerError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Self::from_json(&train::train(config, lines, on_progress)?.to_string())
    }

    /// Reads the text of a `tokenizer.json`.
    ///
    /// # Errors
    /// If the text is no tokenizer, or one whose special tokens are not those of this crate.
    pub fn from_json(json: &str) -> Result<Self, TokenizerError> {
        if let Some(pieces) = PieceVocabulary::from_json(json) {
            return Ok(Self::from_pieces(pieces?));
        }
        let mut inner = parse(json)?;
        // Files from elsewhere may ask for what batches do here.
        inner.with_padding(None);
        inner.with_truncation(None).map_err(TokenizerError::Parse)?;
        inner.set_encode_special_tokens(true);
        for (token, expected) in SPECIAL_TOKENS.into_iter().zip(0u32..) {
            let found = inner.token_to_id(token);
            if found != Some(expected) {
                return Err(TokenizerError::SpecialToken {
                    token,
                    expected,
                    found,
                });
            }
        }
        let vocab_size = inner.get_vocab_size(true);
        let mut ids = (0u32..).take(vocab_size);
        if let Some(id) = ids.find(|&id| inner.id_to_token(id).is_none()) {
            return Err(TokenizerError::MissingId { id, vocab_size });
        }
        // A character that no vocabulary has: some models fail on it without `<unk>`.
        inner
            .encode_fast("\u{10FFFD}", false)
            .map_err(TokenizerError::Encode)?;
        Ok(Self {
            inner: Inner::Library(Arc::new(Library::new(inner))),
        })
    }

    /// Makes a tokenizer of SentencePiece's pieces with the vocabulary of a model from elsewhere.
    pub fn from_pieces(pieces: PieceVocabulary) -> Self {
        Self {
            inner: Inner::Pieces(Arc::new(pieces)),
        }
    }

    /// Returns the pieces and the vocabulary, if this is a tokenizer of SentencePiece's pieces.
    pub fn pieces(&self) -> Option<&PieceVocabulary> {
        match &self.inner {
            Inner::Library(_) => None,
            Inner::Pieces(pieces) => Some(pieces),
        }
    }

    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json), with the name of the file, or if it cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TokenizerError> {
        let path = path.as_ref();
        let json = fs::read_to_string(path).map_err(|source| TokenizerError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_json(&json).map_err(|source| TokenizerError::File {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// The text of the `tokenizer.json`.
    ///
    /// # Panics
    /// Never: everything in a tokenizer has a JSON form, it came from one.
    pub fn to_json(&self) -> String {
        match &self.inner {
            Inner::Library(inner) => {
                let json = inner.tokenizer.to_string(true);
                json.expect("a tokenizer that was read from JSON can be written as JSON")
            }
            Inner::Pieces(pieces) => pieces.to_json(),
        }
    }

    /// How many tokens there are, the special ones included; ids lie below it.
    pub fn vocab_size(&self) -> usize {
        match &self.inner {
            Inner::Library(inner) => inner.tokenizer.get_vocab_size(true),
            Inner::Pieces(pieces) => pieces.vocab_size(),
        }
    }

    /// Cuts a line into tokens. Blank text has none.
    ///
    /// # Panics
    /// If a file from elsewhere has a rule that fails on this very line; tokenizers that this
    /// crate trained have none.
    pub fn encode(&self, line: &str) -> Vec<u32> {
        match &self.inner {
            Inner::Library(inner) => inner.encode(line),
            Inner::Pieces(pieces) => pieces.encode(line),
        }
    }

    /// Cuts many lines into tokens, on all cores.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_all<S: AsRef<str>>(&self, lines: &[S]) -> Vec<Vec<u32>> {
        let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
        let lines = lines.par_iter().with_min_len(LINES_PER_THREAD);
        lines.map(|line| self.encode(line)).collect()
    }

    /// Joins tokens to a line.
    ///
    /// Leaves out special tokens, `<unk>` included, and ids outside the vocabulary.
    ///
    /// # Panics
    /// If a file from elsewhere has a decoder that fails on these tokens.
    pub fn decode(&self, ids: &[u32]) -> String {
        let inner = match &self.inner {
            Inner::Library(inner) => inner,
            Inner::Pieces(pieces) => return pieces.decode(ids),
        };
        let ids: Vec<u32> = ids.iter().copied().filter(|&id| !is_special(id)).collect();
        let line = inner.tokenizer.decode(&ids, false);
        line.expect("the decoders that training writes accept every token")
    }

    /// The token with this id, as the vocabulary spells it: a word's start may be marked `▁`.
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.inner {
            Inner::Library(inner) => inner.tokenizer.id_to_token(id),
            Inner::Pieces(pieces) => pieces.token(id),
        }
    }

    /// The id of a token, given as the vocabulary spells it.
    pub fn id(&self, token: &str) -> Option<u32> {
        match &self.inner {
            Inner::Library(inner) => inner.tokenizer.token_to_id(token),
            Inner::Pieces(pieces) => pieces.id(token),
        }
    }
}

impl Library {
    pub(super) fn new(tokenizer: tokenizers::Tokenizer) -> Self {
        let words = WordCache::of(&tokenizer);
        Self { tokenizer, words }
    }

    pub(super) fn encode(&self, line: &str) -> Vec<u32> {
        match &self.words {
            Some(words) => words.encode(line, |word| self.encode_whole(word)),
            None => self.encode_whole(line),
        }
    }

    /// Encodes a text without a look at what is remembered.
    pub(super) fn encode_whole(&self, text: &str) -> Vec<u32> {
        let encoding = self.tokenizer.encode_fast(text, false);
        ids(&encoding.expect("every tokenizer is tried on unknown text when it is read"))
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("vocab_size", &self.vocab_size())
            .finish_non_exhaustive()
    }
}

pub(super) fn parse(json: &str) -> Result<tokenizers::Tokenizer, TokenizerError> {
    json.parse().map_err(TokenizerError::Parse)
}

/// The ids of a line. Files from elsewhere may lack the rule that keeps the spelling of a special
/// token from becoming one, and a stray `</s>` would end the sentence.
pub(super) fn ids(encoding: &Encoding) -> Vec<u32> {
    encoding
        .get_ids()
        .iter()
        .map(|&id| if (id as usize) < N_SPECIAL { UNK } else { id })
        .collect()
}
