//! Tests of the statistical significance of a difference between two scores.
//!
//! Both tests are paired. They are sacreBLEU's, with its random numbers, and give the same p-values.

use super::metric::add_counts;
use super::{CorpusCounts, Metric};

/// A paired test that compares systems with a baseline.
///
/// # Example
///
/// ```
/// use transformer_metrics::{Bleu, CorpusCounts, PairedTest};
///
/// let references = ["a dog ran home today", "the cat sat on the mat"];
/// let counts = |hypotheses: [&'static str; 2]| {
///     let pairs = hypotheses.into_iter().zip(references.map(|reference| vec![reference]));
///     CorpusCounts::new(&Bleu::default(), pairs)
/// };
/// let baseline = counts(["a dog ran off today", "a cat sat on a mat"]);
/// let system = counts(["a dog ran home today", "the cat sat on a mat"]);
/// let results = PairedTest::bootstrap().run(&Bleu::default(), &[baseline, system]);
/// assert!(results[1].score > results[0].score);
/// assert!(results[0].p_value.is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedTest {
    /// The kind of test.
    pub kind: PairedTestKind,
    /// Number of samples or trials, at least 1.
    pub n_samples: usize,
    /// Seed of the random numbers. sacreBLEU's default is 12345.
    pub seed: u64,
}

/// A kind of paired test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairedTestKind {
    /// Sentences are drawn with replacement, and both systems are scored on them (Koehn 2004,
    /// <https://aclanthology.org/W04-3250/>).
    Bootstrap,
    /// The translations of each sentence are swapped between the two systems at random (Riezler and Maxwell 2005,
    /// <https://aclanthology.org/W05-0908/>). Confidence intervals still come from 1000 bootstrap samples.
    Randomization,
}

/// The score of a system, and its comparison with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The score of the text.
    pub score: f64,
    /// Mean score of the bootstrap samples.
    pub mean: f64,
    /// Lower end of the interval with 95% of their scores.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// The probability that chance alone gives a difference from the baseline at least this large; `None` for the
    /// baseline.
    pub p_value: Option<f64>,
}

