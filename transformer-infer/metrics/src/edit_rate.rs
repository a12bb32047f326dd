//! The number of word edits and shifts for TER, counted as by tercom and sacreBLEU.
//!
//! Finding the true minimum is NP-complete. Equal scores require the same heuristic search, with the same limits and
//! the same preference between shifts. This is an independent implementation of the algorithm in
//! `sacrebleu/metrics/lib_ter.py`.

use std::collections::HashMap;
use std::ops::Range;

/// Maximum length of a phrase that is shifted, in words.
const MAX_SHIFT_SIZE: usize = 10;

/// Maximum distance between a phrase and its match in the reference, in words.
const MAX_SHIFT_DISTANCE: usize = 50;

/// Maximum number of shifts that are tried for one sentence.
const MAX_SHIFTS_TRIED: usize = 1000;

/// Width of the band around the diagonal in which words are compared, in words of the reference.
const BEAM_WIDTH: usize = 25;

/// The cost of a cell that no path reaches.
const UNREACHED: u32 = u32::MAX / 2;

/// Returns the number of insertions, deletions, substitutions and shifts that turn the hypothesis into the reference.
pub(super) fn n_edits(hypothesis: &[&str], reference: &[&str]) -> usize {
    if reference.is_empty() {
        return hypothesis.len();
    }
    let mut ids = HashMap::new();
    let mut to_ids = |words: &[&str]| -> Vec<u32> {
        let id = |word: &&str| {
            let next = ids.len() as u32;
            *ids.entry((*word).to_owned()).or_insert(next)
        };
        words.iter().map(id).collect()
    };
    let reference = to_ids(reference);
    let mut words = to_ids(hypothesis);
    let mut n_shifts = 0;
    let mut n_tried = 0;
    loop {
        let table = EditTable::new(&words, &reference);
        let shifted = best_shift(&table, &mut n_tried);
        match shifted {
            Some(shifted) if n_tried < MAX_SHIFTS_TRIED => words = shifted,
            _ => return n_shifts + table.cost() as usize,
        }
        n_shifts += 1;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Keep,
    Substitute,
    /// Inserts a word of the reference.
    Insert,
    /// Deletes a word of the hypothesis.
    Delete,
    Unreached,
}

/// The edit distances between all prefixes of two sequences, in a band around the diagonal.
struct EditTable<'a> {
    words: &'a [u32],
    reference: &'a [u32],
    rows: Vec<Row>,
}

/// The cells of a row within the band: the first column, and the cost and last edit of each cell.
struct Row {
    start: usize,
    cells: Vec<(u32, Edit)>,
}

impl Row {
    /// Returns the row of no words: every word of the reference is inserted.
    fn first(reference: &[u32]) -> Self {
        let insert = |column| (column as u32, Edit::Insert);
        Self {
            start: 0,
            cells: (0..=reference.len()).map(insert).collect(),
        }
    }

    /// Returns the next row, which ends with the word before index `row`.
    fn next(&self, row: usize, words: &[u32], reference: &[u32]) -> Self {
        let band = band(row, words.len(), reference.len());
        let mut next = Self {
            start: band.start,
            cells: Vec::with_capacity(band.len()),
        };
        let above = |column: usize| self.get(column).0;
        for column in band {
            let left = column.checked_sub(1).map(|left| next.get(left).0);
            let cell = cell(column, words[row - 1], reference, above, left);
            next.cells.push(cell);
        }
        next
    }

    fn get(&self, column: usize) -> (u32, Edit) {
        let index = column.checked_sub(self.start);
        let cell = index.and_then(|index| self.cells.get(index));
        cell.copied().unwrap_or((UNREACHED, Edit::Unreached))
    }
}

/// The alignment of words implied by the edits.
struct Alignment {
    /// The index of the last hypothesis word aligned up to each word of the reference; −1 if there is none.
    positions: Vec<isize>,
    wrong_in_reference: Vec<bool>,
    wrong_in_hypothesis: Vec<bool>,
}

