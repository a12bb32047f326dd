//! The pieces that are added to a vocabulary.

/// The position in a word at which a new piece is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiecePosition {
    /// At the start of a word, marked `▁` in a vocabulary.
    WordStart,
    /// Within a word, not at its start.
    InWord,
}

/// A new token, and the tokens that spelled it before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedToken {
    /// The token in the vocabulary's spelling.
    pub token: String,
    /// The ids that the tokenizer encoded it to before, without `<unk>`.
    pub parts: Vec<u32>,
}
