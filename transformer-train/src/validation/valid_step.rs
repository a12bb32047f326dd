//! The validation step: the loss of a batch, and the scores of its translations. Several processes take the batches in
//! turn, and send their results to the process of rank 0.

use burn_train::InferenceStep;
use serde::{Deserialize, Serialize};

use super::metrics::BatchMetrics;
use super::pair_translator::Translation;
use super::valid_loader::ValidBatch;
use crate::step::{LossSums, Objective};

impl InferenceStep for Objective {
    type Input = ValidBatch;
    type Output = BatchMetrics;

    /// Returns an empty report on processes that do not report.
    fn step(&self, batch: ValidBatch) -> BatchMetrics {
        if !batch.weights().ranks().is_alone() {
            return validate_shared(self, &batch).unwrap_or_default();
        }
        let translations = batch.translate(self.published());
        batch.metrics(self.loss(&batch.batch), translations)
    }
}

/// The losses and translations of a batch.
#[derive(Debug, Serialize, Deserialize)]
struct Share {
    /// Label-smoothed cross-entropy, and negative log-likelihood.
    losses: [f64; 2],
    translations: Option<Vec<Translation>>,
}

/// Validates a batch together with other processes, which take the batches in turn. Returns the report on the process
/// of rank 0, and `None` on the others.
fn validate_shared(objective: &Objective, batch: &ValidBatch) -> Option<BatchMetrics> {
    let ranks = batch.weights().ranks();
    if batch.index == 0 {
        batch.weights().check(objective);
    }
    let owner = batch.index % ranks.n_ranks();
    if owner != ranks.rank() && !ranks.is_first() {
        return None;
    }
    let share = match owner == ranks.rank() {
        true => Share {
            losses: objective.loss(&batch.batch).values(),
            translations: batch.translate(objective.published()),
        },
        false => serde_json::from_str(&ranks.receive(owner))
            .expect("every process sends a share in this form"),
    };
    if !ranks.is_first() {
        let text = serde_json::to_string(&share).expect("a share is numbers and text");
        ranks.send_to_first(&text);
        return None;
    }
    let losses = LossSums::on(&batch.batch.labels.device(), share.losses);
    Some(batch.metrics(losses, share.translations))
}