impl<'a> EditTable<'a> {
    fn new(words: &'a [u32], reference: &'a [u32]) -> Self {
        let mut rows = vec![Row::first(reference)];
        for row in 1..=words.len() {
            rows.push(rows[row - 1].next(row, words, reference));
        }
        Self {
            words,
            reference,
            rows,
        }
    }

    fn cost(&self) -> u32 {
        self.rows[self.words.len()].get(self.reference.len()).0
    }

    /// Returns the cost of other words that share the first `n_same` words with the table.
    fn cost_of(&self, words: &[u32], n_same: usize) -> u32 {
        let mut last: Option<Row> = None;
        for row in n_same + 1..=words.len() {
            let above = last.as_ref().unwrap_or(&self.rows[n_same]);
            last = Some(above.next(row, words, self.reference));
        }
        let last = last.as_ref().unwrap_or(&self.rows[n_same]);
        last.get(self.reference.len()).0
    }

    /// Follows the edits back from the last cell.
    fn alignment(&self) -> Alignment {
        let (mut row, mut column) = (self.words.len(), self.reference.len());
        let mut alignment = Alignment {
            positions: vec![-1; column],
            wrong_in_reference: vec![false; column],
            wrong_in_hypothesis: vec![false; row],
        };
        while row > 0 || column > 0 {
            let edit = self.rows[row].get(column).1;
            match edit {
                Edit::Keep | Edit::Substitute => {
                    (row, column) = (row - 1, column - 1);
                    alignment.positions[column] = row as isize;
                    alignment.wrong_in_reference[column] = edit == Edit::Substitute;
                    alignment.wrong_in_hypothesis[row] = edit == Edit::Substitute;
                }
                Edit::Insert => {
                    column -= 1;
                    alignment.positions[column] = row as isize - 1;
                    alignment.wrong_in_reference[column] = true;
                }
                Edit::Delete => {
                    row -= 1;
                    alignment.wrong_in_hypothesis[row] = true;
                }
                Edit::Unreached => break, // never: a path consists of reached cells
            }
        }
        alignment
    }
}

/// Returns the columns of a row within the band around the diagonal from corner to corner.
fn band(row: usize, n_words: usize, n_reference: usize) -> Range<usize> {
    let ratio = n_reference as f64 / n_words as f64;
    let beam_width = if (BEAM_WIDTH as f64) < ratio / 2.0 {
        (ratio / 2.0 + BEAM_WIDTH as f64).ceil() as usize
    } else {
        BEAM_WIDTH
    };
    let diagonal = (row as f64 * ratio).floor() as usize;
    let n_columns = n_reference + 1;
    let end = if row == n_words {
        n_columns
    } else {
        n_columns.min(diagonal + beam_width)
    };
    diagonal.saturating_sub(beam_width)..end
}

/// Returns the cheapest edit that ends in a cell; ties go to a kept or substituted word, then to a deletion.
fn cell(
    column: usize,
    word: u32,
    reference: &[u32],
    above: impl Fn(usize) -> u32,
    left: Option<u32>,
) -> (u32, Edit) {
    let Some(left) = left else {
        return (above(0) + 1, Edit::Delete);
    };
    let (cost, edit) = if word == reference[column - 1] {
        (0, Edit::Keep)
    } else {
        (1, Edit::Substitute)
    };
    let edits = [
        (above(column - 1) + cost, edit),
        (above(column) + 1, Edit::Delete),
        (left + 1, Edit::Insert),
    ];
    let reached = edits.into_iter().filter(|(cost, _)| *cost < UNREACHED);
    let best = reached.min_by_key(|(cost, _)| *cost);
    best.unwrap_or((UNREACHED, Edit::Unreached))
}

