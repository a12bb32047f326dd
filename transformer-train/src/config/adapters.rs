//! Checks the settings of low-rank adapters.

use transformer_core::config::AdapterConfig;

use crate::config::range::{at_most, fraction, positive, require};
use crate::config::{Checkpointing, ConfigError};

const MAX_RANK: u64 = 1 << 16;

/// Checks the settings of adapters, which need a model to start from.
pub(super) fn validate_adapters(
    adapters: &AdapterConfig,
    is_finetuning: bool,
    checkpointing: Checkpointing,
) -> Result<(), ConfigError> {
    at_most("adapters.rank", adapters.rank as u64, MAX_RANK)?;
    positive("adapters.alpha", adapters.alpha)?;
    fraction("adapters.dropout", adapters.dropout)?;
    require(
        "adapters.targets",
        "[]",
        !adapters.targets.is_empty(),
        "at least one kind of matrix, for example [\"attention\"]",
    )?;
    if !adapters.is_on() {
        return refuse_without_rank(adapters);
    }
    if !is_finetuning {
        return Err(ConfigError::MissingSide {
            given: "adapters.rank",
            missing: "finetune.model",
        });
    }
    let scale = (adapters.alpha / adapters.rank as f64) as f32;
    require(
        "adapters.alpha",
        adapters.alpha,
        scale.is_finite(),
        "a number that single precision has, for example twice the rank",
    )?;
    require(
        "training.checkpointing",
        "`layers`",
        checkpointing == Checkpointing::None,
        "`none` if `adapters.rank` is not 0: layers with adapters have not been tried",
    )
}

/// Refuses other keys than the rank: without one all weights would be trained, which nobody wants who sets them.
fn refuse_without_rank(adapters: &AdapterConfig) -> Result<(), ConfigError> {
    let AdapterConfig {
        rank: _,
        alpha,
        dropout,
        targets,
    } = AdapterConfig::default();
    let allowed = "the default while `adapters.rank` is 0, or set a rank, for example 8";
    let same = adapters.alpha == alpha;
    require("adapters.alpha", adapters.alpha, same, allowed)?;
    let same = adapters.dropout == dropout;
    require("adapters.dropout", adapters.dropout, same, allowed)?;
    let same = adapters.targets == targets;
    require("adapters.targets", "another list", same, allowed)
}

#[cfg(test)]
mod tests {
    use transformer_core::config::AdapterTarget;

    use super::*;

    fn error(adapters: &AdapterConfig) -> Option<String> {
        let checked = validate_adapters(adapters, true, Checkpointing::None);
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
