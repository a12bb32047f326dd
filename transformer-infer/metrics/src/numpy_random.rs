//! The random numbers of `numpy.random.default_rng`, so that resampling gives the same results as in Python.
//!
//! A `SeedSequence` expands the seed (O'Neill 2015, `randutils`), PCG64 generates bits (O'Neill 2014, XSL-RR 128/64),
//! and Lemire's method (2019) turns them into bounded integers. Tests compare with numpy's own output.

/// numpy's PCG64 generator.
#[derive(Clone, Debug)]
pub(super) struct NumpyRandom {
    state: u128,
    increment: u128,
    /// The unused upper half of the last 64 bits.
    upper_half: Option<u32>,
}

impl NumpyRandom {
    /// Seeds the generator as `default_rng(seed)` does.
    pub(super) fn new(seed: u64) -> Self {
        let [one, two, three, four] = seed_sequence(seed);
        let wide = |high: u64, low: u64| (u128::from(high) << 64) | u128::from(low);
        let mut random = Self {
            state: 0,
            increment: (wide(three, four) << 1) | 1,
            upper_half: None,
        };
        random.step();
        random.state = random.state.wrapping_add(wide(one, two));
        random.step();
        random
    }

    fn step(&mut self) {
        const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        let product = self.state.wrapping_mul(MULTIPLIER);
        self.state = product.wrapping_add(self.increment);
    }

    fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    fn next_u32(&mut self) -> u32 {
        if let Some(upper_half) = self.upper_half.take() {
            return upper_half;
        }
        let both = self.next_u64();
        self.upper_half = Some((both >> 32) as u32);
        both as u32
    }

    /// Returns the next element of `integers(bound, size=…)`; `bound` is at least 1.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        if bound == 1 {
            return 0;
        }
        let mut product = u64::from(self.next_u32()) * u64::from(bound);
        if (product as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = u64::from(self.next_u32()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// Returns the elements of `integers(2, size=…, dtype=bool)` without end.
    pub(super) fn booleans(mut self) -> impl Iterator<Item = bool> {
        let words = std::iter::from_fn(move || Some(self.next_u32()));
        words.flat_map(|word| (0..32).map(move |bit| word >> bit & 1 == 1))
    }
}

/// Expands a seed as `SeedSequence(seed).generate_state(4, uint64)` does.
fn seed_sequence(seed: u64) -> [u64; 4] {
    let fold = |value: u32| value ^ (value >> 16);
    let mut multiplier: u32 = 0x43b0_d7e5;
    let mut hash = |value: u32| {
        let value = value ^ multiplier;
        multiplier = multiplier.wrapping_mul(0x931e_8875);
        fold(value.wrapping_mul(multiplier))
    };
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(&mut hash);
    for from in 0..pool.len() {
        for to in (0..pool.len()).filter(|to| *to != from) {
            let left = pool[to].wrapping_mul(0xca01_f9dd);
            let right = hash(pool[from]).wrapping_mul(0x4973_f715);
            pool[to] = fold(left.wrapping_sub(right));
        }
    }
    let mut multiplier: u32 = 0x8b51_f9dd;
    let mut next = |index: usize| {
        let value = pool[index % pool.len()] ^ multiplier;
        multiplier = multiplier.wrapping_mul(0x58f3_8ded);
        u64::from(fold(value.wrapping_mul(multiplier)))
    };
    [0, 2, 4, 6].map(|index| next(index) | (next(index + 1) << 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected values are the output of numpy 2.3.4.

    #[test]
    fn integers_are_those_of_numpy() {
        let mut random = NumpyRandom::new(12345);
        let drawn: Vec<u32> = (0..12).map(|_| random.below(1000)).collect();
        assert_eq!(
            drawn,
            [699, 227, 788, 316, 204, 797, 642, 676, 988, 391, 839, 332]
        );
    }

    #[test]
    fn integers_below_a_bound_that_rejects_many_draws_are_those_of_numpy() {
        let mut random = NumpyRandom::new((1 << 63) - 1);
        let drawn: Vec<u32> = (0..6).map(|_| random.below(3 << 30)).collect();
        assert_eq!(
            drawn,
            [
                565215948, 1513746141, 108441028, 371212186, 1533839112, 2695387312
            ]
        );
    }

    #[test]
    fn booleans_are_those_of_numpy() {
        let drawn: String = NumpyRandom::new(7)
            .booleans()
            .take(40)
            .map(|value| if value { '1' } else { '0' })
            .collect();
        assert_eq!(drawn, "1101000101010010101001111000111110010101");
    }
}
