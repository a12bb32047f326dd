//! [`ModelProto`]: the content of a SentencePiece model file.
//!
//! The fields of `sentencepiece_model.proto` that affect encoding or decoding. Unknown fields are skipped, as protobuf
//! requires.

use prost::{Enumeration, Message};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum PieceKind {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6,
}

impl PieceKind {
    /// Returns whether pieces of this kind can occur in a segmentation.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Normal | Self::UserDefined | Self::Unused)
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Piece {
    #[prost(string, required, tag = "1")]
    pub(super) text: String,
    /// A log-probability in unigram models, minus the rank of the merge in BPE.
    #[prost(float, required, tag = "2")]
    pub(super) score: f32,
    #[prost(enumeration = "PieceKind", required, tag = "3")]
    pub(super) kind: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum ModelKind {
    Unigram = 1,
    Bpe = 2,
    Word = 3,
    Char = 4,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrainerSpec {
    #[prost(enumeration = "ModelKind", required, tag = "3")]
    kind: i32,
    #[prost(bool, required, tag = "24")]
    pub(super) treat_whitespace_as_suffix: bool,
    #[prost(bool, required, tag = "35")]
    pub(super) byte_fallback: bool,
    #[prost(string, required, tag = "44", default = " \u{2047} ")]
    pub(super) unk_surface: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct NormalizerSpec {
    #[prost(bytes = "vec", required, tag = "2")]
    pub(super) charsmap: Vec<u8>,
    #[prost(bool, required, tag = "3", default = "true")]
    pub(super) add_dummy_prefix: bool,
    #[prost(bool, required, tag = "4", default = "true")]
    pub(super) remove_extra_whitespaces: bool,
    #[prost(bool, required, tag = "5", default = "true")]
    pub(super) escape_whitespaces: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ModelProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) pieces: Vec<Piece>,
    #[prost(message, required, tag = "2")]
    pub(super) trainer: TrainerSpec,
    #[prost(message, required, tag = "3")]
    pub(super) normalizer: NormalizerSpec,
    /// Rewrites decoded text, unless its map is empty.
    #[prost(message, required, tag = "5")]
    pub(super) denormalizer: NormalizerSpec,
}

impl ModelProto {
    /// Returns a unigram model of these pieces, which does not normalize text.
    pub(super) fn unigram(pieces: Vec<Piece>, byte_fallback: bool) -> Self {
        Self {
            pieces,
            trainer: TrainerSpec {
                kind: ModelKind::Unigram.into(),
                byte_fallback,
                ..TrainerSpec::default()
            },
            ..Self::default()
        }
    }

    /// Parses a file; `None` if it is not protobuf, a text is not UTF-8 or a kind is unknown.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let proto = Self::decode(bytes).ok()?;
        let mut kinds = proto.pieces.iter().map(|piece| piece.kind);
        let are_known = kinds.all(PieceKind::is_valid) && ModelKind::is_valid(proto.trainer.kind);
        are_known.then_some(proto)
    }
}

pub(super) fn append_piece(file: &mut Vec<u8>, text: &str, score: f32, kind: PieceKind) {
    let (text, kind) = (text.to_owned(), kind.into());
    prost::encoding::message::encode(1, &Piece { text, score, kind }, file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_skipped() {
        // piece { "ab", -1.5, CONTROL, field 200 }, then a field 9 of eight bytes.
        let piece = [
            0x0A, 2, b'a', b'b', 0x15, 0, 0, 0xC0, 0xBF, 0x18, 3, 0xC0, 0x0C, 1,
        ];
        let mut file = vec![0x0A, piece.len() as u8];
        file.extend(piece);
        file.extend([0x49, 1, 2, 3, 4, 5, 6, 7, 8]);
        let proto = ModelProto::parse(&file).expect("the bytes are a message");
        let expected = Piece {
            text: "ab".to_owned(),
            score: -1.5,
            kind: PieceKind::Control.into(),
        };
        assert_eq!(proto.pieces, [expected]);
        assert_eq!(proto.trainer.kind(), ModelKind::Unigram);
    }

    #[test]
    fn an_appended_piece_is_read_back() {
        let mut file = Vec::new();
        let text = "ä".repeat(100); // Its length takes two bytes.
        append_piece(&mut file, "▁b", -2.25, PieceKind::UserDefined);
        append_piece(&mut file, &text, -7.5, PieceKind::Normal);
        let proto = ModelProto::parse(&file).expect("the bytes are a message");
        let found: Vec<_> = proto
            .pieces
            .iter()
            .map(|it| (&*it.text, it.score, it.kind()))
            .collect();
        let expected = [
            ("▁b", -2.25, PieceKind::UserDefined),
            (&*text, -7.5, PieceKind::Normal),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_truncated_message_is_none() {
        assert_eq!(ModelProto::parse(&[0x0A, 5, 0x0A, 2, b'a']), None);
    }
}
