//! The one place where seeds are mixed: every random choice of a run comes from [`hash`].
//!
//! It is written out here, and not taken from a crate, because its values are a promise: they decide
//! which sentences are in which update, so they may not change with a dependency or a platform.

/// The step of SplitMix64, an odd number near `2⁶⁴/φ`.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes a seed and an index into 64 bits that look independent of those of every other pair.
///
/// It is the `index`-th output of a SplitMix64 generator, reached directly, whose start is the mixed
/// seed: neighboring seeds give unrelated sequences. Nested calls make seeds of seeds, for example
/// `hash(hash(seed, pass), batch)`. Not for secrets.
///
/// Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators".
///
/// # Example
///
/// ```
/// use transformer_train::batching::hash;
///
/// assert_eq!(hash(1, 7), hash(1, 7));
/// assert_ne!(hash(1, 7), hash(1, 8));
/// ```
pub fn hash(seed: u64, index: u64) -> u64 {
    let step = GAMMA.wrapping_mul(index.wrapping_add(1));
    mix(mix(seed).wrapping_add(step))
}

fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Draws numbers one after another from one seed.
#[derive(Debug)]
pub(crate) struct Draws {
    seed: u64,
    n_drawn: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, n_drawn: 0 }
    }

    /// Draws a number from `0..bound`; the bias, below `bound / 2⁶⁴`, does not matter here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let bits = hash(self.seed, self.n_drawn);
        self.n_drawn += 1;
        ((u128::from(bits) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a number from 0 up to, but not including, 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        let bits = hash(self.seed, self.n_drawn) >> 11;
        self.n_drawn += 1;
        bits as f64 / (1_u64 << 53) as f64
    }

    /// Brings the items into an order of which all are equally likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last as u64 + 1) as usize;
            items.swap(last, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_zero_gives_the_published_outputs_of_splitmix64() {
        let outputs = [hash(0, 0), hash(0, 1), hash(0, 2)];
        assert_eq!(
            outputs,
            [
                0xE220_A839_7B1D_CDAF,
                0x6E78_9E6A_A1B9_65F4,
                0x06C4_5D18_8009_454F
            ]
        );
    }

    #[test]
    fn shuffling_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Draws::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn every_order_of_three_items_comes_up_about_equally_often() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            let mut items = [0, 1, 2];
            Draws::new(seed).shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        // Each count is binomial with mean 1000 and deviation 29; 150 is five of them.
        assert!(counts.len() == 6 && counts.values().all(|count| (850..1150).contains(count)));
    }
}
