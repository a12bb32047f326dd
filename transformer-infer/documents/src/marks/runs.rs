//! Runs of units with the most words of a pair. A unit counts 1 for a word of the pair, -1 for a word outside it, 0 for
//! others, and is `None` for a word of another pair.

use std::ops::Range;

/// The owner of the word that a unit translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The pair with this position among its siblings.
    Pair(usize),
    /// No pair.
    Outside,
    /// The unit translates no word.
    Nobody,
}

/// Returns the length of the longest prefix with the largest sum above 0. It ends with a 1 and contains no `None`.
pub(crate) fn best_prefix(values: impl Iterator<Item = Option<isize>>) -> usize {
    let (mut sum, mut best, mut len) = (0, 0, 0);
    for (index, value) in values.map_while(|value| value).enumerate() {
        sum += value;
        if value > 0 && sum >= best.max(1) {
            (best, len) = (sum, index + 1);
        }
    }
    len
}

/// Returns the first range with the largest sum. It begins and ends with a 1 and contains no `None`.
pub(crate) fn best_run(values: &[Option<isize>]) -> Option<Range<usize>> {
    let (mut sum, mut start) = (0, 0);
    let mut best: Option<(isize, Range<usize>)> = None;
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value else {
            sum = 0;
            continue;
        };
        if sum <= 0 {
            if *value <= 0 {
                sum = 0;
                continue;
            }
            (sum, start) = (0, index);
        }
        sum += value;
        if *value > 0 && best.as_ref().is_none_or(|(largest, _)| sum > *largest) {
            best = Some((sum, start..index + 1));
        }
    }
    best.map(|(_, run)| run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(values: &[isize]) -> Option<Range<usize>> {
        let values: Vec<_> = values
            .iter()
            .map(|value| (*value < 9).then_some(*value))
            .collect();
        best_run(&values)
    }

    #[test]
    fn the_best_run_has_most_words_of_a_pair_and_fewest_of_others() {
        assert_eq!(run(&[0, 1, 1, -1, -1, -1, 1]), Some(1..3));
        assert_eq!(run(&[1, 0, 1, -1, 1]), Some(0..3));
        assert_eq!(run(&[1, 0, 1, -1, 1, 1]), Some(0..6));
        assert_eq!(run(&[1, 9, 1, 1]), Some(2..4));
        assert_eq!(run(&[0, -1, 9]), None);
    }

    #[test]
    fn the_best_prefix_ends_before_words_of_others() {
        let prefix = |values: &[isize]| best_prefix(values.iter().map(|value| Some(*value)));
        assert_eq!(prefix(&[0, 1, -1, -1, 1]), 2);
        assert_eq!(prefix(&[-1, 1]), 0);
        assert_eq!(prefix(&[1, -1, 1]), 3);
        assert_eq!(best_prefix([Some(1), None, Some(1)].into_iter()), 1);
    }
}
