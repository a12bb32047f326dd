//! [`Split`]: the division of a task's examples into training, validation and test data.

use transformer_core::random::hash;

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

#[cfg(test)]
mod tests {
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
