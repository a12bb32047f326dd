//! Reads and writes optional keys. `"none"` unsets a key; leaving it out takes the value of the task or the preset.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;

pub(super) const NONE: &str = "none";

pub(super) fn is_none(value: &Value) -> bool {
    value.as_str() == Some(NONE)
}

pub(super) fn serialize<T: Serialize, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_str(NONE),
    }
}

pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if is_none(&value) {
        return Ok(None);
    }
    let read = T::deserialize(value).map(Some);
    read.map_err(|error| D::Error::custom(error.message()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use transformer_core::Preset;

    use crate::config::{ConfigError, Experiment};
    use crate::tasks::Task;

    fn experiments() -> Vec<Experiment> {
        let presets = Preset::ALL.into_iter().map(Experiment::for_preset);
        let tasks = Task::ALL.into_iter().map(Experiment::for_task);
        presets.chain(tasks).collect()
    }

    /// Unsets the keys whose bits are set.
    fn unset(experiment: &mut Experiment, bits: u16) {
        let Experiment {
            tokenizer,
            model,
            training,
            ..
        } = experiment;
        let is_set = |bit: u16| (bits >> bit) & 1 == 1;
        tokenizer.tgt_kind = tokenizer.tgt_kind.filter(|_| !is_set(0));
        tokenizer.tgt_vocab_size = tokenizer.tgt_vocab_size.filter(|_| !is_set(1));
        tokenizer.tgt_case = tokenizer.tgt_case.filter(|_| !is_set(2));
        training.clip_norm = training.clip_norm.filter(|_| !is_set(3));
        training.peak_learning_rate = training.peak_learning_rate.filter(|_| !is_set(4));
        training.ema_decay = training.ema_decay.filter(|_| !is_set(5));
        training.patience = training.patience.filter(|_| !is_set(6));
        for (bit, key) in [(7, "d_k"), (8, "d_v"), (9, "encoder_window")] {
            if is_set(bit) {
                model.overrides.insert(key.to_owned(), "none".into());
            }
        }
    }

    proptest! {
        #[test]
        fn unset_keys_stay_unset_when_written_and_read(
            mut experiment in select(experiments()),
            bits in 0_u16..1 << 10,
        ) {
            unset(&mut experiment, bits);
            let plain = experiment.to_toml().expect("TOML has these values");
            prop_assert_eq!(Experiment::from_toml_text(&plain, "plain.toml"), Ok(experiment.clone()));
            let documented = experiment.to_documented_toml().expect("TOML has these values");
            let read = Experiment::from_toml_text(&documented, "documented.toml");
            prop_assert_eq!(read, Ok(experiment));
        }
    }

    fn read(text: &str) -> Result<Experiment, ConfigError> {
        Experiment::from_toml_text(text, "run.toml")
    }

    #[test]
    fn a_key_of_a_preset_can_be_unset() {
        let text = "[model]\npreset = \"multi30k\"\n[training]\nclip_norm = \"none\"\n";
        let expected = Experiment::for_preset(Preset::Multi30k);
        assert_eq!(expected.training.clip_norm, Some(25.0));
        assert_eq!(read(text).map(|it| it.training.clip_norm), Ok(None));
    }

    #[test]
    fn a_model_key_of_a_preset_can_be_unset() {
        let experiment = read("[model]\npreset = \"b-dk16\"\nd_k = \"none\"\n");
        let model = experiment.expect("the text is valid").model;
        let config = model.config(9, 9, crate::config::Vocabulary::Joint);
        assert_eq!(Preset::BKeys16.config(9, 9).d_k, Some(16));
        assert_eq!(config.map(|config| config.d_k), Ok(None));
    }

    #[test]
    fn a_required_key_cannot_be_unset() {
        let message = |text| read(text).expect_err("the key needs a value").to_string();
        assert_eq!(
            message("[model]\n\ndropout = \"none\"\n"),
            "`run.toml`, line 3: invalid type: string \"none\", expected f64, in `dropout = \"none\"`"
        );
    }

    #[test]
    fn text_for_an_optional_number_is_refused_with_the_line() {
        let error = read("[training]\n\nclip_norm = \"many\"\n").expect_err("it is not a number");
        assert_eq!(
            error.to_string(),
            "`run.toml`, line 3: invalid type: string \"many\", expected f64, in `clip_norm = \"many\"`"
        );
    }

    #[test]
    fn unknown_names_for_an_optional_key_are_refused_with_the_nearest() {
        let error = read("[tokenizer]\ntgt_kind = \"bpee\"\n").expect_err("there is no such kind");
        assert_eq!(
            error.to_string(),
            "`run.toml`, line 2: `bpee` is unknown here; did you mean `bpe`?"
        );
    }
}
