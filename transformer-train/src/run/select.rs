//! The choice of the weights that become the model: the last checkpoint, the best one, or a mean of several (§6.1).

use std::collections::BTreeMap;
use std::path::Path;

use transformer_core::Transformer;

use super::environment::RunEnvironment;
use super::outcome::Evaluator;
use crate::batching::Batch;
use crate::checkpoint::{
    SavedState, average, checkpoints_with_intact_weights, last_of, of_interval,
};
use crate::config::{BestBy, Experiment};
use crate::error::TrainError;
use crate::step::Objective;
use crate::validation::{
    ValidPairs, Validation, best, geometric_mean, is_out_of_patience, valid_batches,
};

pub(crate) struct ModelSelection<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) environment: &'a RunEnvironment,
    pub(crate) checkpoints: &'a Path,
    pub(crate) evaluator: &'a Evaluator<'a>,
    /// A module with the parameters of the checkpoints, without autodiff.
    pub(crate) template: Objective,
}

pub(crate) struct Selected {
    pub(super) model: Transformer,
    pub(super) valid_perplexity: f64,
    pub(super) n_updates: u64,
    pub(super) is_out_of_patience: bool,
}

struct Evaluated {
    name: String,
    model: Transformer,
    perplexity: f64,
    /// The validation score that models are compared by; higher is better. `None` if the command failed.
    score: Option<f64>,
}

impl Evaluated {
    /// Returns the score and, for equal ones, the negated perplexity.
    fn rank(&self) -> (Option<f64>, f64) {
        (self.score, -self.perplexity)
    }

    fn summary(&self, by: BestBy) -> String {
        let value = match (by, self.score) {
            (_, None) => format!("none (perplexity {:.3})", self.perplexity),
            (BestBy::Loss, _) => format!("{:.3}", self.perplexity),
            (BestBy::Bleu | BestBy::Chrf, Some(score)) => format!("{score:.1}"),
            (BestBy::Command, Some(score)) => format!("{score:.4}"),
        };
        format!("{value} for {}", self.name)
    }
}

impl ModelSelection<'_> {
    /// Returns the best on the validation pairs among these models: the last checkpoint, the mean of the last ones
    /// (§6.1), which is worse while the weights still change fast, and, if they are kept, the best checkpoint and the
    /// mean of the best ones. Among equal ones, the lower perplexity wins, then the later in this list.
    pub(crate) fn select(&self) -> Result<Selected, TrainError> {
        let training = &self.experiment.training;
        let log = &self.environment.log;
        let saved = checkpoints_with_intact_weights(self.checkpoints, log);
        let Some(&last) = saved.last() else {
            return Err(TrainError::NothingTrained);
        };
        let validations = SavedState::of(self.checkpoints, last).map(|state| state.validations);
        let validations = validations.unwrap_or_default();
        let is_out_of_patience = is_out_of_patience(&validations, training);
        if is_out_of_patience {
            log(&format!(
                "stopped     after update {}: no better validation since the best, for {} in a row",
                last,
                training.patience.unwrap_or_default(),
            ));
        }
        let candidates = self.candidates(&saved, last, &validations);
        let n_candidates = candidates.len();
        let batches = valid_batches(
            &self.evaluator.prepared.valid.pairs,
            &self.evaluator.prepared.valid.corpora,
            &[],
            training.tokens_per_batch,
        );
        let mut summaries = Vec::new();
        let mut selected: Option<Evaluated> = None;
        for ((name, updates), number) in candidates.into_iter().zip(1..) {
            let status = format!("choosing    the model: {number} of {n_candidates}");
            self.environment.show_status(&status);
            let evaluated = self.evaluate(name, &updates, &batches)?;
            summaries.push(evaluated.summary(training.best_by));
            if selected
                .as_ref()
                .is_none_or(|best| evaluated.rank() >= best.rank())
            {
                selected = Some(evaluated);
            }
        }
        self.environment.show_status("");
        let selected = selected.expect("the last checkpoint is a candidate");
        if n_candidates > 1 {
            let metric = match training.best_by {
                BestBy::Loss => "validation perplexity",
                BestBy::Bleu => "validation BLEU",
                BestBy::Chrf => "validation chrF",
                BestBy::Command => "score of the command",
            };
            let summaries = summaries.join(", ");
            log(&format!("{metric} {summaries}: kept {}", selected.name));
        }
        Ok(Selected {
            model: selected.model,
            valid_perplexity: selected.perplexity,
            n_updates: last,
            is_out_of_patience,
        })
    }

    /// Returns the candidates, by their names and numbers of updates, from the intact checkpoints `saved`, the last of
    /// which is `last`.
    fn candidates(
        &self,
        saved: &[u64],
        last: u64,
        validations: &[Validation],
    ) -> Vec<(String, Vec<u64>)> {
        let training = &self.experiment.training;
        let mut candidates = vec![("the last checkpoint".to_owned(), vec![last])];
        let averaged = last_of(saved, training.average_last, training);
        if averaged.len() > 1 {
            candidates.push((
                format!("the mean of the last {}", averaged.len()),
                averaged.to_vec(),
            ));
        }
        let ranked = best(validations, training.best_by, training.n_best());
        let saved_of = |interval| of_interval(saved, interval, training);
        let mut ranked: Vec<u64> = ranked.into_iter().filter_map(saved_of).collect();
        if let Some(&first) = ranked.first().filter(|&&first| first != last) {
            candidates.push((
                format!("the best checkpoint, of update {first}"),
                vec![first],
            ));
        }
        ranked.truncate(training.average_best);
        if ranked.len() > 1 {
            candidates.push((format!("the mean of the best {}", ranked.len()), ranked));
        }
        candidates
    }

    fn evaluate(
        &self,
        name: String,
        updates: &[u64],
        batches: &[ValidPairs],
    ) -> Result<Evaluated, TrainError> {
        let objective = average(self.checkpoints, updates, &self.template)?;
        let mut of_corpora: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for ValidPairs { pairs, corpus, .. } in batches {
            let batch = Batch::new(pairs, &self.environment.device);
            let (nll, n_labels) = of_corpora.entry(*corpus).or_default();
            *nll += objective.loss(&batch).nll.into_scalar::<f64>();
            *n_labels += batch.size.n_labels;
        }
        let of_corpora = of_corpora.into_values();
        let of_corpora = of_corpora.map(|(nll, n_labels)| (nll / n_labels as f64).exp());
        let perplexity = geometric_mean(&of_corpora.collect::<Vec<_>>());
        let model = objective.into_model();
        let translations = || self.evaluator.translate_valid(&model);
        let score = match self.experiment.training.best_by {
            BestBy::Loss => Some(-perplexity),
            BestBy::Bleu => Some(self.evaluator.text_scores(&translations()).bleu),
            BestBy::Chrf => Some(self.evaluator.text_scores(&translations()).chrf),
            BestBy::Command => self.evaluator.command_score(&translations())?,
        };
        Ok(Evaluated {
            name,
            model,
            perplexity,
            score,
        })
    }
}
