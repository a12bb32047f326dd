//! [`PieceVocabulary`]: the ids of a model that was trained on SentencePiece's pieces, in our order.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::base64;
use super::model::{PieceSpan, SentencePiece, SentencePieceError};
use super::normalizer::SPACE_MARK;
use crate::text::special::{BOS, EOS, N_SPECIAL, PAD, SPECIAL_TOKENS, UNK, is_special};

/// How the file names this kind of tokenizer.
const KIND: &str = "SentencePiece";

/// Stands around the name of a language: `>>deu<<` at the start of a line asks for German.
const TAG: (&str, &str) = (">>", "<<");

/// Holds a SentencePiece model and a vocabulary that was made apart from it, as Marian's models have them.
///
/// The model cuts a line into pieces, and the vocabulary gives each its id; what it does not have is unknown.
/// A tag (`>>deu<<`) at the start of a line is one token, whatever the model would make of it.
///
/// The ids of the vocabulary are not ours: its special tokens lie elsewhere. Ours are the special tokens of
/// the format and then all others in their order; [`rows`](Self::rows) says which is which.
#[derive(Clone, Debug)]
pub struct PieceVocabulary {
    model: SentencePiece,
    tokens: Vec<String>,
    special: SpecialIds,
    rows: Vec<Option<u32>>,
    /// From ordinary tokens to our ids.
    ids: HashMap<String, u32>,
}

/// Says which ids of a vocabulary are special.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecialIds {
    /// Fills batches.
    pub pad: u32,
    /// Stands for what the vocabulary does not have.
    pub unk: u32,
    /// What the decoder starts from; in Marian's models the same as `pad`.
    pub start: u32,
    /// Ends a sentence.
    pub eos: u32,
}

/// Why model and vocabulary make no tokenizer.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PieceVocabularyError {
    /// A special id is beyond the vocabulary, or serves twice.
    #[error(
        "the special token `{name}` has the id {id}, which another one has too or which is beyond the \
         {n_tokens} tokens of the vocabulary"
    )]
    Special {
        /// What the token is for.
        name: &'static str,
        /// Its id.
        id: u32,
        /// How many tokens there are.
        n_tokens: usize,
    },
    /// A token is there twice.
    #[error("the token `{token}` has two ids in the vocabulary")]
    Twice {
        /// The token.
        token: String,
    },
    /// The model inside of the file cannot be read.
    #[error("the SentencePiece model in it cannot be used")]
    Model(#[from] SentencePieceError),
    /// The text is not what was written.
    #[error("it is not what was written; restore the file")]
    Text,
}

/// The file of a tokenizer of this kind.
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
    /// The file of the model, in Base64.
    spm: String,
}

impl PieceVocabulary {
    /// Puts a model and a vocabulary together; `tokens` are in the order of their ids.
    ///
    /// # Errors
    ///
    /// Returns a [`PieceVocabularyError`] if the special ids are no four, or three, of the vocabulary's, or
    /// if a token is there twice.
    pub fn new(
        model: SentencePiece,
        tokens: Vec<String>,
        special: SpecialIds,
    ) -> Result<Self, PieceVocabularyError> {
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
            ("start", start, vec![unk, eos]),
        ];
        for (name, id, others) in checks {
            if id as usize >= n_tokens || others.contains(&id) {
                return Err(PieceVocabularyError::Special { name, id, n_tokens });
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
                return Err(PieceVocabularyError::Twice { token });
            }
        }
        Ok(Self {
            model,
            tokens,
            special,
            rows,
            ids,
        })
    }

    /// Returns the model that cuts lines.
    pub fn model(&self) -> &SentencePiece {
        &self.model
    }

    /// Returns the tokens in the order of the vocabulary's ids.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Returns which ids of the vocabulary are special.
    pub fn special(&self) -> SpecialIds {
        self.special
    }

    /// Returns for each of our ids that of the vocabulary.
    ///
    /// Only `<pad>` can have none: where decoding starts from the token that fills batches, this token is our
    /// `<s>`, and our `<pad>` is one more.
    pub fn rows(&self) -> &[Option<u32>] {
        &self.rows
    }

    pub(in crate::text) fn vocab_size(&self) -> usize {
        self.rows.len()
    }

    pub(in crate::text) fn encode(&self, line: &str) -> Vec<u32> {
        self.encode_spans(line).0
    }

    pub(in crate::text) fn encode_spans(&self, line: &str) -> (Vec<u32>, Vec<Range<usize>>) {
        let tag_len = tag_len(line);
        let (tag, rest) = line.split_at(tag_len);
        let mut ids = Vec::new();
        let mut spans = Vec::new();
        if !tag.is_empty() {
            ids.push(self.ids.get(tag).copied().unwrap_or(UNK));
            spans.push(0..tag_len);
        }
        for PieceSpan { piece, span } in self.model.cut(rest) {
            ids.push(self.ids.get(&piece).copied().unwrap_or(UNK));
            spans.push(span.start + tag_len..span.end + tag_len);
        }
        (ids, spans)
    }

    pub(in crate::text) fn decode(&self, ids: &[u32]) -> String {
        let spell = |id: &u32| (!is_special(*id)).then(|| self.spelling(*id)).flatten();
        let pieces: Vec<&str> = ids.iter().filter_map(spell).collect();
        let line = self.model.join(&pieces).replace(SPACE_MARK, " ");
        // What Python strips.
        let is_space = |c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c);
        line.trim_matches(is_space).to_owned()
    }

    pub(in crate::text) fn token(&self, id: u32) -> Option<String> {
        let special = SPECIAL_TOKENS.get(id as usize).copied();
        special.or_else(|| self.spelling(id)).map(str::to_owned)
    }

    pub(in crate::text) fn id(&self, token: &str) -> Option<u32> {
        let special = (0..).zip(SPECIAL_TOKENS).find(|(_, it)| *it == token);
        special
            .map(|(id, _)| id)
            .or_else(|| self.ids.get(token).copied())
    }

    fn spelling(&self, id: u32) -> Option<&str> {
        let row = (*self.rows.get(id as usize)?)?;
        self.tokens.get(row as usize).map(String::as_str)
    }

    pub(in crate::text) fn to_json(&self) -> String {
        let file = File {
            model: FileModel {
                kind: KIND.to_owned(),
                special: self.special,
                vocab: self.tokens.clone(),
                spm: base64::encode(self.model.file()),
            },
        };
        serde_json::to_string_pretty(&file).expect("strings and numbers always have a JSON form")
    }

    /// Reads what [`to_json`](Self::to_json) wrote; `None` if the text is of another kind.
    pub(in crate::text) fn from_json(json: &str) -> Option<Result<Self, PieceVocabularyError>> {
        // Few other files have the word, and none the fields.
        if !json.contains(KIND) {
            return None;
        }
        let File { model: file } = serde_json::from_str(json).ok()?;
        if file.kind != KIND {
            return None;
        }
        let spm = base64::decode(&file.spm).ok_or(PieceVocabularyError::Text);
        let model = spm.and_then(|spm| Ok(SentencePiece::parse(&spm)?));
        Some(model.and_then(|model| Self::new(model, file.vocab, file.special)))
    }
}

/// Returns the length in bytes of the tag that a line begins with.
fn tag_len(line: &str) -> usize {
    let behind = line.strip_prefix(TAG.0).and_then(|_| line.find(TAG.1));
    behind.map_or(0, |start| start + TAG.1.len())
}
