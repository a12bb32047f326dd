//! The names of checkpoint files: `model-N.bpk`, `optim-N.bpk`, `scheduler-N.bpk` and `state-N.json` after N updates.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::TrainingSettings;

/// The parts of a checkpoint that Burn writes: weights, Adam's moments, and the step of the schedule.
pub(crate) const PARTS: [&str; 3] = [MODEL, OPTIMIZER, SCHEDULER];

pub(crate) const MODEL: &str = "model";

pub(crate) const OPTIMIZER: &str = "optim";

pub(crate) const SCHEDULER: &str = "scheduler";

pub(crate) const STATE: &str = "state";

pub(super) fn part_name(part: &str, n_updates: u64) -> String {
    format!("{part}-{n_updates}.bpk")
}

pub(super) fn state_name(n_updates: u64) -> String {
    format!("{STATE}-{n_updates}.json")
}

pub(super) fn state_path(checkpoints: &Path, n_updates: u64) -> PathBuf {
    checkpoints.join(state_name(n_updates))
}

/// Returns the number of updates of the checkpoint that a file belongs to.
pub(crate) fn updates_of(name: &str) -> Option<u64> {
    let (part, rest) = name.split_once('-')?;
    let n_updates = match part {
        STATE => rest.strip_suffix(".json")?,
        part if PARTS.contains(&part) => rest.strip_suffix(".bpk")?,
        _ => return None,
    };
    n_updates.parse().ok()
}

/// Returns the checkpoints in a folder that have this part, or a [`STATE`], by their numbers of
/// updates, in ascending order.
pub(crate) fn checkpoints_with(checkpoints: &Path, part: &str) -> Vec<u64> {
    let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let of_part = names.filter(|name| {
        let rest = name.strip_prefix(part);
        rest.is_some_and(|rest| rest.starts_with('-'))
    });
    let mut found: Vec<u64> = of_part.filter_map(|name| updates_of(&name)).collect();
    found.sort_unstable();
    found
}

/// Returns the first of these checkpoints that is of an interval.
pub(crate) fn of_interval(
    checkpoints: &[u64],
    interval: usize,
    training: &TrainingSettings,
) -> Option<u64> {
    let mut checkpoints = checkpoints.iter().copied();
    checkpoints.find(|n_updates| training.interval_of(*n_updates) == interval)
}

/// Returns the checkpoints of the last `n_intervals` intervals; `checkpoints` is in ascending order.
///
/// An older checkpoint that was kept as one of the best does not count.
pub(crate) fn last_of<'a>(
    checkpoints: &'a [u64],
    n_intervals: usize,
    training: &TrainingSettings,
) -> &'a [u64] {
    let interval = |n_updates: &u64| training.interval_of(*n_updates);
    let newest = checkpoints.last().map(interval).unwrap_or_default();
    let first = checkpoints.partition_point(|it| interval(it) + n_intervals <= newest);
    &checkpoints[first..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_checkpoint_does_not_count_as_one_of_the_last() {
        let training = TrainingSettings {
            validation_interval: 10,
            ..TrainingSettings::default()
        };
        let last = |checkpoints, n_intervals| last_of(checkpoints, n_intervals, &training);
        assert_eq!(last(&[20, 40, 50, 60], 3), [40, 50, 60]);
        // The last interval of a run may be a short one.
        assert_eq!(last(&[20, 50, 55], 4), [50, 55]);
        assert_eq!(last(&[60], 1), [60]);
        assert!(last(&[], 3).is_empty());
    }
}
