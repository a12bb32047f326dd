//! The special tokens. They are constants of the format: their ids are the same in every vocabulary, so
//! models, batches and searches need no tokenizer to know them.

/// Id of `<pad>`, which pads the sentences of a batch to equal length and is hidden from attention.
pub const PAD: u32 = 0;

/// Id of `<unk>`, the token for text that the vocabulary cannot represent.
pub const UNK: u32 = 1;

/// Id of `<s>`, the first input of the decoder.
pub const BOS: u32 = 2;

/// Id of `</s>`, which ends every sentence.
pub const EOS: u32 = 3;

/// Number of special tokens. Their ids come before those of ordinary tokens.
pub const N_SPECIAL: usize = SPECIAL_TOKENS.len();

/// The special tokens as a vocabulary spells them, in order of their ids.
///
/// Text with such a spelling is never encoded to the special id.
pub const SPECIAL_TOKENS: [&str; 4] = ["<pad>", "<unk>", "<s>", "</s>"];

/// Checks whether `id` is that of one of the [`SPECIAL_TOKENS`].
///
/// # Example
/// ```
/// use transformer_core::text::special::{EOS, is_special};
/// assert!(is_special(EOS));
/// assert!(!is_special(4));
/// ```
pub const fn is_special(id: u32) -> bool {
    (id as usize) < N_SPECIAL
}
