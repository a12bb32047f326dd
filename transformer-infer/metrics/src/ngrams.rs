//! Counting n-grams.

use std::collections::HashMap;
use std::hash::Hash;

/// The number of occurrences of each n-gram of one order in a sequence.
pub(super) type Counts<'a, T> = HashMap<&'a [T], usize>;

/// Counts the n-grams of one order.
pub(super) fn count<T: Eq + Hash>(sequence: &[T], order: usize) -> Counts<'_, T> {
    let mut counts = HashMap::new();
    for ngram in sequence.windows(order) {
        *counts.entry(ngram).or_insert(0) += 1;
    }
    counts
}

/// Returns the number of n-grams common to two sequences; each counts as often as it occurs in both.
pub(super) fn n_matches<T: Eq + Hash>(one: &Counts<'_, T>, other: &Counts<'_, T>) -> usize {
    let common = |(ngram, &n): (&&[T], &usize)| n.min(other.get(*ngram).copied().unwrap_or(0));
    one.iter().map(common).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ngram_matches_as_often_as_it_occurs_in_both() {
        let [one, other] = [["a", "b", "a", "a"], ["a", "a", "c", "b"]];
        assert_eq!(n_matches(&count(&one, 1), &count(&other, 1)), 3);
        assert_eq!(n_matches(&count(&one, 2), &count(&other, 2)), 1);
    }

    #[test]
    fn a_sequence_shorter_than_the_order_has_no_ngram() {
        assert!(count(&["a"], 2).is_empty());
    }
}
