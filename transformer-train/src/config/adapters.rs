//! Checks the settings of low-rank adapters.

use transformer_core::config::{AdapterConfig, AdapterTarget};

use crate::config::range::{at_most, fraction, positive, require, setting};
use crate::config::{Checkpointing, ConfigError, EmbeddingSettings, Experiment};

const MAX_RANK: u64 = 1 << 16;

pub(super) fn validate_adapters(experiment: &Experiment) -> Result<(), ConfigError> {
    let adapters = &experiment.adapters;
    at_most(setting!(adapters.rank), MAX_RANK)?;
    positive(setting!(adapters.alpha))?;
    fraction(setting!(adapters.dropout))?;
    require(
        ("adapters.targets", "[]"),
        !adapters.targets.is_empty(),
        "at least one kind of matrix, for example [\"attention\"]",
    )?;
    if !adapters.is_on() {
        return refuse_without_rank(adapters);
    }
    if experiment.finetune.model.is_none() {
        return Err(ConfigError::missing("finetune.model", "adapters.rank"));
    }
    let scale = (adapters.alpha / adapters.rank as f64) as f32;
    require(
        setting!(adapters.alpha),
        scale.is_finite(),
        "a number that single precision has, for example twice the rank",
    )?;
    refuse_frozen_embeddings(adapters, &experiment.embeddings)?;
    let mut targets = adapters.targets.iter();
    let embeddings_alone = targets.all(|target| *target == AdapterTarget::Embeddings);
    require(
        ("adapters.targets", "[\"embeddings\"]"),
        adapters.trained_tokens == 0 || !embeddings_alone,
        "other matrices too, for example [\"attention\"]: `adapters.trained_tokens` replaces those of embeddings",
    )?;
    require(
        setting!(adapters.dropout),
        adapters.dropout == 0.0 || !embeddings_alone,
        "0, or targets other than `embeddings`, which have no dropout",
    )?;
    require(
        ("training.checkpointing", "`layers`"),
        experiment.training.checkpointing == Checkpointing::None,
        "`none` if `adapters.rank` is not 0: layers with adapters have not been tried",
    )
}

fn refuse_frozen_embeddings(
    adapters: &AdapterConfig,
    embeddings: &EmbeddingSettings,
) -> Result<(), ConfigError> {
    let with_tokens = adapters.trained_tokens > 0;
    let with_embeddings = adapters.targets.contains(&AdapterTarget::Embeddings);
    for (key, is_frozen) in [
        ("embeddings.freeze_src", embeddings.freeze_src),
        ("embeddings.freeze_tgt", embeddings.freeze_tgt),
    ] {
        require(
            (key, is_frozen),
            !(is_frozen && (with_embeddings || with_tokens)),
            match with_tokens {
                true => "false, or 0 for `adapters.trained_tokens`",
                false => {
                    "false, or `adapters.targets` without `embeddings`, for example [\"attention\", \"feed_forward\"]"
                }
            },
        )?;
    }
    Ok(())
}

/// Refuses other keys than the rank: without one all weights would be trained, which nobody wants who sets them.
fn refuse_without_rank(adapters: &AdapterConfig) -> Result<(), ConfigError> {
    let default = AdapterConfig::default();
    let allowed = "the default while `adapters.rank` is 0, or set a rank, for example 8";
    let same = adapters.alpha == default.alpha;
    require(setting!(adapters.alpha), same, allowed)?;
    let same = adapters.dropout == default.dropout;
    require(setting!(adapters.dropout), same, allowed)?;
    let same = adapters.targets == default.targets;
    require(("adapters.targets", "another list"), same, allowed)?;
    let same = adapters.trained_tokens == default.trained_tokens;
    require(setting!(adapters.trained_tokens), same, allowed)?;
    let same = adapters.train_biases == default.train_biases;
    require(setting!(adapters.train_biases), same, allowed)?;
    let same = adapters.train_norms == default.train_norms;
    require(setting!(adapters.train_norms), same, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An experiment that starts from a model.
    fn experiment(adapters: &AdapterConfig) -> Experiment {
        let mut experiment = Experiment {
            adapters: adapters.clone(),
            ..Experiment::default()
        };
        experiment.finetune.model = Some("model".into());
        experiment
    }

    fn error(adapters: &AdapterConfig) -> Option<String> {
        let checked = validate_adapters(&experiment(adapters));
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn other_keys_without_a_rank_are_refused() {
        let alone = AdapterConfig {
            alpha: 32.0,
            ..AdapterConfig::default()
        };
        assert_eq!(error(&AdapterConfig::default()), None);
        let expected = "`adapters.alpha` is 32; choose the default while `adapters.rank` is 0, or set a rank, for example 8";
        assert_eq!(error(&alone).as_deref(), Some(expected));
        let other_targets = AdapterConfig {
            targets: vec![AdapterTarget::AttentionQuery],
            ..AdapterConfig::default()
        };
        assert!(error(&other_targets).is_some_and(|it| it.starts_with("`adapters.targets`")));
        let frozen = AdapterConfig {
            train_norms: false,
            ..AdapterConfig::default()
        };
        assert!(error(&frozen).is_some_and(|it| it.starts_with("`adapters.train_norms`")));
    }

    #[test]
    fn adapters_of_frozen_embeddings_are_refused() {
        let mut experiment = experiment(&AdapterConfig {
            rank: 2,
            ..AdapterConfig::default()
        });
        assert!(validate_adapters(&experiment).is_ok());
        experiment.embeddings.freeze_tgt = true;
        let message = validate_adapters(&experiment).expect_err("they are not trained");
        assert!(message.to_string().starts_with("`embeddings.freeze_tgt`"));
        experiment.adapters.targets = vec![AdapterTarget::Attention];
        assert!(validate_adapters(&experiment).is_ok());
        experiment.adapters.trained_tokens = 5;
        let message = validate_adapters(&experiment).expect_err("they are not trained");
        let message = message.to_string();
        assert!(message.contains("`adapters.trained_tokens`"), "{message}");
    }

    #[test]
    fn dropout_that_no_adapter_has_is_refused() {
        let embeddings_alone = AdapterConfig {
            rank: 2,
            dropout: 0.1,
            targets: vec![AdapterTarget::Embeddings],
            ..AdapterConfig::default()
        };
        assert!(error(&embeddings_alone).is_some_and(|it| it.contains("`adapters.dropout`")));
    }

    #[test]
    fn a_scale_that_single_precision_lacks_is_refused() {
        let infinite = AdapterConfig {
            rank: 1,
            alpha: 1e300,
            ..AdapterConfig::default()
        };
        assert!(error(&infinite).is_some_and(|it| it.contains("adapters.alpha")));
    }
}
