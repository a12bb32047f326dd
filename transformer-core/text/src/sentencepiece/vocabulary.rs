//! [`PieceVocabulary`]: a SentencePiece model with the token ids of an imported translation model.

use std::collections::HashMap;
use std::ops::Range;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};

use super::SentencePieceError;
use super::model::{PieceSpan, SentencePiece};
use super::normalizer::SPACE_MARK;
use crate::json;
use crate::language_tokens::LanguageTokens;
use crate::special::{
    BOS, EOS, N_SPECIAL, PAD, SPECIAL_TOKENS, UNK, byte_of, byte_token, is_special,
};

const KIND: &str = "SentencePiece";

/// Encloses the target language: `>>deu<<` at the start of a line requests German.
const TAG: (&str, &str) = (">>", "<<");

/// A SentencePiece model and a separate vocabulary, as in Marian's models.
///
/// The model splits a line into pieces, and the vocabulary maps each to its id; pieces that are not in it are unknown.
/// A tag (`>>deu<<`) at the start of a line is one token, even if the model would split it.
///
/// The vocabulary of a multilingual model has [`LanguageTokens`] instead of tags. Text is never encoded to them, and
/// they are left out of decoded text, as are all other tokens that are not pieces. The latter holds for any vocabulary
/// [`with_only_pieces`](Self::with_only_pieces), too.
///
/// The ids of the vocabulary are renumbered: the special tokens of this crate come first, then all other tokens in
/// their order. [`rows`](Self::rows) maps the new ids to those of the vocabulary.
#[derive(Clone, Debug)]
pub struct PieceVocabulary {
    model: SentencePiece,
    tokens: Vec<String>,
    special: SpecialIds,
    rows: Vec<Option<u32>>,
    /// Maps ordinary tokens to our ids.
    ids: HashMap<String, u32>,
    languages: Option<LanguageTokens>,
    only_pieces: bool,
}

/// The ids of a vocabulary's special tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecialIds {
    /// Padding.
    pub pad: u32,
    /// Unknown tokens.
    pub unk: u32,
    /// First input of the decoder; in Marian's models the same as `pad`, and in fairseq's the same as `eos`.
    pub start: u32,
    /// End of a sentence.
    pub eos: u32,
}

/// The JSON file of this kind of tokenizer.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: FileModel,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileModel {
    #[serde(rename = "type")]
    kind: String,
    special: SpecialIds,
    vocab: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    languages: Option<LanguageTokens>,
    #[serde(default, skip_serializing_if = "is_false")]
    only_pieces: bool,
    /// The model file, in Base64.
    spm: String,
}

impl PieceVocabulary {
    /// Combines a model and a vocabulary; `tokens` are in the order of their ids.
    ///
    /// Special ids must be in the vocabulary and distinct, but `start` may be equal to `pad` or `eos`.
    pub fn new(
        model: SentencePiece,
        tokens: Vec<String>,
        special: SpecialIds,
    ) -> Result<Self, SentencePieceError> {
        let n_tokens = tokens.len();
        let SpecialIds {
            pad,
            unk,
            start,
            eos,
        } = special;
        let checks = [
            ("pad", pad, vec![]),
            ("unk", unk, vec![pad]),
            ("eos", eos, vec![pad, unk]),
            ("start", start, vec![unk]),
        ];
        for (name, id, others) in checks {
            if id as usize >= n_tokens || others.contains(&id) {
                return Err(SentencePieceError::Special { name, id, n_tokens });
            }
        }
        let mut rows = vec![None; N_SPECIAL];
        rows[PAD as usize] = (pad != start).then_some(pad);
        rows[UNK as usize] = Some(unk);
        rows[BOS as usize] = Some(start);
        rows[EOS as usize] = Some(eos);
        let is_ordinary = |id: &u32| ![pad, unk, start, eos].contains(id);
        rows.extend((0..).take(n_tokens).filter(is_ordinary).map(Some));
        let mut ids = HashMap::with_capacity(n_tokens);
        for (id, row) in (0..).zip(&rows).skip(N_SPECIAL) {
            let token = row.map_or("", |row| &tokens[row as usize]);
            if ids.insert(token.to_owned(), id).is_some() {
                let token = token.to_owned();
                return Err(SentencePieceError::Twice { token });
            }
        }
        Ok(Self {
            model,
            tokens,
            special,
            rows,
            ids,
            languages: None,
            only_pieces: false,
        })
    }

