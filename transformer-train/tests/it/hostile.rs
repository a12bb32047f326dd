//! Damaged settings: reading ends with settings or an error, never with a panic.

use proptest::prelude::*;
use proptest::sample::Index;
use transformer_core::Preset;
use transformer_train::config::Experiment;

fn read(text: &str) {
    if let Ok(experiment) = Experiment::from_toml_text(text, "run.toml") {
        let _ = experiment.validate();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_text_is_read_or_refused(text in "(\\PC|\n){0,200}") {
        read(&text);
    }

    #[test]
    fn changed_settings_are_read_or_refused(
        changes in proptest::collection::vec((any::<Index>(), any::<char>(), 0_usize..3), 1..5),
    ) {
        let valid = Experiment::for_preset(Preset::Tiny).to_documented_toml();
        let mut text: Vec<char> = valid.expect("settings are TOML").chars().collect();
        for (at, new, n_removed) in changes {
            let start = at.index(text.len());
            let end = (start + n_removed).min(text.len());
            text.splice(start..end, [new]);
        }
        read(&text.into_iter().collect::<String>());
    }

    #[test]
    fn numbers_of_any_size_are_read_or_refused(
        number in prop_oneof![any::<i64>().prop_map(|it| it.to_string()), any::<f64>().prop_map(|it| format!("{it:e}"))],
        key in prop_oneof![
            Just("training.keep_best"), Just("training.updates"), Just("training.accumulate"),
            Just("training.tokens_per_batch"), Just("training.learning_rate_factor"), Just("data.max_len"),
            Just("validation.beam_size"), Just("validation.max_extra_len"), Just("model.d_model"),
            Just("model.n_heads"), Just("model.n_encoder_layers"), Just("model.d_ff"), Just("tokenizer.vocab_size"),
        ],
    ) {
        let (section, name) = key.split_once('.').expect("the keys have sections");
        read(&match section {
            "data" => format!("[data]\ntask = \"copy\"\n{name} = {number}\n"),
            _ => format!("[{section}]\n{name} = {number}\n[data]\ntask = \"copy\"\n"),
        });
    }
}
