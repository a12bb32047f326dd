//! What may be other in a run that goes on, and what may not.

use std::collections::BTreeMap;

use crate::TrainError;
use crate::config::Experiment;

/// The settings that have no part in what the weights become, or in which update sees which sentences.
const MAY_DIFFER: [&str; 17] = [
    "data.src",
    "data.store",
    "data.store_folder",
    "data.tgt",
    "data.tsv",
    "data.valid_src",
    "data.valid_tgt",
    "data.valid_tsv",
    "embeddings.src_word_vectors",
    "embeddings.tgt_word_vectors",
    "training.average_best",
    "training.average_last",
    "training.best_by",
    "training.keep_best",
    "training.patience",
    "training.updates",
    "validation.",
];

/// The settings that change what later updates do, and neither which sentences they see nor what a checkpoint holds: they
/// may be changed by who asks for it.
const ON_REQUEST: [&str; 16] = [
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
    "training.schedule",
    "training.updates",
    "training.warmup_steps",
    "training.weight_decay",
];

/// A setting in which two experiments differ, of those that make another run.
#[derive(Debug)]
pub(crate) struct Change {
    /// Whether a run can go on with it.
    pub(crate) is_possible: bool,
    /// The setting, with both values.
    pub(crate) told: String,
}

/// Lists the settings in which two experiments differ, of those that make another run.
pub(crate) fn changes(there: &Experiment, here: &Experiment) -> Result<Vec<Change>, TrainError> {
    // Batches are the same whether one device computes them or several.
    let n_batches = |experiment: &Experiment| experiment.training.batches_per_update();
    let n_batches_there = n_batches(there);
    let is_same_update = n_batches_there == n_batches(here);
    let (there, here) = (flat(there)?, flat(here)?);
    let mut keys: Vec<&String> = there.keys().chain(here.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    // A schedule that ends with the run makes every update depend on its length.
    let key_of_end = "training.updates";
    let has_end = |flat: &BTreeMap<String, String>| {
        let schedule = flat.get("training.schedule").map(String::as_str);
        matches!(schedule, Some("\"linear\"" | "\"cosine\""))
    };
    let has_end = has_end(&there) || has_end(&here);
    let matters = |key: &str| {
        if matches!(key, "training.accumulate" | "training.devices") {
            return !is_same_update;
        }
        (has_end && key == key_of_end)
            || !MAY_DIFFER.iter().any(|free| match free.strip_suffix('.') {
                Some(section) => key.split('.').next() == Some(section),
                None => key == *free,
            })
    };
    let here_has = |key: &String| here.contains_key(key);
    let written = |value: Option<&String>| value.map_or_else(|| "not set".to_owned(), Clone::clone);
    let differing = keys
        .into_iter()
        .filter(|key| matters(key) && there.get(*key) != here.get(*key));
    Ok(differing
        .map(|key| {
            let (there, here) = (written(there.get(key)), written(here.get(key)));
            let difference = format!("`{key}` is {here} here and {there} there");
            let told = match key.as_str() {
                "training.devices" => format!(
                    "{difference} (any number can go on if `training.devices` times `training.accumulate` stays \
                     {n_batches_there})"
                ),
                key if key == key_of_end => {
                    format!("{difference} (the learning rate falls to zero at the end, wherever that is)")
                }
                _ => difference,
            };
            // What a model trained further has of dropout is its own when nothing is said.
            let is_gone = !here_has(key) && key.starts_with("model.");
            Change {
                is_possible: ON_REQUEST.contains(&key.as_str()) && !is_gone,
                told,
            }
        })
        .collect())
}

/// Writes every setting as `section.key` and its value; corpora without their paths, as [`MAY_DIFFER`] has it.
fn flat(experiment: &Experiment) -> Result<BTreeMap<String, String>, TrainError> {
    let table: toml::Table = toml::from_str(&experiment.to_toml()?)
        .expect("what was written as TOML can be read as TOML");
    let sections = table.into_iter().flat_map(|(section, value)| {
        let keys = match value {
            toml::Value::Table(keys) => keys.into_iter().collect(),
            value => vec![(String::new(), value)],
        };
        keys.into_iter().map(move |(key, mut value)| {
            for corpus in value.as_array_mut().into_iter().flatten() {
                if let Some(corpus) = corpus.as_table_mut() {
                    corpus.retain(|key, _| !["src", "tgt", "tsv"].contains(&key));
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

    fn with_batches(devices: u64, accumulate: u64) -> Experiment {
        let mut experiment =
            Experiment::from_toml_text("", "defaults").expect("the defaults are an experiment");
        experiment.training.devices = devices;
        experiment.training.accumulate = accumulate;
        experiment
    }

    #[test]
    fn other_devices_go_on_if_an_update_has_as_many_batches() {
        let there = with_batches(1, 4);
        let found = changes(&there, &with_batches(2, 2)).expect("settings can be written");
        assert!(found.is_empty(), "{found:?}");

        let found = changes(&there, &with_batches(2, 4)).expect("settings can be written");
        let [Change { told: named, .. }] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert!(named.starts_with("`training.devices` is 2 here and 1 there"));
        assert!(named.ends_with("`training.devices` times `training.accumulate` stays 4)"));
    }
}
