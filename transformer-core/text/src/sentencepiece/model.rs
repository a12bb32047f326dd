//! [`SentencePiece`]: a model that splits text into pieces and joins them again.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::SentencePieceError;
use super::normalizer::{Normalizer, SPACE_MARK};
use super::proto::{ModelKind, ModelProto, PieceKind};
use super::segmenter::Segmenter;
use super::trie::Trie;
use crate::special::byte_of;

/// A SentencePiece model, which splits lines into the same pieces as SentencePiece 0.2.1.
///
/// Supports unigram and BPE models with normalization, user-defined symbols, unused pieces and byte fallback.
#[derive(Clone)]
pub struct SentencePiece {
    file: Vec<u8>,
    normalizer: Normalizer,
    pub(super) segmenter: Segmenter,
    /// The kinds of the pieces that cannot occur in a segmentation.
    other_kinds: HashMap<String, PieceKind>,
    unk_surface: String,
    byte_fallback: bool,
    /// True if the mark at the start of a text is dropped when pieces are joined.
    drops_first_mark: bool,
}

/// A piece of a line, with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceSpan {
    /// The piece, or unknown characters, with `▁` for spaces.
    pub piece: String,
    /// The bytes of the line that it covers.
    pub span: Range<usize>,
}

impl SentencePiece {
    /// Parses the content of a `.spm` or `.model` file.
    pub fn parse(file: &[u8]) -> Result<Self, SentencePieceError> {
        let proto = ModelProto::parse(file).filter(|proto| !proto.pieces.is_empty());
        let proto = proto.ok_or(SentencePieceError::Damaged)?;
        let unsupported = match proto {
            _ if proto.trainer.kind() == ModelKind::Word => Some("splits text into words"),
            _ if proto.trainer.kind() == ModelKind::Char => Some("splits text into characters"),
            _ if !proto.denormalizer.charsmap.is_empty() => Some("rewrites text when decoding"),
            _ => None,
        };
        if let Some(what) = unsupported {
            return Err(SentencePieceError::Unsupported { what });
        }
        let mut texts = HashSet::new();
        let mut pieces = proto.pieces.iter().map(|piece| piece.text.as_str());
        if let Some(index) = pieces.position(|text| text.is_empty() || !texts.insert(text)) {
            let text = proto.pieces[index].text.clone();
            return Err(SentencePieceError::Piece { index, text });
        }
        let of_kind = |kind| {
            proto
                .pieces
                .iter()
                .filter(move |piece| piece.kind() == kind)
        };
        let n_found = of_kind(PieceKind::Unknown).count();
        if n_found != 1 {
            return Err(SentencePieceError::Unknown { n_found });
        }
        let symbols = of_kind(PieceKind::UserDefined).map(|piece| (piece.text.as_str(), 0));
        let symbols = Trie::new(symbols);
        let segmenter = Segmenter::new(proto.trainer.kind(), &proto.pieces, symbols.clone());
        let others = proto.pieces.iter().filter(|it| !it.kind().is_text());
        let other_kinds = others.map(|it| (it.text.clone(), it.kind())).collect();
        let spec = proto.normalizer;
        let drops_first_mark = spec.add_dummy_prefix || spec.remove_extra_whitespaces;
        let normalizer = Normalizer::new(spec, proto.trainer.treat_whitespace_as_suffix, symbols)
            .ok_or(SentencePieceError::CharacterMap)?;
        Ok(Self {
            file: file.to_vec(),
            normalizer,
            segmenter,
            other_kinds,
            unk_surface: proto.trainer.unk_surface,
            byte_fallback: proto.trainer.byte_fallback,
            drops_first_mark,
        })
    }

    /// Returns the content of the file.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Returns all pieces, in the order of their ids.
    pub fn pieces(&self) -> Vec<String> {
        let pieces = ModelProto::parse(&self.file).map(|proto| proto.pieces);
        pieces
            .unwrap_or_default()
            .into_iter()
            .map(|piece| piece.text)
            .collect()
    }

    /// Returns whether the model writes unknown characters as bytes, with the pieces `<0x00>` to `<0xFF>`.
    pub fn has_byte_fallback(&self) -> bool {
        self.byte_fallback
    }

    fn kind(&self, piece: &str) -> Option<PieceKind> {
        let other = || self.other_kinds.get(piece).copied();
        self.segmenter.kind(piece).or_else(other)
    }

    pub(super) fn is_user_defined(&self, piece: &str) -> bool {
        self.kind(piece) == Some(PieceKind::UserDefined)
    }

    /// Splits a line into pieces. A run of unknown characters is returned as one piece, even by a model with byte
    /// fallback.
    pub fn split(&self, line: &str) -> Vec<PieceSpan> {
        let normalized = self.normalizer.normalize(line);
        let parts = self.segmenter.segment(&normalized.text).into_iter();
        let parts = parts.map(|part| PieceSpan {
            piece: normalized.text[part.range.clone()].to_owned(),
            span: normalized.origins[part.range.start]..normalized.origins[part.range.end],
        });
        parts.collect()
    }

    /// Returns a line in the form that the model reads, with `▁` for spaces.
    pub(super) fn normalized(&self, line: &str) -> String {
        self.normalizer.normalize(line).text
    }

    /// Splits a normalized text into pieces. A run of unknown characters is one of them.
    pub(super) fn parts<'a>(&self, normalized: &'a str) -> Vec<&'a str> {
        let parts = self.segmenter.segment(normalized).into_iter();
        parts.map(|part| &normalized[part.range]).collect()
    }

    pub(super) fn has_piece(&self, piece: &str) -> bool {
        self.kind(piece).is_some()
    }

    /// Joins pieces to a line, with a space for every `▁` except the first, and U+FFFD for every byte that is not
    /// UTF-8.
    ///
    /// Text that is not a piece of the model is written unchanged.
    pub fn join<S: AsRef<str>>(&self, pieces: &[S]) -> String {
        let mut line = String::new();
        let mut is_first = true;
        let mut bytes = Vec::new();
        for piece in pieces {
            let piece = piece.as_ref();
            let kind = self.kind(piece);
            if let (Some(PieceKind::Byte), Some(byte)) = (kind, byte_of(piece)) {
                bytes.push(byte);
                continue;
            }
            push_text(&mut line, &mut bytes);
            is_first &= line.is_empty();
            match kind {
                Some(PieceKind::Control) => {}
                Some(PieceKind::Unknown) => line.push_str(&self.unk_surface),
                None => line.push_str(piece),
                Some(_) => {
                    let bare = piece.strip_prefix(SPACE_MARK);
                    let bare = bare.filter(|_| is_first && self.drops_first_mark);
                    line.push_str(&bare.unwrap_or(piece).replace(SPACE_MARK, " "));
                    // If runs of spaces are kept, only one mark belongs to the first word.
                    is_first &= bare.is_none() || self.normalizer.spec.remove_extra_whitespaces;
                }
            }
            is_first &= line.is_empty();
        }
        push_text(&mut line, &mut bytes);
        line
    }
}

fn push_text(line: &mut String, bytes: &mut Vec<u8>) {
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        line.push_str(valid);
        rest = &rest[valid.len()..];
        if let [_, after @ ..] = rest {
            line.push(char::REPLACEMENT_CHARACTER);
            rest = after;
        }
    }
    bytes.clear();
}

impl std::fmt::Debug for SentencePiece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SentencePiece")
            .field("n_pieces", &self.segmenter.kinds.len())
            .finish_non_exhaustive()
    }
}
