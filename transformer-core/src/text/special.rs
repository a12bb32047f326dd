//! The special tokens. They are constants of the format: the same in every vocabulary, so that a
//! model, a batch and a search never have to ask a tokenizer which id ends a sentence.

/// Id of `<pad>`, which fills a batch up to its longest sentence and is hidden from attention.
pub const PAD: u32 = 0;

/// Id of `<unk>`, which stands for text that the vocabulary cannot spell.
pub const UNK: u32 = 1;

/// Id of `<s>`, the first input of the decoder.
pub const BOS: u32 = 2;

/// Id of `</s>`, which ends every sentence.
pub const EOS: u32 = 3;

/// How many ids are special; all of them lie before the first ordinary token.
pub const N_SPECIAL: usize = SPECIAL_TOKENS.len();

/// The special tokens as a vocabulary spells them, in order of their ids.
///
/// Text that contains such a spelling is never encoded to the special id.
pub const SPECIAL_TOKENS: [&str; 4] = ["<pad>", "<unk>", "<s>", "</s>"];

/// Whether `id` belongs to one of the [`SPECIAL_TOKENS`].
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