/// Returns the words after the shift that saves the most edits, if any shift does. Ties go to the longest phrase, then
/// to the earliest one, then to the earliest target.
fn best_shift(table: &EditTable<'_>, n_tried: &mut usize) -> Option<Vec<u32>> {
    let cost = i64::from(table.cost());
    let alignment = table.alignment();
    let any = |wrong: &[bool], start: usize, len: usize| wrong[start..start + len].contains(&true);
    let mut best = None;
    for (start, start_in_reference, len) in equal_phrases(table.words, table.reference) {
        // A phrase stays if it is already correct, or if its target is.
        if !any(&alignment.wrong_in_hypothesis, start, len)
            || !any(&alignment.wrong_in_reference, start_in_reference, len)
        {
            continue;
        }
        let position = alignment.positions[start_in_reference];
        if (start as isize..(start + len) as isize).contains(&position) {
            continue;
        }
        let mut last_target = None;
        for offset in 0..=len {
            // Before the phrase in the reference, then after each of its words.
            let target = match (start_in_reference + offset).checked_sub(1) {
                None => 0,
                Some(before) => match alignment.positions.get(before) {
                    Some(position) => (position + 1) as usize,
                    None => break,
                },
            };
            if last_target == Some(target) {
                continue;
            }
            last_target = Some(target);
            let shifted = shift(table.words, start, len, target);
            let n_same = start.min(target);
            let saved = cost - i64::from(table.cost_of(&shifted, n_same));
            let rank = (saved, len, -(start as i64), -(target as i64));
            *n_tried += 1;
            if best.as_ref().is_none_or(|(best, _)| rank > *best) {
                best = Some((rank, shifted));
            }
        }
        if *n_tried >= MAX_SHIFTS_TRIED {
            break;
        }
    }
    let (rank, shifted) = best?;
    (rank.0 > 0).then_some(shifted)
}

/// Returns the phrases that both sides have, within the maximum distance: the start on both sides, and the length.
fn equal_phrases(words: &[u32], reference: &[u32]) -> impl Iterator<Item = (usize, usize, usize)> {
    let starts = (0..words.len()).flat_map(|start| {
        let end = reference.len().min(start + MAX_SHIFT_DISTANCE + 1);
        (start.saturating_sub(MAX_SHIFT_DISTANCE)..end).map(move |other| (start, other))
    });
    starts.flat_map(move |(start, other)| {
        let pairs = words[start..].iter().zip(&reference[other..]);
        let equal = pairs.take(MAX_SHIFT_SIZE).take_while(|(a, b)| a == b);
        (1..=equal.count()).map(move |len| (start, other, len))
    })
}

/// Moves a phrase to before the word at `target`; a target inside of the phrase is treated as tercom does.
fn shift(words: &[u32], start: usize, len: usize, target: usize) -> Vec<u32> {
    let end = start + len;
    let mut words = words.to_vec();
    if target < start {
        words[target..end].rotate_right(len);
    } else {
        let target = if target > end { target } else { target + len };
        let target = target.min(words.len());
        words[start..target].rotate_left(len);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(hypothesis: &str, reference: &str) -> usize {
        let words = |line| str::split_whitespace(line).collect::<Vec<_>>();
        n_edits(&words(hypothesis), &words(reference))
    }

    #[test]
    fn a_shifted_phrase_is_one_edit() {
        assert_eq!(edits("d e a b c", "a b c d e"), 1);
    }

    #[test]
    fn the_example_of_the_paper_takes_four_edits() {
        // Snover et al. 2006, section 2: a shift, two substitutions and an insertion.
        let hypothesis = "THIS WEEK THE SAUDIS denied information published in the new york times";
        let reference =
            "SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times";
        assert_eq!(edits(hypothesis, reference), 4);
    }

    #[test]
    fn every_word_beside_an_empty_side_is_an_edit() {
        assert_eq!(
            (edits("a b c", ""), edits("", "a b"), edits("", "")),
            (3, 2, 0)
        );
    }

    #[test]
    fn shifts_move_a_phrase_in_both_directions() {
        let words = [0, 1, 2, 3, 4, 5];
        assert_eq!(shift(&words, 3, 2, 1), [0, 3, 4, 1, 2, 5]);
        assert_eq!(shift(&words, 1, 2, 5), [0, 3, 4, 1, 2, 5]);
    }
}