    /// Makes tokens that are not pieces of the model unreadable, as in models of Pegasus: a line begins with no tag, and
    /// these tokens have no text.
    #[must_use]
    pub fn with_only_pieces(self) -> Self {
        Self {
            only_pieces: true,
            ..self
        }
    }

    /// Adds the languages of a multilingual model.
    pub fn with_languages(
        self,
        languages: Option<LanguageTokens>,
    ) -> Result<Self, SentencePieceError> {
        let tokens = languages.iter().flat_map(LanguageTokens::all);
        let mut tokens = tokens.map(|language| &language.token);
        if let Some(token) = tokens.find(|token| !self.ids.contains_key(*token)) {
            let token = token.clone();
            return Err(SentencePieceError::Language { token });
        }
        drop(tokens);
        Ok(Self { languages, ..self })
    }

    /// Returns the languages, if the vocabulary is that of a multilingual model.
    pub fn languages(&self) -> Option<&LanguageTokens> {
        self.languages.as_ref()
    }

    /// Returns the SentencePiece model.
    pub fn model(&self) -> &SentencePiece {
        &self.model
    }

    /// Returns the tokens in the order of the vocabulary's ids.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Returns the ids of the special tokens in the vocabulary.
    pub fn special(&self) -> SpecialIds {
        self.special
    }

    /// Returns the vocabulary's id for each of our ids.
    ///
    /// Only `<pad>` can have no id there: if `pad` and `start` are the same token, it becomes our `<s>`, and our
    /// `<pad>` is a new token. If `start` and `eos` are the same, our `<s>` and `</s>` have the same id there.
    pub fn rows(&self) -> &[Option<u32>] {
        &self.rows
    }

    pub(crate) fn vocab_size(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn encode(&self, line: &str) -> Vec<u32> {
        self.encode_spans(line).0
    }

    pub(crate) fn encode_spans(&self, line: &str) -> (Vec<u32>, Vec<Range<usize>>) {
        let tag_len = match self.has_only_pieces() {
            true => 0,
            false => tag_len(line),
        };
        let (tag, rest) = line.split_at(tag_len);
        let mut ids = Vec::new();
        let mut spans = Vec::new();
        if !tag.is_empty() {
            ids.push(self.ids.get(tag).copied().unwrap_or(UNK));
            spans.push(0..tag_len);
        }
        for PieceSpan { piece, span } in self.model.split(rest) {
            let of_piece = self.ids_of(&piece).unwrap_or_else(|| vec![UNK]);
            spans.resize(
                spans.len() + of_piece.len(),
                span.start + tag_len..span.end + tag_len,
            );
            ids.extend(of_piece);
        }
        (ids, spans)
    }

    /// Returns the id of a piece, or those of its bytes; `None` if it is unknown.
    pub(super) fn ids_of(&self, piece: &str) -> Option<Vec<u32>> {
        // Text that spells a byte token is not a byte.
        let is_byte = self.model.has_byte_fallback() && byte_of(piece).is_some();
        let is_text = !is_byte && self.can_be_text(piece);
        let known = self.ids.get(piece).copied().filter(|_| is_text);
        known.map(|id| vec![id]).or_else(|| self.byte_ids(piece))
    }

    /// Returns whether a token may be a part of a text.
    fn can_be_text(&self, token: &str) -> bool {
        !self.has_only_pieces() || self.model.has_piece(token)
    }

    /// Returns whether tokens that are not pieces of the model have no text.
    pub(super) fn has_only_pieces(&self) -> bool {
        self.only_pieces || self.languages.is_some()
    }

    /// Returns the tokens of the bytes of a text; `None` if the model has no byte fallback, or some of them are not in
    /// the vocabulary.
    fn byte_ids(&self, text: &str) -> Option<Vec<u32>> {
        let id = |byte: u8| self.ids.get(&byte_token(byte)).copied();
        let has_fallback = self.model.has_byte_fallback();
        has_fallback
            .then(|| text.bytes().map(id).collect())
            .flatten()
    }

    pub(crate) fn decode(&self, ids: &[u32]) -> String {
        let spell = |id: &u32| (!is_special(*id)).then(|| self.spelling(*id)).flatten();
        let pieces = ids.iter().filter_map(spell);
        let pieces: Vec<&str> = pieces.filter(|it| self.can_be_text(it)).collect();
        let line = self.model.join(&pieces).replace(SPACE_MARK, " ");
        // The characters that Python's `strip` removes.
        let is_space = |c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c);
        line.trim_matches(is_space).to_owned()
    }

