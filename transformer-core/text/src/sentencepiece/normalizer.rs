//! [`Normalizer`]: rewrites text before a SentencePiece model splits it.

use super::proto::NormalizerSpec;
use super::trie::Trie;

/// Replaces a space.
pub(super) const SPACE_MARK: &str = "▁";

/// Rewrites text by the character map of a model, and marks its spaces.
#[derive(Clone, Debug)]
pub(super) struct Normalizer {
    pub(super) spec: NormalizerSpec,
    /// A double-array trie of Darts-clone, from characters to offsets in `replacements`.
    trie: Vec<u32>,
    /// The replacements of characters, each string terminated by a zero.
    replacements: Vec<u8>,
    /// True if spaces are marked after words instead of before them.
    is_suffix: bool,
    /// Symbols that are never rewritten.
    user_defined: Trie,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Normalized {
    pub(super) text: String,
    /// For each byte of the text, and for its end, the corresponding byte of the original.
    pub(super) origins: Vec<usize>,
}

impl Normalizer {
    /// Parses the character map; `None` if it is damaged.
    pub(super) fn new(spec: NormalizerSpec, is_suffix: bool, user_defined: Trie) -> Option<Self> {
        let (mut trie, mut replacements) = (Vec::new(), Vec::new());
        if !spec.charsmap.is_empty() {
            let (len, rest) = spec.charsmap.split_first_chunk::<4>()?;
            let (units, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            let (units, []) = units.as_chunks::<4>() else {
                return None;
            };
            trie = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
            std::str::from_utf8(rest).ok()?;
            replacements = rest.to_vec();
        }
        Some(Self {
            spec,
            trie,
            replacements,
            is_suffix,
            user_defined,
        })
    }

    /// Normalizes a text. A text of spaces becomes empty.
    pub(super) fn normalize(&self, input: &str) -> Normalized {
        let bytes = input.as_bytes();
        let mut consumed = self.n_leading(bytes);
        if consumed == bytes.len() {
            return Normalized::default();
        }
        let space: &[u8] = match self.spec.escape_whitespaces {
            true => SPACE_MARK.as_bytes(),
            false => b" ",
        };
        let mut text = Vec::with_capacity(bytes.len() * 3);
        let mut origins = Vec::with_capacity(bytes.len() * 3);
        let mut push = |text: &mut Vec<u8>, written: &[u8], consumed: usize| {
            text.extend_from_slice(written);
            origins.resize(text.len(), consumed);
        };
        if !self.is_suffix && self.spec.add_dummy_prefix {
            push(&mut text, space, consumed);
        }
        let mut after_space = self.spec.remove_extra_whitespaces;
        while consumed < bytes.len() {
            let (mut written, len) = self.next(&bytes[consumed..]);
            while let (true, Some(rest)) = (after_space, written.strip_prefix(b" ")) {
                written = rest;
            }
            for byte in written {
                match byte {
                    b' ' => push(&mut text, space, consumed),
                    byte => push(&mut text, std::slice::from_ref(byte), consumed),
                }
            }
            if !written.is_empty() {
                after_space = written.ends_with(b" ");
            }
            consumed += len;
            after_space &= self.spec.remove_extra_whitespaces;
        }
        let mut end = consumed;
        if self.spec.remove_extra_whitespaces {
            while text.ends_with(space) {
                text.truncate(text.len() - space.len());
                end = origins[text.len()];
            }
        }
        origins.truncate(text.len());
        if self.is_suffix && self.spec.add_dummy_prefix {
            text.extend_from_slice(space);
            origins.resize(text.len(), end);
        }
        origins.push(end);
        // A damaged map could split a character. Then the origins are meaningless, but the text is usable.
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        origins.resize(text.len() + 1, end);
        Normalized { text, origins }
    }

    /// Returns the number of bytes of leading spaces that the model removes.
    fn n_leading(&self, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        while self.spec.remove_extra_whitespaces && consumed < bytes.len() {
            let (written, len) = self.next(&bytes[consumed..]);
            if written != b" " {
                break;
            }
            consumed += len;
        }
        consumed
    }

    /// Returns the replacement for the longest matching prefix of the input, and the prefix's length in bytes.
    fn next<'a>(&'a self, input: &'a [u8]) -> (&'a [u8], usize) {
        if let Some(len) = self.user_defined.longest(input) {
            return (&input[..len], len);
        }
        if let Some((len, offset)) = self.longest_rule(input) {
            let written = self.replacements.get(offset..).unwrap_or_default();
            let written = written.split(|byte| *byte == 0).next();
            return (written.unwrap_or_default(), len);
        }
        let len = char_len(input[0]).min(input.len());
        match std::str::from_utf8(&input[..len]) {
            Ok(_) => (&input[..len], len),
            Err(_) => ("\u{FFFD}".as_bytes(), 1),
        }
    }

    /// Returns the longest rule that matches at the start of the input: its length in bytes, and the offset of
    /// its replacement.
    fn longest_rule(&self, input: &[u8]) -> Option<(usize, usize)> {
        let unit = |node: usize| self.trie.get(node).copied();
        let offset = |unit: u32| ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize;
        let mut node = offset(unit(0)?);
        let mut longest = None;
        for (&byte, len) in input.iter().zip(1..) {
            node ^= usize::from(byte);
            let Some(child) = unit(node) else { break };
            if child & ((1 << 31) | 0xFF) != u32::from(byte) {
                break;
            }
            node ^= offset(child);
            if child & (1 << 8) != 0
                && let Some(leaf) = unit(node)
            {
                longest = Some((len, (leaf & !(1 << 31)) as usize));
            }
        }
        longest
    }
}

/// Returns the length in bytes of a character with this first byte; 1 for a byte that does not start a character.
pub(super) fn char_len(first: u8) -> usize {
    match first >> 4 {
        0xC | 0xD => 2,
        0xE => 3,
        0xF => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalize(spec: NormalizerSpec, is_suffix: bool, input: &str) -> Normalized {
        let normalizer = Normalizer::new(spec, is_suffix, Trie::new([]));
        let normalizer = normalizer.expect("there is no map that could be damaged");
        normalizer.normalize(input)
    }

    #[test]
    fn spaces_are_collapsed_and_marked_and_one_is_put_first() {
        let normalized = normalize(NormalizerSpec::default(), false, "  ab   c ");
        assert_eq!(normalized.text, "▁ab▁c");
        assert_eq!(normalized.origins, [2, 2, 2, 2, 3, 4, 4, 4, 7, 8]);
    }

    #[test]
    fn spaces_are_kept_if_the_model_keeps_them() {
        let spec = NormalizerSpec {
            remove_extra_whitespaces: false,
            add_dummy_prefix: false,
            ..NormalizerSpec::default()
        };
        assert_eq!(normalize(spec, false, " a  b ").text, "▁a▁▁b▁");
    }

    #[test]
    fn marks_come_after_words_if_the_model_says_so() {
        let normalized = normalize(NormalizerSpec::default(), true, "a b ");
        assert_eq!(normalized.text, "a▁b▁");
    }

    #[test]
    fn a_truncated_map_is_refused() {
        let spec = NormalizerSpec {
            charsmap: vec![200, 0, 0, 0, 1, 2],
            ..NormalizerSpec::default()
        };
        assert!(Normalizer::new(spec, false, Trie::new([])).is_none());
    }
}
