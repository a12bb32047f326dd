//! Exact sums by an instruction that adds two products of 8 bits, of an unsigned and a signed integer, and saturates at 16
//! bits.
//!
//! Weights get 128 added, and are from 0 to 255, and the sum of a row's activations times 128 is subtracted at the end. Two
//! products are then exact if the magnitude of the sum of their activations is at most 128: with equal signs they are at most
//! `255 · 128 < 2¹⁵`, with different ones no more than one of them. Of a larger pair, the first is taken out of its group and
//! multiplied apart. With activations that are distributed normally, these are about 5% of the groups.

use super::Activations;

/// Number of activations that are multiplied at once.
pub(super) const GROUP: usize = 4;

/// The integer that is added to weights.
const ADDED_TO_WEIGHTS: i32 = 128;

/// Maximum magnitude of the sum of two activations for which two products are exact.
pub(super) const MAX_PAIR: i16 = 128;

/// The part of a row that is not in its groups, added to its sums with a panel.
pub(super) struct Rest {
    constant: i32,
    /// The end of the row in [`Activations::apart`].
    end: usize,
}

/// Returns a weight as it is packed.
pub(super) fn weight(weight: i8) -> i8 {
    (i32::from(weight) + ADDED_TO_WEIGHTS) as i8
}

/// Divides a row into groups and the rest. `sum_pairs` returns the sum of all activations of `N` groups, and whether the
/// products of their pairs are exact.
#[inline(always)]
pub(super) fn push_row<const N: usize>(
    row: &[i8],
    activations: &mut Activations,
    sum_pairs: impl Fn([i32; N]) -> (i32, bool),
) {
    let first = activations.groups.len();
    let (groups, rest) = row.as_chunks::<GROUP>();
    let groups = groups.iter().map(|group| bytemuck::cast::<_, i32>(*group));
    activations.groups.extend(groups);
    if !rest.is_empty() {
        let mut group = [0; GROUP];
        group[..rest.len()].copy_from_slice(rest);
        activations.groups.push(bytemuck::cast(group));
    }
    let mut sum = 0;
    let groups = &mut activations.groups[first..];
    for (step, groups) in (0..).step_by(N).zip(groups.chunks_mut(N)) {
        let mut vector = [0; N];
        vector[..groups.len()].copy_from_slice(groups);
        let (sum_of_groups, are_exact) = sum_pairs(vector);
        sum += sum_of_groups;
        if !are_exact {
            for (step, group) in (step..).zip(groups) {
                let apart = take_large_pairs(group);
                if apart != 0 {
                    activations.apart.push((step, apart));
                }
            }
        }
    }
    activations.rests.push(Rest {
        constant: -ADDED_TO_WEIGHTS * sum,
        end: activations.apart.len(),
    });
}

/// Returns what is added to the sums of a row with each panel: a constant, and products of groups, each with the index of
/// its step.
#[inline(always)]
pub(super) fn rest(activations: &Activations, row: usize) -> (i32, &[(usize, i32)]) {
    let Rest { constant, end } = activations.rests[row];
    let before = row.checked_sub(1);
    let first = before.map_or(0, |row| activations.rests[row].end);
    (constant, &activations.apart[first..end])
}

/// Takes the first activation out of each pair that sums to more than [`MAX_PAIR`], and returns it as a group.
fn take_large_pairs(group: &mut i32) -> i32 {
    let mut kept = group.to_ne_bytes();
    let mut taken = [0; GROUP];
    for pair in [0, 2] {
        let [first, second] = [kept[pair], kept[pair + 1]].map(|it| i16::from(it as i8));
        if (first + second).abs() > MAX_PAIR {
            taken[pair] = kept[pair];
            kept[pair] = 0;
        }
    }
    *group = i32::from_ne_bytes(kept);
    i32::from_ne_bytes(taken)
}
