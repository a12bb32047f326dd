//! The settings that may differ in a run that is resumed.

use std::collections::BTreeMap;

use crate::checkpoint::SettingChange;
use crate::config::{Experiment, FILE_KEYS};
use crate::error::TrainError;

/// The settings that affect neither the weights nor the sentences of any update.
pub(super) const MAY_DIFFER: [&str; 31] = [
    "data.src",
    "data.src_lang",
    "data.store",
    "data.store_folder",
    "data.tgt",
    "data.tgt_lang",
    "data.tsv",
    "data.valid_src",
    "data.valid_tgt",
    "data.valid_tsv",
    "embeddings.src_word_vectors",
    "embeddings.tgt_word_vectors",
    "report.tensorboard",
    "training.average_best",
    "training.average_last",
    "training.best_by",
    "training.checkpointing",
    "training.keep_best",
    "training.keep_last",
    "training.patience",
    "training.updates",
    "validation.beam_size",
    "validation.command",
    "validation.command_failure",
    "validation.command_time_limit",
    "validation.interval_beam_size",
    "validation.length_penalty",
    "validation.max_extra_len",
    "validation.max_sentences",
    "validation.n_samples",
    "validation.tokenize",
];

/// The settings that change later updates, but neither their sentences nor the contents of a
/// checkpoint: they may be changed on request.
pub(super) const ON_REQUEST: [&str; 21] = [
    "adapters.dropout",
    "data.noise_lowercase",
    "data.noise_typos",
    "data.noise_uppercase",
    "model.activation_dropout",
    "model.attention_dropout",
    "model.dropout",
    "tokenizer.dropout",
    "training.adam_beta1",
    "training.adam_beta2",
    "training.adam_epsilon",
    "training.clip_norm",
    "training.label_smoothing",
    "training.label_smoothing_form",
    "training.learning_rate_factor",
    "training.peak_learning_rate",
    "training.precision",
    "training.schedule",
    "training.updates",
    "training.warmup_steps",
    "training.weight_decay",
];

/// The length of a run; some schedules depend on it.
const LENGTH: &str = "training.updates";

/// A difference between two experiments that makes their runs differ.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) is_possible: bool,
    pub(super) text: String,
    setting: String,
    /// Its value before, in TOML.
    before: String,
    /// Its value now, in TOML.
    now: String,
}

impl Change {
    pub(super) fn is_of_length(&self) -> bool {
        self.setting == LENGTH
    }

    /// Returns the change as the checkpoints of the run record it.
    pub(super) fn at(self, update: u64) -> SettingChange {
        SettingChange {
            changed: self.setting,
            from: self.before,
            to: self.now,
            update,
        }
    }
}

pub(super) fn changes(before: &Experiment, now: &Experiment) -> Result<Vec<Change>, TrainError> {
    // If the schedule ends with the run, every update depends on the run's length.
    let depends_on_end = [before, now]
        .iter()
        .any(|experiment| experiment.training.schedule.depends_on_end());
    // Batches are the same on one device or process and on several.
    let n_batches = |experiment: &Experiment| experiment.training.batches_per_update();
    let n_batches_before = n_batches(before);
    let is_same_update = n_batches_before == n_batches(now);
    let (before, now) = (flat(before)?, flat(now)?);
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let matters = |key: &str| {
        if matches!(
            key,
            "training.accumulate" | "training.devices" | "training.ranks"
        ) {
            return !is_same_update;
        }
        (depends_on_end && key == LENGTH) || !MAY_DIFFER.contains(&key)
    };
    let formatted =
        |value: Option<&String>| value.map_or_else(|| "not set".to_owned(), Clone::clone);
    let differing = keys
        .into_iter()
        .filter(|key| matters(key) && before.get(*key) != now.get(*key));
    Ok(differing
        .map(|key| {
            let (value_before, value_now) = (formatted(before.get(key)), formatted(now.get(key)));
            let difference = format!("`{key}` is {value_now} now, but the run in the folder has {value_before}");
            let text = match key.as_str() {
                "training.devices" | "training.ranks" => format!(
                    "{difference} (any number can be resumed if `training.ranks` times `training.devices` times \
                     `training.accumulate` stays {n_batches_before})"
                ),
                key if key == LENGTH => {
                    format!("{difference} (the learning rate falls to zero at the end, wherever that is)")
                }
                _ => difference,
            };
            // Without the setting, a model that is trained further keeps its own dropout.
            let is_unset = !now.contains_key(key) && key.starts_with("model.");
            Change {
                is_possible: ON_REQUEST.contains(&key.as_str()) && !is_unset,
                text,
                setting: key.clone(),
                before: value_before,
                now: value_now,
            }
        })
        .collect())
}

