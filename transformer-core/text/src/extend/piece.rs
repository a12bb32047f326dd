//! What is added to a vocabulary.

/// Where in a word a new piece is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiecePosition {
    /// At the start of a word, as `▁` says in a vocabulary.
    WordStart,
    /// Within a word, not at its start.
    InWord,
}

/// A new token, and what stood in its position before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedToken {
    /// The token as the vocabulary spells it.
    pub token: String,
    /// The ids by which the tokenizer encoded it before, without `<unk>`.
    pub parts: Vec<u32>,
}
