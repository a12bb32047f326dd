//! [`ModelProto`]: the content of a SentencePiece model file.
//!
//! Parses the relevant fields of `sentencepiece_model.proto` from protobuf's wire format
//! (<https://protobuf.dev/programming-guides/encoding/>). Unknown fields are skipped, as protobuf requires.

/// The kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) text: String,
    /// A log-probability in unigram models, minus the rank of the merge in BPE.
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

/// The segmentation algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelKind {
    Unigram,
    Bpe,
    Word,
    Char,
}

/// Settings of the normalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NormalizerSpec {
    pub(super) charsmap: Vec<u8>,
    pub(super) add_dummy_prefix: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
}

/// The settings in a model file that affect encoding or decoding.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelProto {
    pub(super) pieces: Vec<Piece>,
    pub(super) kind: ModelKind,
    pub(super) treat_whitespace_as_suffix: bool,
    pub(super) byte_fallback: bool,
    pub(super) unk_surface: String,
    pub(super) normalizer: NormalizerSpec,
    /// True if the model rewrites decoded text.
    pub(super) has_denormalizer: bool,
}

/// A value of the wire format.
enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
    Fixed64,
}

impl Default for NormalizerSpec {
    fn default() -> Self {
        Self {
            charsmap: Vec::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}

impl ModelProto {
    /// Parses a file; `None` if it is not protobuf, a text is not UTF-8 or a kind is unknown.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut proto = Self {
            pieces: Vec::new(),
            kind: ModelKind::Unigram,
            treat_whitespace_as_suffix: false,
            byte_fallback: false,
            unk_surface: " \u{2047} ".to_owned(),
            normalizer: NormalizerSpec::default(),
            has_denormalizer: false,
        };
        fields(bytes, |number, value| {
            match (number, value) {
                (1, Wire::Bytes(piece)) => proto.pieces.push(read_piece(piece)?),
                (2, Wire::Bytes(trainer)) => proto.read_trainer(trainer)?,
                (3, Wire::Bytes(spec)) => proto.normalizer.read(spec)?,
                (5, Wire::Bytes(spec)) => {
                    let mut denormalizer = NormalizerSpec::default();
                    denormalizer.read(spec)?;
                    proto.has_denormalizer = !denormalizer.charsmap.is_empty();
                }
                _ => {}
            }
            Some(())
        })?;
        Some(proto)
    }

    fn read_trainer(&mut self, bytes: &[u8]) -> Option<()> {
        fields(bytes, |number, value| {
            match (number, value) {
                (3, Wire::Varint(kind)) => {
                    self.kind = match kind {
                        1 => ModelKind::Unigram,
                        2 => ModelKind::Bpe,
                        3 => ModelKind::Word,
                        4 => ModelKind::Char,
                        _ => return None,
                    };
                }
                (24, Wire::Varint(value)) => self.treat_whitespace_as_suffix = value != 0,
                (35, Wire::Varint(value)) => self.byte_fallback = value != 0,
                (44, Wire::Bytes(surface)) => self.unk_surface = text(surface)?,
                _ => {}
            }
            Some(())
        })
    }
}

impl NormalizerSpec {
    fn read(&mut self, bytes: &[u8]) -> Option<()> {
        fields(bytes, |number, value| {
            match (number, value) {
                (2, Wire::Bytes(charsmap)) => self.charsmap = charsmap.to_vec(),
                (3, Wire::Varint(value)) => self.add_dummy_prefix = value != 0,
                (4, Wire::Varint(value)) => self.remove_extra_whitespaces = value != 0,
                (5, Wire::Varint(value)) => self.escape_whitespaces = value != 0,
                _ => {}
            }
            Some(())
        })
    }
}

/// Appends a piece to a model file.
pub(super) fn append_piece(file: &mut Vec<u8>, text: &str, score: f32, kind: PieceKind) {
    let kind = match kind {
        PieceKind::Normal => 1,
        PieceKind::Unknown => 2,
        PieceKind::Control => 3,
        PieceKind::UserDefined => 4,
        PieceKind::Unused => 5,
        PieceKind::Byte => 6,
    };
    // Number of the field · 8 + type of the value.
    let mut piece = vec![1 << 3 | 2];
    push_varint(&mut piece, text.len() as u64);
    piece.extend(text.as_bytes());
    piece.push(2 << 3 | 5);
    piece.extend(score.to_le_bytes());
    piece.extend([3 << 3, kind]);
    file.push(1 << 3 | 2);
    push_varint(file, piece.len() as u64);
    file.extend(piece);
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read_piece(bytes: &[u8]) -> Option<Piece> {
    let mut piece = Piece {
        text: String::new(),
        score: 0.0,
        kind: PieceKind::Normal,
    };
    fields(bytes, |number, value| {
        match (number, value) {
            (1, Wire::Bytes(bytes)) => piece.text = text(bytes)?,
            (2, Wire::Fixed32(bytes)) => piece.score = f32::from_le_bytes(bytes),
            (3, Wire::Varint(kind)) => {
                piece.kind = match kind {
                    1 => PieceKind::Normal,
                    2 => PieceKind::Unknown,
                    3 => PieceKind::Control,
                    4 => PieceKind::UserDefined,
                    5 => PieceKind::Unused,
                    6 => PieceKind::Byte,
                    _ => return None,
                };
            }
            _ => {}
        }
        Some(())
    })?;
    Some(piece)
}

fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

/// Calls `read` with the number and the value of every field of a message. Returns `None` if the bytes are not a
/// message, or as soon as `read` does.
fn fields<'a>(
    mut bytes: &'a [u8],
    mut read: impl FnMut(u64, Wire<'a>) -> Option<()>,
) -> Option<()> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Wire::Varint(varint(&mut bytes)?),
            1 => {
                let (_, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                Wire::Fixed64
            }
            2 => {
                let len = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(len)?;
                bytes = rest;
                Wire::Bytes(value)
            }
            5 => {
                let (value, rest) = bytes.split_first_chunk::<4>()?;
                bytes = rest;
                Wire::Fixed32(*value)
            }
            _ => return None,
        };
        read(key >> 3, value)?;
    }
    Some(())
}

/// Parses a varint at the front: seven bits per byte, lowest bits first.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_is_read_as_the_specification_writes_it() {
        let mut bytes: &[u8] = &[0x96, 0x01, 0x07];
        assert_eq!(varint(&mut bytes), Some(150));
        assert_eq!(bytes, [7]);
    }

    #[test]
    fn an_unterminated_varint_is_none() {
        assert_eq!(varint(&mut [0xFF; 11].as_slice()), None);
        assert_eq!(varint(&mut [0x80].as_slice()), None);
    }

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
            kind: PieceKind::Control,
        };
        assert_eq!(proto.pieces, [expected]);
        assert_eq!(proto.kind, ModelKind::Unigram);
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
            .map(|it| (&*it.text, it.score, it.kind))
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