/// Returns every setting as `section.key` with its value; corpora without their paths: files may be moved, and validation
/// pairs may differ.
fn flat(experiment: &Experiment) -> Result<BTreeMap<String, String>, TrainError> {
    // A file of settings can name the preset instead of the model's keys.
    let table: toml::Table = toml::from_str(&experiment.resolved()?.to_toml()?)
        .expect("an experiment's own TOML can be read");
    let sections = table.into_iter().flat_map(|(section, value)| {
        let keys = match value {
            toml::Value::Table(keys) => keys.into_iter().collect(),
            value => vec![(String::new(), value)],
        };
        keys.into_iter().map(move |(key, mut value)| {
            for corpus in value.as_array_mut().into_iter().flatten() {
                if let Some(corpus) = corpus.as_table_mut() {
                    corpus.retain(|key, _| !FILE_KEYS.contains(&key));
                }
            }
            (format!("{section}.{key}"), value.to_string())
        })
    });
    Ok(sections.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ScheduleKind;

    fn with_batches(devices: u64, accumulate: u64) -> Experiment {
        let mut experiment =
            Experiment::from_toml_text("", "defaults").expect("the defaults are an experiment");
        experiment.training.devices = devices;
        experiment.training.accumulate = accumulate;
        experiment
    }

    #[test]
    fn other_devices_are_accepted_if_an_update_has_as_many_batches() {
        let before = with_batches(1, 4);
        let found = changes(&before, &with_batches(2, 2)).expect("settings can be written");
        assert!(found.is_empty(), "{found:?}");

        let found = changes(&before, &with_batches(2, 4)).expect("settings can be written");
        let [Change { text, .. }] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert!(text.starts_with("`training.devices` is 2 now, but the run in the folder has 1"));
        assert!(text.ends_with(
            "`training.ranks` times `training.devices` times `training.accumulate` stays 4)"
        ));
    }

    fn changes_by_another_end(schedule: ScheduleKind) -> Vec<Change> {
        let before = with_schedule(schedule, 100);
        changes(&before, &with_schedule(schedule, 200)).expect("settings can be written")
    }

    fn with_schedule(schedule: ScheduleKind, updates: u64) -> Experiment {
        let mut experiment = with_batches(1, 1);
        experiment.training.schedule = schedule;
        experiment.training.updates = updates;
        experiment
    }

    #[test]
    fn another_end_is_a_change_if_the_schedule_falls_to_zero_there() {
        for schedule in [ScheduleKind::Linear, ScheduleKind::Cosine] {
            let found = changes_by_another_end(schedule);
            let [
                Change {
                    is_possible, text, ..
                },
            ] = found.as_slice()
            else {
                panic!("{schedule:?}: {found:?}");
            };
            assert!(*is_possible);
            assert!(
                text.starts_with(
                    "`training.updates` is 200 now, but the run in the folder has 100"
                )
            );
        }
    }

    #[test]
    fn another_end_is_no_change_for_a_schedule_that_does_not_depend_on_it() {
        for schedule in [
            ScheduleKind::Noam,
            ScheduleKind::InverseSqrt,
            ScheduleKind::Constant,
        ] {
            let found = changes_by_another_end(schedule);
            assert!(found.is_empty(), "{schedule:?}: {found:?}");
        }
    }

    #[test]
    fn another_end_is_a_change_if_only_the_new_schedule_depends_on_it() {
        let before = with_schedule(ScheduleKind::Constant, 100);
        let found = changes(&before, &with_schedule(ScheduleKind::Linear, 200));
        let found = found.expect("settings can be written");
        let [schedule, updates] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert!(schedule.text.starts_with("`training.schedule`"));
        assert!(updates.text.starts_with("`training.updates`"));
    }
}
