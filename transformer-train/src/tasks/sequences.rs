//! The data of the tasks `reverse` and `copy`: sequences of letters.

use transformer_core::random::{SplitMix64, hash};

use crate::tasks::split::{Split, split_by};

/// Longest sequence of the tasks `reverse` and `copy`, in letters.
pub const MAX_SEQUENCE_LEN: usize = 20;

/// Draws a sequence; every length from 1 up is equally likely.
pub(super) fn draw(draws: &mut SplitMix64) -> Vec<u8> {
    let len = 1 + draws.below(MAX_SEQUENCE_LEN as u64);
    (0..len).map(|_| b'a' + draws.below(26) as u8).collect()
}

/// Says where a sequence belongs; all single letters are for training.
pub(super) fn split_of(letters: &[u8]) -> Split {
    match letters.len() {
        1 => Split::Train,
        _ => split_by(
            letters
                .iter()
                .fold(0, |content, &letter| hash(content, u64::from(letter))),
        ),
    }
}

/// Writes letters with a space between them.
pub(super) fn spaced(letters: &[u8]) -> String {
    let letters: Vec<String> = letters
        .iter()
        .map(|&letter| char::from(letter).into())
        .collect();
    letters.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_comes_up() {
        let mut counts = [0; MAX_SEQUENCE_LEN];
        for seed in 0..2000 {
            counts[draw(&mut SplitMix64::new(seed)).len() - 1] += 1;
        }
        // Each count is binomial with mean 100 and deviation 10; 50 is five of them.
        assert!(
            counts.iter().all(|count| (50..150).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn single_letters_are_for_training() {
        assert!((b'a'..=b'z').all(|letter| split_of(&[letter]) == Split::Train));
    }

    #[test]
    fn letters_are_spaced() {
        assert_eq!(spaced(b"abc"), "a b c");
    }
}
