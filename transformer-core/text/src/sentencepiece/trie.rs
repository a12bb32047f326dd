//! [`Trie`]: finds the strings that a text starts with.

use std::collections::HashMap;

/// A map from strings to numbers, searchable by prefix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trie {
    /// Maps a node and a byte to the next node; node 0 is the empty string.
    children: HashMap<(u32, u8), u32>,
    /// Number of the string that ends at a node.
    ends: Vec<Option<usize>>,
}

impl Trie {
    /// Builds the trie; of equal strings the first is used.
    pub(crate) fn new<'a>(strings: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let mut trie = Self {
            children: HashMap::new(),
            ends: vec![None],
        };
        for (string, number) in strings {
            let mut node = 0;
            for &byte in string.as_bytes() {
                let next = trie.ends.len() as u32;
                node = *trie.children.entry((node, byte)).or_insert(next);
                if node == next {
                    trie.ends.push(None);
                }
            }
            trie.ends[node as usize].get_or_insert(number);
        }
        trie
    }

    /// Returns the strings that the text starts with, shortest first: lengths in bytes, and numbers.
    pub(super) fn prefixes<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let step = |node: &mut u32, byte: &u8| {
            *node = *self.children.get(&(*node, *byte))?;
            Some(self.ends[*node as usize])
        };
        let ends = text.iter().scan(0, step);
        (1..).zip(ends).filter_map(|(len, end)| Some((len, end?)))
    }

    /// Returns the length in bytes of the longest string that the text starts with.
    pub(crate) fn longest(&self, text: &[u8]) -> Option<usize> {
        self.prefixes(text).last().map(|(len, _)| len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_have_lengths_and_numbers() {
        let trie = Trie::new([("ab", 7), ("a", 3), ("abcd", 5), ("b", 1), ("ü", 2)]);
        assert_eq!(trie.prefixes(b"abcx").collect::<Vec<_>>(), [(1, 3), (2, 7)]);
        assert_eq!(trie.longest("üb".as_bytes()), Some(2));
        assert_eq!(trie.longest(b"x"), None);
    }
}
