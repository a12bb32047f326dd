//! The special tokens. They are constants of the format: their ids are the same in every vocabulary, so models, batches
//! and searches know them without a tokenizer.

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

/// The special tokens in the spelling of the vocabulary, in order of their ids.
///
/// Text with such a spelling is never encoded to the special id.
pub const SPECIAL_TOKENS: [&str; 4] = ["<pad>", "<unk>", "<s>", "</s>"];

/// The name of the `<s>` of fairseq's vocabularies, which is not the first input of the decoder.
pub const SENTENCE_START: &str = "<bos>";

pub(super) fn byte_tokens() -> impl Iterator<Item = String> {
    (0..=u8::MAX).map(byte_token)
}

/// Returns the token of a byte in SentencePiece's spelling.
pub(super) fn byte_token(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// Returns the byte of a token that spells part of an unknown character, if the token is one of these.
///
/// # Example
/// ```
/// use transformer_text::special::byte_of;
/// assert_eq!(byte_of("<0xE2>"), Some(0xE2));
/// assert_eq!(byte_of("▁house"), None);
/// ```
pub fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_byte = digits.len() == 2 && digits.bytes().all(|it| it.is_ascii_hexdigit());
    is_byte
        .then(|| u8::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Returns whether `id` is that of one of the [`SPECIAL_TOKENS`].
///
/// # Example
/// ```
/// use transformer_text::special::{EOS, is_special};
/// assert!(is_special(EOS));
/// assert!(!is_special(4));
/// ```
pub const fn is_special(id: u32) -> bool {
    (id as usize) < N_SPECIAL
}
