//! [`Split`]: which examples of a task are for training, validation and testing.

use transformer_core::random::hash;

/// Seed of the division into splits: a constant of the format, so that no run trains on another's
/// test data.
const SPLIT_SEED: u64 = 0x5EED_0F5B_1175;

/// Names a part of a task's data.
///
/// A hash of the content of an example decides where it belongs, so that the parts never overlap,
/// whatever numbers of examples and seeds they are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Nine tenths of all examples, and the smallest ones, which the others are made of: numbers
    /// below 100, sequences of one letter.
    Train,
    /// A twentieth of all examples.
    Valid,
    /// A twentieth of all examples.
    Test,
}

/// Divides examples by 64 bits made from their content.
pub(super) fn split_by(content: u64) -> Split {
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
    fn a_twentieth_is_for_validation_and_another_for_the_test() {
        let count = |split| {
            (0..100_000)
                .filter(|&content| split_by(content) == split)
                .count()
        };
        // Each count is binomial with mean 5000 and deviation 69; 350 is five of them.
        assert!((4650..5350).contains(&count(Split::Valid)));
        assert!((4650..5350).contains(&count(Split::Test)));
    }
}
