//! The response to a failure of `validation.command`: a warning, or the end of the run.

use std::sync::Arc;

use burn_train::Interrupter;
use parking_lot::Mutex;

use super::environment::{Display, RunEnvironment};
use super::prepare::Prepared;
use super::validation_pairs::without_tag;
use crate::config::{CommandFailure, Experiment};
use crate::error::TrainError;
use crate::progress::LogFn;
use crate::validation::{ExternalScorer, IntervalMetric};

#[derive(Clone)]
pub(super) struct CommandScorer {
    scorer: ExternalScorer,
    on_failure: CommandFailure,
    log: LogFn,
    /// True if warnings wait until the dashboard has closed.
    is_deferred: bool,
    failure: Arc<Mutex<Option<TrainError>>>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl CommandScorer {
    pub(super) fn new(
        experiment: &Experiment,
        environment: &RunEnvironment,
        prepared: &Prepared,
    ) -> Option<Self> {
        let settings = &experiment.validation;
        let tags = experiment.data.tags_of(|tags| &tags.src);
        let pairs = prepared.valid.text.iter().take(settings.max_sentences);
        let pairs = pairs.map(|(src, tgt)| (without_tag(src, &tags).to_owned(), tgt.clone()));
        let pairs: Vec<(String, String)> = pairs.collect();
        let scorer = ExternalScorer::new(
            settings,
            &environment.directory,
            &pairs,
            &environment.interrupt,
        )?;
        Some(Self {
            scorer,
            on_failure: settings.command_failure,
            log: Arc::clone(&environment.log),
            is_deferred: environment.display == Display::Dashboard,
            failure: Arc::default(),
            warnings: Arc::default(),
        })
    }

    /// Returns the metric that scores every validation. A failure that ends the run stops `interrupter`.
    pub(super) fn metric(&self, interrupter: &Interrupter) -> IntervalMetric {
        let (this, interrupter) = (self.clone(), interrupter.clone());
        let on_error = move |error: TrainError| match this.on_failure {
            CommandFailure::Warn if this.is_deferred => this.warnings.lock().push(warning(&error)),
            CommandFailure::Warn => (this.log)(&warning(&error)),
            CommandFailure::Stop => {
                this.failure.lock().get_or_insert(error);
                interrupter.stop(Some("validation.command has failed"));
            }
        };
        IntervalMetric::command(self.scorer.clone(), Arc::new(on_error))
    }

    /// Logs the waiting warnings, and returns the failure that has ended the training, if any.
    pub(super) fn finish_training(&self) -> Result<(), TrainError> {
        let mut warnings = self.warnings.lock();
        warnings.drain(..).for_each(|warning| (self.log)(&warning));
        let failure = self.failure.lock().take();
        failure.map_or(Ok(()), |source| Err(stopped(source)))
    }

    /// Scores translations of the first validation pairs. `None` if the command fails and the run continues.
    pub(super) fn score<S: AsRef<str>>(
        &self,
        translations: &[S],
    ) -> Result<Option<f64>, TrainError> {
        match (self.scorer.score(translations), self.on_failure) {
            (Ok(score), _) => Ok(Some(score)),
            (Err(error), CommandFailure::Warn) => {
                (self.log)(&warning(&error));
                Ok(None)
            }
            (Err(source), CommandFailure::Stop) => Err(stopped(source)),
        }
    }
}

fn stopped(source: TrainError) -> TrainError {
    let source = Box::new(source);
    TrainError::Command { source }
}

fn warning(error: &TrainError) -> String {
    format!("warning     `validation.command` has no score: {error}")
}
