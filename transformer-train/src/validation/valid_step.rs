//! The validation step: the loss of a batch, and the scores of its translations.

use burn_train::InferenceStep;

use super::share::validate_shared;
use super::valid_loader::ValidBatch;
use super::valid_report::ValidReport;
use crate::step::Objective;

impl InferenceStep for Objective {
    type Input = ValidBatch;
    type Output = ValidReport;

    /// Returns an empty report on processes that do not report.
    fn step(&self, batch: ValidBatch) -> ValidReport {
        if !batch.weights.ranks().is_alone() {
            return validate_shared(self, &batch).unwrap_or_default();
        }
        let translations = batch.translate(self.published());
        ValidReport::new(&batch, self.loss(&batch.batch), translations)
    }
}
