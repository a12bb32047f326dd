//! [`Tokenizer`]: encodes lines to ids and decodes them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use tokenizers::models::bpe::BPE;
use tokenizers::models::unigram::Unigram;
use tokenizers::{
    DecoderWrapper, Model, ModelWrapper, NormalizerWrapper, PostProcessorWrapper,
    PreTokenizerWrapper, TokenizerImpl,
};

use super::cached_tokenizer::CachedTokenizer;
use super::sentencepiece::PieceVocabulary;
use super::special::{N_SPECIAL, SENTENCE_START, SPECIAL_TOKENS, is_special};
use super::{TokenizerConfig, TokenizerError, json_layout, train};
use crate::regular_file::{self, MAX_TOKENIZER_BYTES};

/// Encodes lines to token ids and decodes ids to lines.
///
/// Its file is a Hugging Face `tokenizer.json`, or contains a SentencePiece model if it was imported with one
/// ([`PieceVocabulary`]). In every kind of tokenizer the [`SPECIAL_TOKENS`] have the first ids, and text is never
/// encoded to one of them except [`UNK`](super::UNK). Encoding adds neither `<s>` nor `</s>`: batching does. Training
/// is reproducible: the same lines give the same file, byte for byte. Clones share one vocabulary.
///
/// If training has seen all characters of the line, or [`byte_fallback`](TokenizerConfig::byte_fallback) is set,
/// `decode(encode(line))` returns:
/// - BPE and unigram: the line in Unicode form NFC, with every run of whitespace replaced by one space, and no spaces
///   at the ends. `▁` (U+2581), which marks spaces, counts as whitespace.
/// - characters: the line in form NFC.
/// - words: the same as BPE, if every word is in the vocabulary and none contains the spelling of a special token.
///
/// A [user-defined symbol](TokenizerConfig::user_symbols) is decoded with spaces around it in all kinds except
/// characters.
///
/// # Example
/// ```
/// use transformer_text::{Tokenizer, TokenizerConfig, TokenizerKind};
/// let config = TokenizerConfig {
///     kind: TokenizerKind::Bpe,
///     vocab_size: 40,
///     ..TokenizerConfig::default()
/// };
/// let tokenizer = Tokenizer::train(&config, ["a rose is a rose", "is a rose"])?;
/// let ids = tokenizer.encode("a rose is a nose");
/// assert_eq!(tokenizer.decode(&ids), "a rose is a ose"); // `n` was not in the training text
/// # Ok::<(), transformer_text::TokenizerError>(())
/// ```
#[derive(Clone)]
pub struct Tokenizer {
    pub(super) inner: Inner,
}

#[derive(Clone)]
pub(super) enum Inner {
    /// A `tokenizer.json`, run by the `tokenizers` crate.
    HuggingFace(Arc<CachedTokenizer>),
    /// A SentencePiece model with the vocabulary of an imported model.
    Pieces(Arc<PieceVocabulary>),
}

/// Minimum number of lines per thread: for fewer, starting a thread takes longer than it saves.
const LINES_PER_THREAD: usize = 64;

