//! One number for a whole corpus, by which a run knows its text again.

use transformer_core::random::hash;

/// Mixes pairs, in their order, into one number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Mixes a pair in.
    pub(crate) fn push(&mut self, src: &[u32], tgt: &[u32]) {
        for ids in [src, tgt] {
            let start = hash(self.0, ids.len() as u64);
            let mix = |mixed, id: &u32| hash(mixed, u64::from(*id));
            self.0 = ids.iter().fold(start, mix);
        }
    }

    /// Mixes in how many pairs each of several corpora has.
    pub(crate) fn push_counts(&mut self, counts: &[u64]) {
        self.0 = counts
            .iter()
            .fold(self.0, |mixed, count| hash(mixed, *count));
    }

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
    fn ids_order_and_sides_matter() {
        let one = fingerprint(&[(&[5, 6], &[7]), (&[8], &[9])]);
        assert_ne!(one, fingerprint(&[(&[8], &[9]), (&[5, 6], &[7])]));
        assert_ne!(one, fingerprint(&[(&[5], &[6, 7]), (&[8], &[9])]));
        assert_ne!(one, fingerprint(&[(&[6, 5], &[7]), (&[8], &[9])]));
        assert_eq!(one, fingerprint(&[(&[5, 6], &[7]), (&[8], &[9])]));
    }
}
