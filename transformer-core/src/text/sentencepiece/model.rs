//! [`SentencePiece`]: a model file that cuts text into pieces and joins them again.

use std::collections::HashMap;
use std::ops::Range;

use thiserror::Error;

use super::normalizer::{Normalizer, SPACE_MARK};
use super::proto::{ModelKind, ModelProto, Piece, PieceKind};
use super::segmenter::Segmenter;
use super::trie::Trie;

/// Cuts lines into the pieces that SentencePiece 0.2.1 cuts them into.
///
/// Reads unigram and BPE models with their normalization, user-defined symbols and unused pieces.
#[derive(Clone)]
pub struct SentencePiece {
    file: Vec<u8>,
    normalizer: Normalizer,
    segmenter: Segmenter,
    kinds: HashMap<String, PieceKind>,
    unk_surface: String,
    /// Whether a mark at the start of a text is that of its first word.
    drops_first_mark: bool,
}

/// Why a file is no SentencePiece model that can be used.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SentencePieceError {
    /// The file is something else, or not whole.
    #[error("it is no SentencePiece model, or is cut off; download it again")]
    Damaged,
    /// The character map cannot be read.
    #[error("the character map of its normalizer is broken; download it again")]
    CharacterMap,
    /// A piece is empty or there twice.
    #[error("piece {index} is `{text}`, which is empty or was there before; download it again")]
    Piece {
        /// The place of the piece, counted from 0.
        index: usize,
        /// The piece.
        text: String,
    },
    /// There is not one piece for what is unknown.
    #[error("it has {n_found} unknown pieces instead of one; download it again")]
    Unknown {
        /// How many it has.
        n_found: usize,
    },
    /// The model does what is not done here.
    #[error("it {what}, which is not supported; unigram and BPE models without that are")]
    Unsupported {
        /// What it does.
        what: &'static str,
    },
}

/// What a line was cut into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceSpan {
    /// The piece, or characters that the model does not know, with `▁` for spaces.
    pub piece: String,
    /// The bytes of the line that it stands for.
    pub span: Range<usize>,
}

impl SentencePiece {
    /// Reads the content of a `.spm` or `.model` file.
    ///
    /// # Errors
    ///
    /// Returns a [`SentencePieceError`] if the file is damaged or of a kind that is not supported.
    pub fn parse(file: &[u8]) -> Result<Self, SentencePieceError> {
        let proto = ModelProto::parse(file).filter(|proto| !proto.pieces.is_empty());
        let proto = proto.ok_or(SentencePieceError::Damaged)?;
        let unsupported = match proto {
            _ if proto.kind == ModelKind::Word => Some("cuts text into words"),
            _ if proto.kind == ModelKind::Char => Some("cuts text into characters"),
            _ if proto.byte_fallback => Some("spells unknown characters in bytes"),
            _ if proto.has_denormalizer => Some("rewrites text when it is decoded"),
            _ => None,
        };
        if let Some(what) = unsupported {
            return Err(SentencePieceError::Unsupported { what });
        }
        let mut kinds = HashMap::new();
        for (index, Piece { text, kind, .. }) in proto.pieces.iter().enumerate() {
            if text.is_empty() || kinds.insert(text.clone(), *kind).is_some() {
                let text = text.clone();
                return Err(SentencePieceError::Piece { index, text });
            }
        }
        let of_kind = |wanted| proto.pieces.iter().filter(move |it| it.kind == wanted);
        let n_found = of_kind(PieceKind::Unknown).count();
        if n_found != 1 {
            return Err(SentencePieceError::Unknown { n_found });
        }
        let symbols = of_kind(PieceKind::UserDefined).map(|it| (it.text.as_str(), 0));
        let symbols = Trie::new(symbols);
        let segmenter = Segmenter::new(proto.kind, &proto.pieces, symbols.clone());
        let spec = proto.normalizer;
        let drops_first_mark = spec.add_dummy_prefix || spec.remove_extra_whitespaces;
        let normalizer = Normalizer::new(spec, proto.treat_whitespace_as_suffix, symbols)
            .ok_or(SentencePieceError::CharacterMap)?;
        Ok(Self {
            file: file.to_vec(),
            normalizer,
            segmenter,
            kinds,
            unk_surface: proto.unk_surface,
            drops_first_mark,
        })
    }

    /// Returns the content of the file.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Cuts a line into pieces. Characters that the model does not know come as they are, neighbors together.
    pub fn cut(&self, line: &str) -> Vec<PieceSpan> {
        let normalized = self.normalizer.normalize(line);
        let parts = self.segmenter.segment(&normalized.text).into_iter();
        let parts = parts.map(|part| PieceSpan {
            piece: normalized.text[part.range.clone()].to_owned(),
            span: normalized.origins[part.range.start]..normalized.origins[part.range.end],
        });
        parts.collect()
    }

    /// Joins pieces to a line, with a space for every `▁` but the first.
    ///
    /// What is no piece of the model is written as it is.
    pub fn join<S: AsRef<str>>(&self, pieces: &[S]) -> String {
        let mut line = String::new();
        let mut is_first = true;
        for piece in pieces {
            let piece = piece.as_ref();
            match self.kinds.get(piece) {
                Some(PieceKind::Control) => {}
                Some(PieceKind::Unknown) => line.push_str(&self.unk_surface),
                None => line.push_str(piece),
                Some(_) => {
                    let bare = piece.strip_prefix(SPACE_MARK);
                    let bare = bare.filter(|_| is_first && self.drops_first_mark);
                    line.push_str(&bare.unwrap_or(piece).replace(SPACE_MARK, " "));
                    // Where runs of spaces are kept, only one mark is the first word's.
                    is_first &= bare.is_none() || self.drops_all_marks();
                }
            }
            is_first &= line.is_empty();
        }
        line
    }

    fn drops_all_marks(&self) -> bool {
        self.normalizer.joins_spaces()
    }
}

impl std::fmt::Debug for SentencePiece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SentencePiece")
            .field("n_pieces", &self.kinds.len())
            .finish_non_exhaustive()
    }
}
