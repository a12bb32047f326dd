//! [`SeenPairs`]: the pairs that occurred before.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The pairs that occurred before, by a 64-bit hash of each. Among four million pairs, the probability of a collision is
/// one in a million.
#[derive(Debug, Default)]
pub(super) struct SeenPairs(HashSet<u64>);

impl SeenPairs {
    /// Adds a pair, and returns whether it is new.
    pub(super) fn insert(&mut self, pair: &(String, String)) -> bool {
        let mut hasher = DefaultHasher::new();
        pair.hash(&mut hasher);
        self.0.insert(hasher.finish())
    }

    /// Returns the number of different pairs.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
