//! The learning rate of every update (§5.3).

use burn::optim::lr_scheduler::{LrScheduler, LrSchedulerRecord};
use burn::optim::{LearningRate, RecordState, StateSink, StateSource};
use burn::tensor::Device;

use crate::config::{ScheduleKind, TrainingSettings};

/// A learning rate schedule, which also counts updates for Burn's Learner.
///
/// With update `t`, `warmup` steps and `n` updates in all, the learning rate is
/// `peak · min(t / warmup, decay(t))`, where `decay` depends on the [`ScheduleKind`].
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    kind: ScheduleKind,
    peak: f64,
    warmup_steps: f64,
    n_updates: f64,
    step: u64,
}

impl Schedule {
    /// Returns the schedule of these settings for a model of width `d_model`.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_train::config::TrainingSettings;
    /// use transformer_train::optim::Schedule;
    ///
    /// let paper = Schedule::new(&TrainingSettings::default(), 512);
    /// let rate = |step: f64| 512_f64.powf(-0.5) * f64::min(step.powf(-0.5), step * 4000_f64.powf(-1.5));
    /// assert!((paper.learning_rate(100) - rate(100.0)).abs() < 1e-12);
    /// assert!((paper.learning_rate(9000) - rate(9000.0)).abs() < 1e-12);
    /// ```
    pub fn new(training: &TrainingSettings, d_model: usize) -> Self {
        let warmup_steps = training.warmup_steps as f64;
        let d_model = d_model as f64;
        let noam_peak =
            training.learning_rate_factor * d_model.powf(-0.5) * warmup_steps.powf(-0.5);
        Self {
            kind: training.schedule,
            peak: training.peak_learning_rate.unwrap_or(noam_peak),
            warmup_steps,
            n_updates: training.updates as f64,
            step: 0,
        }
    }

    pub(crate) fn after(self, n_done: u64) -> Self {
        Self {
            step: n_done,
            ..self
        }
    }

    /// Returns the learning rate of an update, counted from 1.
    pub fn learning_rate(&self, update: u64) -> f64 {
        let step = update as f64;
        let warmup = step / self.warmup_steps;
        // Fraction of the decay phase that is complete before this update.
        let progress =
            (step - 1.0 - self.warmup_steps) / (self.n_updates - self.warmup_steps).max(1.0);
        let progress = progress.clamp(0.0, 1.0);
        let decay = match self.kind {
            ScheduleKind::Noam | ScheduleKind::InverseSqrt => (self.warmup_steps / step).sqrt(),
            ScheduleKind::Constant => 1.0,
            ScheduleKind::Linear => 1.0 - progress,
            ScheduleKind::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
        };
        self.peak * warmup.min(decay)
    }
}

impl LrScheduler for Schedule {
    fn step(&mut self) -> LearningRate {
        self.step += 1;
        self.learning_rate(self.step)
    }

    fn to_record(&self) -> LrSchedulerRecord {
        LrSchedulerRecord::from_state(&Step(self.step))
    }

    fn load_record(&mut self, record: LrSchedulerRecord) {
        if let Some(Step(step)) = record.into_state() {
            self.step = step;
        }
    }
}

const STEP: &str = "step";

struct Step(u64);

impl RecordState for Step {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        out.push_scalar(prefix, STEP, self.0.into());
    }

    fn state_unflatten(prefix: &str, src: &mut StateSource, _device: &Device) -> Option<Self> {
        src.take_scalar(prefix, STEP)?.try_into().ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(kind: ScheduleKind) -> Schedule {
        let training = TrainingSettings {
            schedule: kind,
            updates: 110,
            warmup_steps: 10,
            learning_rate_factor: 2.0,
            ..TrainingSettings::default()
        };
        Schedule::new(&training, 16)
    }

    /// The peak: 2 · 16^−0.5 · 10^−0.5.
    fn peak() -> f64 {
        0.5 / 10_f64.sqrt()
    }

    fn assert_rate(kind: ScheduleKind, update: u64, fraction_of_peak: f64) {
        let rate = schedule(kind).learning_rate(update);
        assert!(
            (rate - fraction_of_peak * peak()).abs() < 1e-12,
            "{kind:?} {update}: {rate}"
        );
    }

    #[test]
    fn all_schedules_have_the_same_warmup() {
        let kinds = [
            ScheduleKind::Noam,
            ScheduleKind::InverseSqrt,
            ScheduleKind::Constant,
            ScheduleKind::Linear,
            ScheduleKind::Cosine,
        ];
        for kind in kinds {
            assert_rate(kind, 1, 0.1);
            assert_rate(kind, 10, 1.0);
        }
    }

    #[test]
    fn noam_decays_with_the_inverse_square_root() {
        assert_rate(ScheduleKind::Noam, 40, 0.5);
        assert_rate(ScheduleKind::Noam, 1000, 0.1);
    }

    /// fairseq's `InverseSquareRootSchedule` with `--warmup-init-lr 0`: `lr · min(step/warmup, √(warmup/step))`.
    #[test]
    fn inverse_sqrt_has_the_configured_peak() {
        let training = TrainingSettings {
            schedule: ScheduleKind::InverseSqrt,
            warmup_steps: 10,
            peak_learning_rate: Some(5e-4),
            learning_rate_factor: 7.0,
            ..TrainingSettings::default()
        };
        let schedule = Schedule::new(&training, 16);
        for (update, expected) in [(1, 5e-5), (10, 5e-4), (40, 2.5e-4), (1000, 5e-5)] {
            assert!((schedule.learning_rate(update) - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn a_constant_rate_stays_at_the_peak() {
        assert_rate(ScheduleKind::Constant, 100_000, 1.0);
    }

    #[test]
    fn a_linear_rate_reaches_zero_only_after_the_last_update() {
        assert_rate(ScheduleKind::Linear, 11, 1.0);
        assert_rate(ScheduleKind::Linear, 61, 0.5);
        assert_rate(ScheduleKind::Linear, 110, 0.01);
        assert_rate(ScheduleKind::Linear, 111, 0.0);
        assert_rate(ScheduleKind::Linear, 500, 0.0);
    }

    #[test]
    fn a_cosine_rate_is_half_the_peak_in_the_middle() {
        assert_rate(ScheduleKind::Cosine, 61, 0.5);
        assert_rate(ScheduleKind::Cosine, 36, 0.5 + 0.125_f64.sqrt());
    }

    /// An unreadable record must not restart the schedule.
    #[test]
    fn an_unreadable_record_leaves_a_resumed_schedule_unchanged() {
        let mut schedule = schedule(ScheduleKind::Linear).after(37);
        schedule.load_record(LrSchedulerRecord::from_state(&Other));
        schedule.step();
        assert_eq!(schedule.step, 38);
    }

    /// The record of a different scheduler.
    struct Other;

    impl RecordState for Other {
        fn state_flatten(&self, _prefix: &str, _sink: &mut StateSink) {}

        fn state_unflatten(_: &str, _: &mut StateSource, _: &Device) -> Option<Self> {
            Some(Self)
        }
    }

    #[test]
    fn a_schedule_resumes_from_its_record() {
        let mut first = schedule(ScheduleKind::Cosine);
        for _ in 0..37 {
            first.step();
        }
        let mut second = schedule(ScheduleKind::Cosine);
        second.load_record(first.to_record());
        assert_eq!(second.step(), first.step());
        assert_eq!(second.step, 38);
    }
}
