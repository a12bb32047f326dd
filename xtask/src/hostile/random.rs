//! [`Random`]: the random numbers of an attempt, which depend on nothing but the seed, the class and the index.

/// A SplitMix64 generator, as transformer-core has one; `xtask` uses none of the crates.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Seeds a generator for one attempt.
    pub(super) fn new(seed: u64, class: &str, index: u64) -> Self {
        let mut random = Self(seed);
        for part in class.bytes().map(u64::from).chain([index]) {
            random.0 = random.0.wrapping_add(part);
            random.0 = random.next();
        }
        random
    }

    /// Returns the next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, which is at least 1.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns `true` once in `n` times.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of several values.
    pub(super) fn pick<'a, T: ?Sized>(&mut self, values: &[&'a T]) -> &'a T {
        values[self.below(values.len())]
    }

    /// Returns one of several pairs.
    pub(super) fn pick_pair<'a>(&mut self, pairs: &[(&'a str, &'a str)]) -> (&'a str, &'a str) {
        pairs[self.below(pairs.len())]
    }

    /// Returns `n` bytes.
    pub(super) fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_attempts_get_equal_numbers() {
        let next = |seed, class, index| Random::new(seed, class, index).next();
        assert_eq!(next(1, "texts", 2), next(1, "texts", 2));
        assert_ne!(next(1, "texts", 2), next(1, "texts", 3));
        assert_ne!(next(1, "texts", 2), next(2, "texts", 2));
        assert_ne!(next(1, "texts", 2), next(1, "models", 2));
    }
}
