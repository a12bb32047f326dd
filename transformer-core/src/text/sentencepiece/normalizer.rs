//! [`Normalizer`]: text as a SentencePiece model wants to see it.

use super::proto::NormalizerSpec;
use super::trie::Trie;

/// Stands for a space.
pub(super) const SPACE_MARK: &str = "▁";

/// Rewrites text by the character map of a model, and marks its spaces.
#[derive(Clone, Debug)]
pub(super) struct Normalizer {
    spec: NormalizerSpec,
    /// A double-array trie of Darts-clone, from characters to places in `written`.
    trie: Vec<u32>,
    /// What characters become, each string ended by a zero.
    written: Vec<u8>,
    /// Whether spaces are marked behind words instead of before them.
    is_suffix: bool,
    /// What is never rewritten.
    user_defined: Trie,
}

/// A text as it was rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Normalized {
    pub(super) text: String,
    /// For each byte of the text, and for its end, the byte of the original that it comes from.
    pub(super) origins: Vec<usize>,
}

impl Normalizer {
    /// Takes the character map apart; `None` if it is broken.
    pub(super) fn new(spec: NormalizerSpec, is_suffix: bool, user_defined: Trie) -> Option<Self> {
        let (mut trie, mut written) = (Vec::new(), Vec::new());
        if !spec.charsmap.is_empty() {
            let (len, rest) = spec.charsmap.split_first_chunk::<4>()?;
            let (units, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            let (units, []) = units.as_chunks::<4>() else {
                return None;
            };
            trie = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
            std::str::from_utf8(rest).ok()?;
            written = rest.to_vec();
        }
        Some(Self {
            spec,
            trie,
            written,
            is_suffix,
            user_defined,
        })
    }

    /// Rewrites a text; what a line of spaces becomes is empty.
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
        let mut behind_space = self.spec.remove_extra_whitespaces;
        while consumed < bytes.len() {
            let (mut written, len) = self.next(&bytes[consumed..]);
            while let (true, Some(rest)) = (behind_space, written.strip_prefix(b" ")) {
                written = rest;
            }
            for byte in written {
                match byte {
                    b' ' => push(&mut text, space, consumed),
                    byte => push(&mut text, std::slice::from_ref(byte), consumed),
                }
            }
            if !written.is_empty() {
                behind_space = written.ends_with(b" ");
            }
            consumed += len;
            behind_space &= self.spec.remove_extra_whitespaces;
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
        // A broken map could cut a character in two; its places are then of no use, but the text is.
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        origins.resize(text.len() + 1, end);
        Normalized { text, origins }
    }

    /// Returns how many bytes at the start are spaces that the model does without.
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

    /// Says whether runs of spaces become one.
    pub(super) fn joins_spaces(&self) -> bool {
        self.spec.remove_extra_whitespaces
    }

    /// Returns what the longest known beginning of the input becomes, and its length in bytes.
    fn next<'a>(&'a self, input: &'a [u8]) -> (&'a [u8], usize) {
        if let Some(len) = self.user_defined.longest(input) {
            return (&input[..len], len);
        }
        if let Some((len, place)) = self.longest_rule(input) {
            let written = self.written.get(place..).unwrap_or_default();
            let written = written.split(|byte| *byte == 0).next();
            return (written.unwrap_or_default(), len);
        }
        let len = char_len(input[0]).min(input.len());
        match std::str::from_utf8(&input[..len]) {
            Ok(_) => (&input[..len], len),
            Err(_) => ("\u{FFFD}".as_bytes(), 1),
        }
    }

    /// Returns the longest rule that the input begins with: its length in bytes, and the place of what is
    /// written instead.
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

/// Returns the length in bytes of a character that begins with this byte; 1 if none does.
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
        let normalizer = Normalizer::new(spec, is_suffix, Trie::default());
        let normalizer = normalizer.expect("there is no map that could be broken");
        normalizer.normalize(input)
    }

    #[test]
    fn spaces_are_joined_marked_and_put_before_the_first_word() {
        let normalized = normalize(NormalizerSpec::default(), false, "  ab   c ");
        assert_eq!(normalized.text, "▁ab▁c");
        assert_eq!(normalized.origins, [2, 2, 2, 2, 3, 4, 4, 4, 7, 8]);
    }

    #[test]
    fn spaces_stay_where_the_model_keeps_them() {
        let spec = NormalizerSpec {
            remove_extra_whitespaces: false,
            add_dummy_prefix: false,
            ..NormalizerSpec::default()
        };
        assert_eq!(normalize(spec, false, " a  b ").text, "▁a▁▁b▁");
    }

    #[test]
    fn marks_stand_behind_words_where_the_model_has_them_there() {
        let normalized = normalize(NormalizerSpec::default(), true, "a b ");
        assert_eq!(normalized.text, "a▁b▁");
    }

    #[test]
    fn a_map_that_is_cut_off_is_refused() {
        let spec = NormalizerSpec {
            charsmap: vec![200, 0, 0, 0, 1, 2],
            ..NormalizerSpec::default()
        };
        assert!(Normalizer::new(spec, false, Trie::default()).is_none());
    }
}
