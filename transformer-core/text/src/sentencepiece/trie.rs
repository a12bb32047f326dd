//! [`Trie`]: finds the strings that a text starts with.

/// A map from strings to numbers, searchable by prefix.
///
/// A node is a prefix of strings; node 0 is the empty one. The nodes are in the order of their lengths, so the
/// children of a node are neighbors, and sorted by their last bytes.
#[derive(Clone, Debug)]
pub(crate) struct Trie {
    /// The first child of each node, which ends the children of the node before; then the number of nodes.
    children: Vec<u32>,
    /// The last byte of each node.
    bytes: Vec<u8>,
    /// The number of the string that ends at each node.
    ends: Vec<Option<u32>>,
}

impl Trie {
    /// Builds the trie; of equal strings the first is used.
    pub(crate) fn new<'a>(strings: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let mut strings: Vec<(&[u8], usize)> = strings
            .into_iter()
            .map(|(string, number)| (string.as_bytes(), number))
            .collect();
        strings.sort_by_key(|(string, _)| *string);
        strings.dedup_by_key(|(string, _)| *string);
        let mut trie = Self {
            children: Vec::new(),
            bytes: vec![0],
            ends: Vec::new(),
        };
        // The strings of each node of one length.
        let mut nodes = vec![&strings[..]];
        let mut len = 0;
        while !nodes.is_empty() {
            let mut longer = Vec::new();
            for mut strings in nodes {
                let end = strings.first().filter(|(string, _)| string.len() == len);
                trie.ends.push(end.map(|(_, number)| *number as u32));
                strings = &strings[usize::from(end.is_some())..];
                trie.children.push(trie.bytes.len() as u32);
                for child in strings.chunk_by(|(a, _), (b, _)| a[len] == b[len]) {
                    trie.bytes.push(child[0].0[len]);
                    longer.push(child);
                }
            }
            nodes = longer;
            len += 1;
        }
        trie.children.push(trie.bytes.len() as u32);
        trie
    }

    fn child(&self, node: usize, byte: u8) -> Option<usize> {
        let [start, end] = [node, node + 1].map(|node| self.children[node] as usize);
        let index = self.bytes[start..end].binary_search(&byte).ok()?;
        Some(start + index)
    }

    pub(super) fn get(&self, string: &str) -> Option<usize> {
        let mut bytes = string.bytes();
        let node = bytes.try_fold(0, |node, byte| self.child(node, byte))?;
        self.ends[node].map(|number| number as usize)
    }

    /// Returns the strings that the text starts with, shortest first: lengths in bytes, and numbers.
    pub(super) fn prefixes<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let step = |node: &mut usize, byte: &u8| {
            *node = self.child(*node, *byte)?;
            Some(self.ends[*node])
        };
        let ends = text.iter().scan(0, step);
        (1..)
            .zip(ends)
            .filter_map(|(len, end)| Some((len, end? as usize)))
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
        assert_eq!(trie.get("abcd"), Some(5));
        assert_eq!((trie.get("abc"), trie.get("")), (None, None));
    }

    #[test]
    fn of_equal_strings_the_first_counts() {
        assert_eq!(Trie::new([("b", 0), ("a", 1), ("a", 2)]).get("a"), Some(1));
    }

    #[test]
    fn without_strings_nothing_is_found() {
        let trie = Trie::new([]);
        assert_eq!((trie.longest(b"a"), trie.get("a")), (None, None));
    }
}
