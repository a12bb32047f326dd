//! What goes with each preset: tokenizer, training and validation, so that its name is all one needs.

use transformer_core::Preset;
use transformer_core::text::TokenizerKind;
use transformer_infer::search::LengthPenalty;

use crate::config::{
    Experiment, ModelSettings, TokenizerSettings, TrainingSettings, ValidationSettings,
};
use crate::optim::ScheduleKind;
use crate::tasks::Task;

/// Returns the settings that go with a model, without data.
pub(super) fn of(preset: Preset) -> Experiment {
    let model = ModelSettings {
        preset,
        ..ModelSettings::default()
    };
    let experiment = match preset {
        Preset::Numbers => numbers(),
        Preset::Tiny => tiny(),
        Preset::Multi30k => multi30k(),
        Preset::Iwslt => iwslt(),
        Preset::Big => Experiment {
            training: TrainingSettings::for_big(),
            ..Experiment::default()
        },
        _ => Experiment {
            training: TrainingSettings {
                label_smoothing: preset.label_smoothing(),
                ..TrainingSettings::default()
            },
            ..Experiment::default()
        },
    };
    Experiment {
        model,
        ..experiment
    }
}

/// The recipe of the task of this name.
fn numbers() -> Experiment {
    let mut experiment = Experiment::for_task(Task::Numbers);
    experiment.data.task = None;
    experiment
}

/// What learns tens of thousands of sentences in an hour on a processor (docs/experiments.md).
fn tiny() -> Experiment {
    Experiment {
        tokenizer: TokenizerSettings::for_small_data(),
        training: TrainingSettings::for_small_data(),
        ..Experiment::default()
    }
}

/// Wu et al. 2021, "Good for Misconceived Reasons" (<https://arxiv.org/abs/2105.14462>), as the scripts of
/// its repository LividWo/Revisit-MMT have it: joint BPE of 10,000 merges, a rate that rises to 0.005 in
/// 2000 updates and falls with the inverse root, 8000 updates of two GPUs with 4096 tokens each, Adam's ε
/// 1e-8, clipping at 25, the mean of the last 10 checkpoints, one after each pass (52 updates), and a
/// beam of 5 with a length penalty of 1.
fn multi30k() -> Experiment {
    Experiment {
        tokenizer: bpe_of_10_000(),
        training: TrainingSettings {
            updates: 8000,
            tokens_per_batch: 8192,
            warmup_steps: 2000,
            learning_rate_factor: factor(0.005, 128, 2000),
            adam_epsilon: 1e-8,
            clip_norm: Some(25.0),
            validation_interval: 50,
            average_last: 10,
            ..TrainingSettings::default()
        },
        validation: beam_of_5(),
        ..Experiment::default()
    }
}

/// fairseq's recipe for IWSLT 2014 (examples/translation/README.md): joint BPE of 10,000 merges, a rate
/// that rises to 5e-4 in 4000 updates and falls with the inverse root, batches of 4096 tokens, a beam of 5
/// with a length penalty of 1. It names no end: 50,000 updates are some 50 passes over its 160,000 pairs.
/// Its Adam has ε 1e-8 and a weight decay of 1e-4, decoupled as here; there all parameters decay, here matrices
/// only. The vocabulary is one for both sides, where it has one for each.
fn iwslt() -> Experiment {
    Experiment {
        tokenizer: bpe_of_10_000(),
        training: TrainingSettings {
            updates: 50_000,
            tokens_per_batch: 4096,
            warmup_steps: 4000,
            schedule: ScheduleKind::InverseSqrt,
            peak_learning_rate: Some(5e-4),
            adam_epsilon: 1e-8,
            weight_decay: 1e-4,
            ..TrainingSettings::default()
        },
        validation: beam_of_5(),
        ..Experiment::default()
    }
}

/// Returns the factor of Eq. 3 with which the rate rises to a peak, to four digits after the point.
fn factor(peak: f64, d_model: usize, warmup_steps: u64) -> f64 {
    let exact = peak * (d_model as f64).sqrt() * (warmup_steps as f64).sqrt();
    (exact * 1e4).round() / 1e4
}

fn bpe_of_10_000() -> TokenizerSettings {
    TokenizerSettings {
        kind: TokenizerKind::Bpe,
        vocab_size: 10_000,
        ..TokenizerSettings::default()
    }
}

fn beam_of_5() -> ValidationSettings {
    ValidationSettings {
        beam_size: 5,
        // fairseq's `--lenpen 1`.
        length_penalty: LengthPenalty::Power { alpha: 1.0 },
        ..ValidationSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigError;
    use crate::optim::Schedule;

    fn peak(preset: Preset) -> f64 {
        let training = of(preset).training;
        let d_model = preset.config(100, 100).d_model;
        Schedule::new(&training, d_model).learning_rate(training.warmup_steps)
    }

    #[test]
    fn the_recipe_for_multi30k_rises_to_the_published_rate() {
        let peak = peak(Preset::Multi30k);
        assert!((peak / 0.005 - 1.0).abs() < 1e-4, "{peak}");
    }

    #[test]
    fn the_recipe_for_iwslt_rises_to_the_published_rate() {
        let peak = peak(Preset::Iwslt);
        assert!((peak / 5e-4 - 1.0).abs() < 1e-4, "{peak}");
    }

    #[test]
    fn the_recipe_for_iwslt_decays_as_published() {
        assert!((of(Preset::Iwslt).training.weight_decay - 1e-4).abs() < 1e-12);
    }

    #[test]
    fn every_recipe_lacks_data_only() {
        for preset in Preset::ALL {
            let mut experiment = of(preset);
            assert_eq!(experiment.validate(), Err(ConfigError::NoData), "{preset}");
            experiment.data.tsv = Some("pairs.tsv".into());
            assert_eq!(experiment.validate(), Ok(()), "{preset}");
        }
    }

    #[test]
    fn every_recipe_has_the_model_of_its_name() {
        assert!(Preset::ALL.iter().all(|&preset| {
            let model = of(preset).model;
            model.preset == preset && model.overrides.is_empty()
        }));
    }
}
