//! [`Fingerprint`]: a hash of a whole corpus; a resumed run recognizes its training data by it.

use transformer_core::random::hash;

/// A hash of the token ids of all pairs, in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Adds a pair.
    pub(crate) fn push(&mut self, src: &[u32], tgt: &[u32]) {
        for ids in [src, tgt] {
            let start = hash(self.0, ids.len() as u64);
            let add = |hashed, id: &u32| hash(hashed, u64::from(*id));
            self.0 = ids.iter().fold(start, add);
        }
    }

    /// Adds the number of pairs of each of several corpora.
    pub(crate) fn push_counts(&mut self, counts: &[u64]) {
        self.0 = counts
            .iter()
            .fold(self.0, |hashed, count| hash(hashed, *count));
    }

    /// Returns the hash.
    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(pairs: &[(&[u32], &[u32])]) -> u64 {
        let mut fingerprint = Fingerprint::default();
        for (src, tgt) in pairs {
            fingerprint.push(src, tgt);
        }
        fingerprint.value()
    }

    #[test]
    fn ids_their_order_and_their_side_change_the_fingerprint() {
        let one = fingerprint(&[(&[5, 6], &[7]), (&[8], &[9])]);
        assert_ne!(one, fingerprint(&[(&[8], &[9]), (&[5, 6], &[7])]));
        assert_ne!(one, fingerprint(&[(&[5], &[6, 7]), (&[8], &[9])]));
        assert_ne!(one, fingerprint(&[(&[6, 5], &[7]), (&[8], &[9])]));
        assert_eq!(one, fingerprint(&[(&[5, 6], &[7]), (&[8], &[9])]));
    }
}
