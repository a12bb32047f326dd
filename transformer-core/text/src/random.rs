//! [`SplitMix64`]: the pseudorandom generator behind dropout masks, sampled tokens and the order of training data.
//!
//! It is implemented here instead of taken from a crate because its outputs are a promise: they decide which sentences
//! are in which update, so they must not change with a dependency or a platform. Not for secrets.

/// Added to the state before every output: an odd number near `2⁶⁴/φ`.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A SplitMix64 generator, which can jump to any of its outputs in constant time.
///
/// Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators",
/// <https://doi.org/10.1145/2660193.2660195>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Seeds a generator. Neighboring seeds give unrelated sequences, because the seed is mixed first.
    pub const fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// Continues from a state that [`state`](Self::state) returned.
    pub const fn from_state(state: u64) -> Self {
        Self { state }
    }

    /// Returns the state, from which the same outputs can be generated again.
    pub const fn state(self) -> u64 {
        self.state
    }

    /// Returns the output with this index, counted from 0 at the current state.
    #[inline(always)]
    pub const fn nth(self, index: u64) -> u64 {
        mix(self.skip(index.wrapping_add(1)).state)
    }

    /// Returns the generator after `n` more outputs.
    #[inline(always)]
    pub const fn skip(self, n: u64) -> Self {
        Self {
            state: INCREMENT.wrapping_mul(n).wrapping_add(self.state),
        }
    }

    /// Returns the next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        *self = self.skip(1);
        mix(self.state)
    }

    /// Returns a random number in `0..bound`; its bias, below `bound / 2⁶⁴`, is negligible here.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// Returns a random number in `[0, 1)`.
    pub const fn uniform(&mut self) -> f64 {
        unit_interval(self.next_u64())
    }

    /// Shuffles the items; every order is equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last as u64 + 1) as usize;
            items.swap(last, chosen);
        }
    }
}

/// Hashes a seed and an index to 64 bits that look independent of the hash of every other pair.
///
/// It is output `index` of the generator with this seed. Nested calls make seeds of seeds, for example
/// `hash(hash(seed, pass), batch)`.
pub const fn hash(seed: u64, index: u64) -> u64 {
    SplitMix64::new(seed).nth(index)
}

/// Maps 64 random bits to a number in `[0, 1)`: the upper 53 bits, as many as an `f64` has.
pub const fn unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// The output function of SplitMix64.
#[inline(always)]
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation (<https://prng.di.unimi.it/splitmix64.c>) prints these for the seed 0.
    #[test]
    fn the_outputs_are_the_published_ones() {
        let published = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        let generator = SplitMix64::from_state(0);
        assert_eq!([0, 1, 2].map(|index| generator.nth(index)), published);
        assert_eq!([0, 1, 2].map(|index| hash(0, index)), published);
    }

    #[test]
    fn shuffling_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        SplitMix64::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn every_order_of_three_items_is_about_equally_frequent() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            let mut items = [0, 1, 2];
            SplitMix64::new(seed).shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        // Each count is binomial with mean 1000 and standard deviation 29; 150 is five of them.
        assert!(counts.len() == 6 && counts.values().all(|count| (850..1150).contains(count)));
    }
}
