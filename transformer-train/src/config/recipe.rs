//! The recipe of each preset and built-in task: the settings of tokenizer, training and validation that go with its model.

use transformer_core::Preset;
use transformer_core::text::{Case, TokenizerKind};
use transformer_search::LengthPenalty;

use crate::config::{
    DataSettings, Experiment, ModelSettings, ScheduleKind, TokenizerSettings, TrainingSettings,
    ValidationSettings, Vocabulary,
};
use crate::tasks::Task;

impl Experiment {
    /// Returns a preset's model and recipe: the paper's (§5.2, §6.1; Table 3), or, for `tiny`,
    /// `multi30k` and `iwslt`, one for smaller data. They name no training data.
    pub fn for_preset(preset: Preset) -> Self {
        let experiment = match preset {
            Preset::Numbers => numbers(),
            Preset::Tiny => tiny(),
            Preset::Multi30k => multi30k(),
            Preset::Iwslt => iwslt(),
            Preset::Big => Self {
                training: TrainingSettings::for_big(),
                ..Self::default()
            },
            _ => Self {
                training: TrainingSettings {
                    label_smoothing: preset.label_smoothing(),
                    ..TrainingSettings::default()
                },
                ..Self::default()
            },
        };
        let model = ModelSettings {
            preset,
            ..ModelSettings::default()
        };
        Self {
            model,
            ..experiment
        }
    }

    /// Returns the settings with which a built-in task is learned in minutes on a CPU.
    pub fn for_task(task: Task) -> Self {
        let words = TokenizerSettings {
            kind: TokenizerKind::Word,
            case: Case::Lower,
            vocab_size: 30,
            ..TokenizerSettings::default()
        };
        let numbers = TokenizerSettings {
            vocabulary: Vocabulary::Separate,
            vocab_size: 200,
            tgt_kind: Some(TokenizerKind::Char),
            tgt_vocab_size: Some(20),
            ..words.clone()
        };
        let (tokenizer, updates) = match task {
            Task::Numbers => (numbers, 3300),
            Task::Reverse => (words, 3000),
            Task::Copy => (words, 1500),
        };
        Self {
            data: DataSettings {
                task: Some(task),
                max_len: 64,
                valid_pairs: 500,
                ..DataSettings::default()
            },
            tokenizer,
            model: ModelSettings {
                preset: Preset::Numbers,
                ..ModelSettings::default()
            },
            training: TrainingSettings {
                updates,
                tokens_per_batch: 1024,
                warmup_steps: 300,
                // A learning rate that falls to zero needs neither more updates nor averaged checkpoints.
                schedule: ScheduleKind::Linear,
                learning_rate_factor: 0.45,
                label_smoothing: 0.0,
                // Without it, one seed of five ends with a percent of wrong numbers.
                clip_norm: (task == Task::Numbers).then_some(1.0),
                validation_interval: 250,
                average_last: 1,
                ..TrainingSettings::default()
            },
            validation: ValidationSettings {
                max_sentences: 100,
                // Greedy search, because there is one correct answer.
                beam_size: 1,
                length_penalty: LengthPenalty::None,
                ..ValidationSettings::default()
            },
            ..Self::default()
        }
    }

    /// Returns the defaults of this experiment: the settings of its task, or otherwise of its preset.
    pub(super) fn defaults(&self) -> Self {
        match self.data.task {
            Some(task) => Self::for_task(task),
            None => Self::for_preset(self.model.preset),
        }
    }
}

fn numbers() -> Experiment {
    let mut experiment = Experiment::for_task(Task::Numbers);
    experiment.data.task = None;
    experiment
}

/// A recipe that learns tens of thousands of sentences in an hour on a CPU.
fn tiny() -> Experiment {
    Experiment {
        tokenizer: TokenizerSettings::for_small_data(),
        training: TrainingSettings::for_small_data(),
        validation: ValidationSettings {
            // With the paper's, translations of small models are too short (docs/results.md).
            length_penalty: LengthPenalty::Power { alpha: 1.0 },
            ..ValidationSettings::default()
        },
        ..Experiment::default()
    }
}

/// The recipe of Wu et al. 2021, "Good for Misconceived Reasons"
/// (<https://arxiv.org/abs/2105.14462>), from the scripts in its repository LividWo/Revisit-MMT.
///
/// Joint BPE with 10,000 merges; a learning rate that rises to 0.005 in 2000 updates and falls with the inverse square
/// root; 8000 updates on two GPUs with 4096 tokens each; Adam with ε = 1e-8; gradients clipped at norm 25; the average
/// of the last 10 checkpoints, one per epoch (52 updates); beam size 5 with a length penalty of 1.
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

/// The recipe of fairseq for IWSLT 2014 (examples/translation/README.md).
///
/// BPE with 10,000 merges; a learning rate that rises to 5e-4 in 4000 updates and falls with the inverse square root;
/// batches of 4096 tokens; Adam with ε = 1e-8 and a decoupled weight decay of 1e-4; a length penalty of 1 and beam size
/// 5. fairseq's recipe sets no number of updates: 50,000 are about 50 epochs of its 160,000 pairs. Two things differ
/// here: weight decay applies to weight matrices only, and both sides share one vocabulary.
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

/// Returns the factor of Eq. 3 with which the learning rate rises to `peak`, rounded to four decimal places.
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
        let training = Experiment::for_preset(preset).training;
        let d_model = preset.config(100, 100).d_model;
        Schedule::new(&training, d_model).learning_rate(training.warmup_steps)
    }

    #[test]
    fn the_learning_rate_for_multi30k_rises_to_the_published_peak() {
        let peak = peak(Preset::Multi30k);
        assert!((peak / 0.005 - 1.0).abs() < 1e-4, "{peak}");
    }

    #[test]
    fn the_learning_rate_for_iwslt_rises_to_the_published_peak() {
        let peak = peak(Preset::Iwslt);
        assert!((peak / 5e-4 - 1.0).abs() < 1e-4, "{peak}");
    }

    #[test]
    fn the_weight_decay_for_iwslt_is_the_published_one() {
        assert!((Experiment::for_preset(Preset::Iwslt).training.weight_decay - 1e-4).abs() < 1e-12);
    }

    #[test]
    fn every_recipe_lacks_only_data() {
        for preset in Preset::ALL {
            let mut experiment = Experiment::for_preset(preset);
            assert_eq!(experiment.validate(), Err(ConfigError::NoData), "{preset}");
            experiment.data.tsv = Some("pairs.tsv".into());
            assert_eq!(experiment.validate(), Ok(()), "{preset}");
        }
    }

    #[test]
    fn every_recipe_has_the_model_of_its_preset() {
        assert!(Preset::ALL.iter().all(|&preset| {
            let model = Experiment::for_preset(preset).model;
            model.preset == preset && model.overrides.is_empty()
        }));
    }
}