    pub(crate) fn token(&self, id: u32) -> Option<String> {
        let special = SPECIAL_TOKENS.get(id as usize).copied();
        special.or_else(|| self.spelling(id)).map(str::to_owned)
    }

    pub(crate) fn id(&self, token: &str) -> Option<u32> {
        let special = (0..).zip(SPECIAL_TOKENS).find(|(_, it)| *it == token);
        special
            .map(|(id, _)| id)
            .or_else(|| self.ids.get(token).copied())
    }

    /// Returns the ids of the model's user-defined symbols and of all tags, in ascending order.
    pub(crate) fn user_symbols(&self) -> Vec<u32> {
        let is_tag = |token: &str| !token.is_empty() && tag_len(token) == token.len();
        let is_symbol = |token: &str| self.model.is_user_defined(token) || is_tag(token);
        let symbols = self.ids.iter().filter(|(token, _)| is_symbol(token));
        let mut ids: Vec<u32> = symbols.map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids
    }

    fn spelling(&self, id: u32) -> Option<&str> {
        let row = (*self.rows.get(id as usize)?)?;
        self.tokens.get(row as usize).map(String::as_str)
    }

    pub(crate) fn to_json(&self) -> String {
        let file = File {
            model: FileModel {
                kind: KIND.to_owned(),
                special: self.special,
                vocab: self.tokens.clone(),
                languages: self.languages.clone(),
                only_pieces: self.only_pieces,
                spm: BASE64_STANDARD.encode(self.model.file()),
            },
        };
        serde_json::to_string_pretty(&file)
            .expect("strings and integers can always be written as JSON")
    }

    /// Parses the output of [`to_json`](Self::to_json); `None` if the text is another kind of tokenizer.
    pub(crate) fn from_json(text: &str) -> Option<Result<Self, SentencePieceError>> {
        // A quick check first: few other files contain the word.
        if !text.contains(KIND) {
            return None;
        }
        let value = json::parse(text.as_bytes()).ok()?;
        let is_ours = value["model"]["type"] == KIND;
        is_ours.then(|| {
            let file = json::from_value(&value).map_err(|error| SentencePieceError::File {
                message: error.to_string(),
            })?;
            Self::from_file(file)
        })
    }

    fn from_file(File { model: file }: File) -> Result<Self, SentencePieceError> {
        let spm = BASE64_STANDARD.decode(&file.spm);
        let spm = spm.map_err(|_| SentencePieceError::Base64)?;
        let model = SentencePiece::parse(&spm).map_err(SentencePieceError::in_vocabulary)?;
        let vocabulary = Self {
            only_pieces: file.only_pieces,
            ..Self::new(model, file.vocab, file.special)?
        };
        vocabulary.with_languages(file.languages)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Returns the length in bytes of the tag at the start of a line.
fn tag_len(line: &str) -> usize {
    let end = line.strip_prefix(TAG.0).and_then(|_| line.find(TAG.1));
    end.map_or(0, |start| start + TAG.1.len())
}