impl Compared {
    /// Returns half the length of the interval, the number that sacreBLEU prints after `±`.
    pub fn half_interval(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

impl PairedTest {
    /// Number of bootstrap samples for the confidence intervals of a randomization test.
    const N_INTERVAL_SAMPLES: usize = 1000;

    /// Returns the test of sacreBLEU's `--paired-bs`: 1000 samples.
    pub fn bootstrap() -> Self {
        Self {
            kind: PairedTestKind::Bootstrap,
            n_samples: 1000,
            seed: 12345,
        }
    }

    /// Returns the test of sacreBLEU's `--paired-ar`: 10,000 trials.
    pub fn randomization() -> Self {
        Self {
            kind: PairedTestKind::Randomization,
            n_samples: 10_000,
            seed: 12345,
        }
    }

    /// Compares all systems with the first one.
    ///
    /// # Panics
    ///
    /// Panics if the texts of two systems differ in their number of sentences, or have none, or if `n_samples` is 0.
    pub fn run(&self, metric: &dyn Metric, systems: &[CorpusCounts]) -> Vec<Compared> {
        let Some(baseline) = systems.first() else {
            return Vec::new();
        };
        assert!(
            !baseline.is_empty(),
            "a comparison needs at least one sentence"
        );
        assert!(self.n_samples > 0, "a test needs at least one sample");
        let scores = |system| self.bootstrap_scores(metric, system);
        let sampled: Vec<Vec<f64>> = systems.iter().map(scores).collect();
        let score_of = |system: &CorpusCounts| metric.score_of(&system.sums());
        let mut results = Vec::new();
        for (system, scores) in systems.iter().zip(&sampled) {
            assert_eq!(
                system.len(),
                baseline.len(),
                "all systems translate the same text"
            );
            let score = score_of(system);
            let difference = (score - score_of(baseline)).abs();
            let by_chance = match self.kind {
                _ if results.is_empty() => None,
                PairedTestKind::Bootstrap => {
                    let pairs = scores.iter().zip(&sampled[0]);
                    let differences: Vec<f64> = pairs.map(|(a, b)| (a - b).abs()).collect();
                    let center = mean(&differences);
                    Some(differences.iter().map(|it| it - center).collect())
                }
                PairedTestKind::Randomization => {
                    Some(self.shuffled_differences(metric, baseline, system))
                }
            };
            let p_value = by_chance.map(|values| share_above(&values, difference));
            let (low, high) = interval(scores);
            results.push(Compared {
                score,
                mean: mean(scores),
                low,
                high,
                p_value,
            });
        }
        results
    }

    /// Returns the part that sacreBLEU inserts into signatures after the number of references.
    pub fn signature(&self) -> String {
        let (n_samples, seed) = (self.n_samples, self.seed);
        match self.kind {
            PairedTestKind::Bootstrap => format!("bs:{n_samples}|seed:{seed}"),
            PairedTestKind::Randomization => format!("ar:{n_samples}|seed:{seed}"),
        }
    }

    /// Returns the scores of bootstrap samples, which have the same sentences for every system.
    fn bootstrap_scores(&self, metric: &dyn Metric, system: &CorpusCounts) -> Vec<f64> {
        let n_samples = match self.kind {
            PairedTestKind::Bootstrap => self.n_samples,
            PairedTestKind::Randomization => Self::N_INTERVAL_SAMPLES,
        };
        let mut random = NumpyRandom::new(self.seed);
        let n_sentences = u32::try_from(system.len()).unwrap_or(u32::MAX);
        let sample = |_| {
            let drawn = (0..n_sentences).map(|_| random.below(n_sentences) as usize);
            metric.score_of(&system.sums_of(drawn))
        };
        (0..n_samples).map(sample).collect()
    }

    /// Returns the score differences between two systems with translations that are swapped at random.
    fn shuffled_differences(
        &self,
        metric: &dyn Metric,
        baseline: &CorpusCounts,
        system: &CorpusCounts,
    ) -> Vec<f64> {
        let mut stays = NumpyRandom::new(self.seed).booleans();
        let trial = |_| {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            for (sentence, stays) in (0..baseline.len()).zip(&mut stays) {
                let (baseline, system) = (baseline.row(sentence), system.row(sentence));
                let (first, second) = match stays {
                    true => (baseline, system),
                    false => (system, baseline),
                };
                add_counts(&mut one, first);
                add_counts(&mut other, second);
            }
            (metric.score_of(&one) - metric.score_of(&other)).abs()
        };
        (0..self.n_samples).map(trial).collect()
    }
}

/// Returns the share of values above a difference; the difference itself is one of the values.
fn share_above(values: &[f64], difference: f64) -> f64 {
    let n_above = values.iter().filter(|value| **value > difference).count();
    (n_above + 1) as f64 / (values.len() + 1) as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the interval without the lowest and highest fortieth of the values.
fn interval(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n_outside = sorted.len() / 40;
    (sorted[n_outside], sorted[sorted.len() - n_outside - 1])
}

/// The generator of `numpy.random.default_rng`, so that resampling gives the same results as in Python. A
/// `SeedSequence` expands the seed (O'Neill 2015, `randutils`), PCG64 generates bits (O'Neill 2014, XSL-RR 128/64), and
/// Lemire's method (2019) turns them into bounded integers.
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
    use crate::Ter;

    #[test]
    fn a_system_does_not_differ_from_itself() {
        let counts = CorpusCounts::new(&Ter::default(), [("a b", vec!["a c"]), ("d", vec!["d"])]);
        for test in [PairedTest::bootstrap(), PairedTest::randomization()] {
            let results = test.run(&Ter::default(), &[counts.clone(), counts.clone()]);
            let n_samples = test.n_samples as f64;
            // No sample has a difference above 0.
            assert_eq!(results[1].p_value, Some(1.0 / (n_samples + 1.0)));
        }
    }

    #[test]
    #[should_panic(expected = "a comparison needs at least one sentence")]
    fn a_comparison_without_sentences_panics() {
        let counts = CorpusCounts::new(&Ter::default(), Vec::<(&str, Vec<&str>)>::new());
        let _ = PairedTest::bootstrap().run(&Ter::default(), &[counts.clone(), counts]);
    }

    #[test]
    fn the_interval_leaves_out_a_fortieth_at_each_end() {
        let values: Vec<f64> = (0..80).rev().map(f64::from).collect();
        assert_eq!(interval(&values), (2.0, 77.0));
    }

    #[test]
    fn results_are_reproducible_and_depend_on_the_seed() {
        let pairs = [("a b", vec!["a c"]), ("d", vec!["d"]), ("e f", vec!["g"])];
        let counts = [CorpusCounts::new(&Ter::default(), pairs)];
        let run = |seed| {
            let test = PairedTest {
                seed,
                ..PairedTest::bootstrap()
            };
            test.run(&Ter::default(), &counts)[0]
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1).mean, run(2).mean);
    }
}

#[cfg(test)]
mod numpy_random_tests {
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
