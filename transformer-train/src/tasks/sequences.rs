//! The data of the tasks `reverse` and `copy`: sequences of letters.

use transformer_core::random::{SplitMix64, hash};

use crate::tasks::task::{self, Split};

/// Maximum length of a sequence in the tasks `reverse` and `copy`, in letters.
pub const MAX_SEQUENCE_LEN: usize = 20;

/// Draws a sequence. All lengths from 1 to [`MAX_SEQUENCE_LEN`] are equally likely.
pub(super) fn draw(draws: &mut SplitMix64) -> Vec<u8> {
    let len = 1 + draws.below(MAX_SEQUENCE_LEN as u64);
    (0..len).map(|_| b'a' + draws.below(26) as u8).collect()
}

/// Returns the split of a sequence. All single letters are training data.
pub(super) fn split_of(letters: &[u8]) -> Split {
    match letters.len() {
        1 => Split::Train,
        _ => task::split_of(
            letters
                .iter()
                .fold(0, |content, &letter| hash(content, u64::from(letter))),
        ),
    }
}

pub(super) fn spaced(letters: &[u8]) -> String {
    let letters = letters.iter().map(|&letter| char::from(letter).to_string());
    letters.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lengths_are_about_equally_frequent() {
        let mut counts = [0; MAX_SEQUENCE_LEN];
        for seed in 0..2000 {
            counts[draw(&mut SplitMix64::new(seed)).len() - 1] += 1;
        }
        // Each count is binomial with mean 100 and standard deviation 10; 50 is five of these.
        assert!(
            counts.iter().all(|count| (50..150).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn single_letters_are_training_data() {
        assert!((b'a'..=b'z').all(|letter| split_of(&[letter]) == Split::Train));
    }

    #[test]
    fn letters_are_spaced() {
        assert_eq!(spaced(b"abc"), "a b c");
    }
}