impl Tokenizer {
    /// Trains a tokenizer on text.
    ///
    /// For a joint vocabulary, chain the lines of both sides. The vocabulary may have fewer tokens than
    /// `config.vocab_size` if the text supports no more: see [`vocab_size`](Self::vocab_size). The memory depends on
    /// the number of distinct words, not of lines.
    ///
    /// # Errors
    ///
    /// Returns a [`TokenizerError`] if the text is blank or has more distinct characters than the vocabulary
    /// can have tokens.
    pub fn train<I>(config: &TokenizerConfig, lines: I) -> Result<Self, TokenizerError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Self::train_with(config, lines, &mut |_| ())
    }

    /// Trains a tokenizer, and calls `on_progress` from time to time with the completed share, from 0 to 1.
    ///
    /// # Errors
    ///
    /// See [`train`](Self::train).
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

    /// Parses the text of a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// Returns a [`TokenizerError`] if the text is not a tokenizer, or if its special tokens are not those of
    /// this crate.
    pub fn from_json(json: &str) -> Result<Self, TokenizerError> {
        if let Some(pieces) = PieceVocabulary::from_json(json) {
            return Ok(Self::from_pieces(pieces?));
        }
        json_layout::check(json)?;
        let mut inner = parse(json)?;
        // Files from elsewhere may request padding and truncation, which are the task of batching here.
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
        // A character that is in no vocabulary: without `<unk>` some models fail on it.
        inner
            .encode_fast("\u{10FFFD}", false)
            .map_err(TokenizerError::Encode)?;
        Ok(Self {
            inner: Inner::HuggingFace(Arc::new(CachedTokenizer::new(inner))),
        })
    }

    /// Makes a tokenizer from a SentencePiece model and its vocabulary.
    pub fn from_pieces(pieces: PieceVocabulary) -> Self {
        Self {
            inner: Inner::Pieces(Arc::new(pieces)),
        }
    }

    /// Returns the SentencePiece model and its vocabulary, if this tokenizer has one.
    pub fn pieces(&self) -> Option<&PieceVocabulary> {
        match &self.inner {
            Inner::HuggingFace(_) => None,
            Inner::Pieces(pieces) => Some(pieces),
        }
    }

    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// Returns a [`TokenizerError`] with the path if the file cannot be read or [parsed](Self::from_json).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TokenizerError> {
        let path = path.as_ref();
        let json = regular_file::read_text(path, MAX_TOKENIZER_BYTES);
        let json = json.map_err(|source| TokenizerError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_json(&json).map_err(|source| TokenizerError::File {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Returns the text of the `tokenizer.json`.
    ///
    /// # Panics
    ///
    /// Never panics: the tokenizer was parsed from JSON.
    pub fn to_json(&self) -> String {
        match &self.inner {
            Inner::HuggingFace(inner) => {
                let json = inner.tokenizer.to_string(true);
                json.expect("a tokenizer that was parsed from JSON can be written as JSON")
            }
            Inner::Pieces(pieces) => pieces.to_json(),
        }
    }

    /// Returns the number of tokens, special tokens included. All ids are smaller.
    pub fn vocab_size(&self) -> usize {
        match &self.inner {
            Inner::HuggingFace(inner) => inner.tokenizer.get_vocab_size(true),
            Inner::Pieces(pieces) => pieces.vocab_size(),
        }
    }

    /// Encodes a line. Blank text has no tokens.
    ///
    /// # Panics
    ///
    /// Panics if a rule of a file from elsewhere fails on this line. Tokenizers that this crate trained never fail.
    pub fn encode(&self, line: &str) -> Vec<u32> {
        match &self.inner {
            Inner::HuggingFace(inner) => inner.encode(line),
            Inner::Pieces(pieces) => pieces.encode(line),
        }
    }

    /// Returns whether the tokens of a word are independent of its neighbors.
    pub(super) fn splits_at_whitespace(&self) -> bool {
        match &self.inner {
            Inner::HuggingFace(inner) => inner.encodes_words_alone(),
            Inner::Pieces(_) => false,
        }
    }

    /// Encodes many lines, on all cores.
    ///
    /// # Panics
    ///
    /// See [`encode`](Self::encode).
    pub fn encode_all<S: AsRef<str>>(&self, lines: &[S]) -> Vec<Vec<u32>> {
        let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
        let lines = lines.par_iter().with_min_len(LINES_PER_THREAD);
        lines.map(|line| self.encode(line)).collect()
    }

    /// Decodes tokens to a line.
    ///
    /// Skips special tokens, `<unk>` included, and ids outside the vocabulary.
    ///
    /// # Panics
    ///
    /// Panics if the decoder of a file from elsewhere fails on these tokens.
    pub fn decode(&self, ids: &[u32]) -> String {
        let inner = match &self.inner {
            Inner::HuggingFace(inner) => inner,
            Inner::Pieces(pieces) => return pieces.decode(ids),
        };
        let ids: Vec<u32> = ids.iter().copied().filter(|&id| !is_special(id)).collect();
        let line = inner.tokenizer.decode(&ids, true);
        line.expect("the decoders that training writes accept every token")
    }

    /// Returns the ids of the tokens that are found in text as a whole, the user-defined symbols, in ascending order.
    pub fn user_symbols(&self) -> Vec<u32> {
        let inner = match &self.inner {
            Inner::HuggingFace(inner) => inner,
            Inner::Pieces(pieces) => return pieces.user_symbols(),
        };
        let added = inner.tokenizer.get_added_tokens_decoder().into_iter();
        let symbols = added.filter(|(id, token)| !token.special && !is_special(*id));
        let mut ids: Vec<u32> = symbols.map(|(id, _)| id).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the token with which all sources and translations of an imported BART begin; `None` for other models.
    pub fn sentence_start(&self) -> Option<u32> {
        let Inner::HuggingFace(inner) = &self.inner else {
            return None;
        };
        let split = inner.tokenizer.get_pre_tokenizer();
        let is_byte_level = matches!(split, Some(PreTokenizerWrapper::ByteLevel(_)));
        let id = inner.tokenizer.token_to_id(SENTENCE_START)?;
        if !is_byte_level || id as usize != N_SPECIAL {
            return None;
        }
        let added = inner.tokenizer.get_added_tokens_decoder();
        added.get(&id).filter(|token| token.special).map(|_| id)
    }

    /// Returns the token with this id in the vocabulary's spelling: `▁` may mark the start of a word.
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.inner {
            Inner::HuggingFace(inner) => inner.tokenizer.id_to_token(id),
            Inner::Pieces(pieces) => pieces.token(id),
        }
    }

    /// Returns the id of a token in the vocabulary's spelling.
    pub fn id(&self, token: &str) -> Option<u32> {
        match &self.inner {
            Inner::HuggingFace(inner) => inner.tokenizer.token_to_id(token),
            Inner::Pieces(pieces) => pieces.id(token),
        }
    }
}

fn parse(json: &str) -> Result<tokenizers::Tokenizer, TokenizerError> {
    // The parser for any kind of model copies the vocabulary four times before it reads it.
    let parsed = parse_with::<BPE>(json).or_else(|| parse_with::<Unigram>(json));
    match parsed {
        Some(tokenizer) => Ok(tokenizer),
        None => json.parse().map_err(TokenizerError::Parse),
    }
}

/// Parses a file with this kind of model; `None` if the file is not one.
fn parse_with<M>(json: &str) -> Option<tokenizers::Tokenizer>
where
    M: Model + DeserializeOwned + Into<ModelWrapper>,
{
    let parsed: TokenizerImpl<
        M,
        NormalizerWrapper,
        PreTokenizerWrapper,
        PostProcessorWrapper,
        DecoderWrapper,
    > = serde_json::from_str(json).ok()?;
    Some(parsed.into())
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("vocab_size", &self.vocab_size())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::TokenizerKind;
    use super::super::lines_for_tests::KINDS;
    use super::*;

    fn json(kind: TokenizerKind) -> Result<String, TokenizerError> {
        let config = TokenizerConfig {
            kind,
            vocab_size: 40,
            ..TokenizerConfig::default()
        };
        Ok(Tokenizer::train(&config, ["a rose is a rose", "is a rose"])?.to_json())
    }

    fn text(tokenizer: Option<tokenizers::Tokenizer>) -> Option<String> {
        tokenizer.and_then(|tokenizer| tokenizer.to_string(false).ok())
    }

    #[test]
    fn the_parser_for_bpe_reads_the_same_as_that_for_any_model() -> Result<(), TokenizerError> {
        let json = json(TokenizerKind::Bpe)?;
        let expected = text(json.parse().ok());
        assert!(expected.is_some());
        assert_eq!(text(parse_with::<BPE>(&json)), expected);
        Ok(())
    }

    #[test]
    fn the_parser_for_unigram_reads_the_same_as_that_for_any_model() -> Result<(), TokenizerError> {
        let json = json(TokenizerKind::Unigram)?;
        let expected = text(json.parse().ok());
        assert!(expected.is_some());
        assert_eq!(text(parse_with::<Unigram>(&json)), expected);
        Ok(())
    }

    #[test]
    fn files_without_a_type_get_the_model_of_the_parser_for_any_model() -> Result<(), TokenizerError>
    {
        for kind in KINDS.into_iter().filter(|it| *it != TokenizerKind::Char) {
            let mut file: serde_json::Value =
                serde_json::from_str(&json(kind)?).expect("it was written as JSON");
            let model = file["model"].as_object_mut().expect("it has a model");
            assert!(model.remove("type").is_some());
            let json = file.to_string();
            assert_eq!(text(parse(&json).ok()), text(json.parse().ok()), "{kind}");
        }
        Ok(())
    }
}
