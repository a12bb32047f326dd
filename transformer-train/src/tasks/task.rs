//! [`Task`]: the built-in tasks, by name, and the [`Split`] of their examples.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transformer_core::random::{SplitMix64, hash};

use crate::config::ConfigError;
use crate::tasks::{numbers, sequences};

/// Maximum number of draws to replace an example that the validation or test data already has.
const N_RETRIES: usize = 16;

/// A task with generated text.
///
/// # Example
///
/// ```
/// use transformer_train::tasks::{Split, Task};
///
/// let task: Task = "reverse".parse()?;
/// let pairs = task.pairs(Split::Train, 3, 1);
/// let (src, tgt) = &pairs[0];
/// let reversed: Vec<&str> = src.split(' ').rev().collect();
/// assert_eq!(*tgt, reversed.join(" "));
/// # Ok::<(), transformer_train::config::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Task {
    /// From English number words to digits, 0 to 999,999,999: `one million and seven` to `1000007`.
    Numbers,
    /// From letters to the same letters in reverse order: `a b c` to `c b a`.
    Reverse,
    /// From letters to the same letters.
    Copy,
}

impl Task {
    /// Every task.
    pub const ALL: [Self; 3] = [Self::Numbers, Self::Reverse, Self::Copy];

    /// Returns the task's name in settings and arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Reverse => "reverse",
            Self::Copy => "copy",
        }
    }

    /// Generates `n_pairs` pairs of source and target.
    ///
    /// The same arguments give the same pairs, and a smaller `n_pairs` gives a prefix of them. Training pairs repeat,
    /// because there are few short examples; validation and test pairs rarely do.
    pub fn pairs(self, split: Split, n_pairs: usize, seed: u64) -> Vec<(String, String)> {
        let seed = hash(seed, split as u64);
        let mut seen = HashSet::new();
        let mut pairs = Vec::with_capacity(n_pairs);
        for number in 0..n_pairs {
            let mut draws = SplitMix64::new(hash(seed, number as u64));
            let mut pair = self.draw(split, &mut draws);
            if split != Split::Train {
                for _ in 0..N_RETRIES {
                    if !seen.contains(&pair.1) {
                        break;
                    }
                    pair = self.draw(split, &mut draws);
                }
                seen.insert(pair.1.clone());
            }
            pairs.push(pair);
        }
        pairs
    }

    fn draw(self, split: Split, draws: &mut SplitMix64) -> (String, String) {
        loop {
            match self {
                Self::Numbers => {
                    let number = numbers::draw(draws);
                    if numbers::split_of(number) == split {
                        let style = numbers::draw_style(draws);
                        return (numbers::english(number, style), number.to_string());
                    }
                }
                Self::Reverse | Self::Copy => {
                    let mut letters = sequences::draw(draws);
                    if sequences::split_of(&letters) == split {
                        let src = sequences::spaced(&letters);
                        if self == Self::Reverse {
                            letters.reverse();
                        }
                        return (src, sequences::spaced(&letters));
                    }
                }
            }
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Task {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if let Some(task) = Self::ALL.into_iter().find(|task| task.name() == name) {
            return Ok(task);
        }
        let suggestion = nearest(name, Self::ALL.map(Self::name));
        let nearest = Self::ALL
            .into_iter()
            .find(|task| Some(task.name()) == suggestion);
        Err(ConfigError::UnknownTask {
            name: name.to_owned(),
            nearest: nearest.unwrap_or(Self::Numbers),
        })
    }
}

/// Seed of the division. It is constant, so that no run trains on the test data of another.
const SPLIT_SEED: u64 = 0x5EED_0F5B_1175;

/// A part of a task's examples.
///
/// A hash of an example's content decides its part. The parts therefore never overlap, for any number of examples and
/// any seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Nine tenths of all examples, and the shortest ones, of which the others are composed: numbers below 100 and
    /// sequences of one letter.
    Train,
    /// A twentieth of all examples.
    Valid,
    /// A twentieth of all examples.
    Test,
}

/// Returns the part of an example, given 64 bits that identify its content.
pub(super) fn split_of(content: u64) -> Split {
    match hash(SPLIT_SEED, content) % 20 {
        0 => Split::Valid,
        1 => Split::Test,
        _ => Split::Train,
    }
}

