//! The names of checkpoint files: `model-N.bpk`, `optim-N.bpk`, `scheduler-N.bpk` and
//! `state-N.json` for interval N.

use std::fs;
use std::path::{Path, PathBuf};

/// The parts of a checkpoint that Burn writes: weights, Adam's moments, and the step of the
/// schedule.
pub(crate) const PARTS: [&str; 3] = [MODEL, OPTIMIZER, SCHEDULER];

/// The part with the weights.
pub(crate) const MODEL: &str = "model";

/// The part with Adam's moments.
pub(crate) const OPTIMIZER: &str = "optim";

/// The part with the step of the schedule.
pub(crate) const SCHEDULER: &str = "scheduler";

/// The prefix of a state's file name.
pub(crate) const STATE: &str = "state";

pub(super) fn part_name(part: &str, interval: usize) -> String {
    format!("{part}-{interval}.bpk")
}

pub(super) fn state_name(interval: usize) -> String {
    format!("{STATE}-{interval}.json")
}

pub(super) fn state_path(checkpoints: &Path, interval: usize) -> PathBuf {
    checkpoints.join(state_name(interval))
}

/// Returns the interval of the checkpoint that a file belongs to.
pub(super) fn interval_of(name: &str) -> Option<usize> {
    let (part, rest) = name.split_once('-')?;
    let interval = match part {
        STATE => rest.strip_suffix(".json")?,
        part if PARTS.contains(&part) => rest.strip_suffix(".bpk")?,
        _ => return None,
    };
    interval.parse().ok()
}

/// Returns the intervals of the checkpoints in a folder that have this part, or a [`STATE`], in
/// ascending order.
pub(crate) fn intervals_with(checkpoints: &Path, part: &str) -> Vec<usize> {
    let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let of_part = names.filter(|name| {
        let rest = name.strip_prefix(part);
        rest.is_some_and(|rest| rest.starts_with('-'))
    });
    let mut intervals: Vec<usize> = of_part.filter_map(|name| interval_of(&name)).collect();
    intervals.sort_unstable();
    intervals
}

/// Returns the checkpoints of the last `n_intervals` intervals, from `intervals` in ascending
/// order.
///
/// An older checkpoint that was kept as one of the best does not count.
pub(crate) fn last_of(intervals: &[usize], n_intervals: usize) -> &[usize] {
    let newest = intervals.last().copied().unwrap_or_default();
    let first = intervals.partition_point(|interval| interval + n_intervals <= newest);
    &intervals[first..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_checkpoint_does_not_count_as_one_of_the_last() {
        assert_eq!(last_of(&[2, 4, 5, 6], 3), [4, 5, 6]);
        assert_eq!(last_of(&[2, 5, 6], 4), [5, 6]);
        assert_eq!(last_of(&[6], 1), [6]);
        assert!(last_of(&[], 3).is_empty());
    }
}