/// The minimum similarity of a suggestion, between 0 and 1.
const MIN_SIMILARITY: f64 = 0.5;

pub(crate) fn nearest<'a>(
    misspelled: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let similarity = |name| strsim::normalized_damerau_levenshtein(misspelled, name);
    let scored = names.into_iter().map(|name| (similarity(name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_task() -> impl Strategy<Value = Task> {
        proptest::sample::select(Task::ALL.to_vec())
    }

    /// Returns the contents that decide about the split: the number, or the letters in their order.
    fn contents(task: Task, split: Split, n_pairs: usize, seed: u64) -> HashSet<String> {
        let pairs = task.pairs(split, n_pairs, seed).into_iter();
        match task {
            Task::Numbers => pairs.map(|(_, digits)| digits).collect(),
            Task::Reverse | Task::Copy => pairs.map(|(src, _)| src).collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn splits_never_overlap(
            task in any_task(), sizes: [u8; 3], seeds in [0_u64..3, 0_u64..3, 0_u64..3],
        ) {
            let train = contents(task, Split::Train, 5 * usize::from(sizes[0]), seeds[0]);
            let valid = contents(task, Split::Valid, usize::from(sizes[1]), seeds[1]);
            let test = contents(task, Split::Test, usize::from(sizes[2]), seeds[2]);
            prop_assert!(train.is_disjoint(&valid));
            prop_assert!(train.is_disjoint(&test));
            prop_assert!(valid.is_disjoint(&test));
        }

        #[test]
        fn fewer_pairs_are_a_prefix_of_more(task in any_task(), few in 0_usize..20, seed: u64) {
            let many = task.pairs(Split::Valid, 20, seed);
            prop_assert_eq!(task.pairs(Split::Valid, few, seed), &many[..few]);
        }
    }

    #[test]
    fn test_data_rarely_repeats() {
        let pairs = Task::Numbers.pairs(Split::Test, 1000, 1);
        let targets: HashSet<_> = pairs.iter().map(|(_, tgt)| tgt).collect();
        assert!(targets.len() > 990, "{}", targets.len());
    }

    #[test]
    fn reversing_twice_is_copying() {
        for (src, tgt) in Task::Reverse.pairs(Split::Train, 50, 1) {
            let twice: Vec<&str> = tgt.split(' ').rev().collect();
            assert_eq!(twice.join(" "), src);
        }
    }

    #[test]
    fn copies_are_equal() {
        assert!(
            Task::Copy
                .pairs(Split::Test, 50, 1)
                .iter()
                .all(|(src, tgt)| src == tgt)
        );
    }

    #[test]
    fn unknown_tasks_are_refused_with_the_nearest_name() {
        let error = "number".parse::<Task>().expect_err("the name has an s");
        assert_eq!(
            error.to_string(),
            "there is no task `number`; did you mean `numbers`? (tasks: numbers, reverse, copy)"
        );
    }

    #[test]
    fn names_are_parsed_back() {
        assert_eq!(
            Task::ALL.map(|task| task.to_string().parse()),
            Task::ALL.map(Ok)
        );
    }
}

#[cfg(test)]
mod split_tests {
    use super::*;

    #[test]
    fn validation_and_test_data_are_a_twentieth_each() {
        let count = |split| {
            (0..100_000)
                .filter(|&content| split_of(content) == split)
                .count()
        };
        // Each count is binomial with mean 5000 and standard deviation 69; 350 is five of these.
        assert!((4650..5350).contains(&count(Split::Valid)));
        assert!((4650..5350).contains(&count(Split::Test)));
    }
}

#[cfg(test)]
mod nearest_tests {
    use super::*;

    #[test]
    fn the_most_similar_name_is_suggested() {
        assert_eq!(
            nearest("warmup", ["seed", "warmup_steps", "updates"]),
            Some("warmup_steps")
        );
    }

    #[test]
    fn without_a_similar_name_there_is_no_suggestion() {
        assert_eq!(nearest("qqq", ["seed", "warmup_steps"]), None);
    }
}
