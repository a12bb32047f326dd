//! [`Ensemble`]: several models that predict together.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString};

use super::{NextToken, SearchError};

/// The mean of the predictions of an ensemble.
///
/// Written as text, the kinds are `probs` and `log-probs`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = SearchError, parse_err_fn = unknown)]
#[non_exhaustive]
pub enum EnsembleMean {
    /// The mean of the probabilities: a token is likely if at least one model finds it likely.
    #[default]
    Probs,
    /// The mean of the log-probabilities: a token is likely if no model finds it unlikely. The
    /// resulting probabilities sum to less than 1, unless the models agree.
    LogProbs,
}

/// Averages the predictions of several models with the same rows and the same target vocabulary.
#[derive(Debug)]
pub struct Ensemble<M> {
    members: Vec<M>,
    mean: EnsembleMean,
}

impl<M: NextToken> Ensemble<M> {
    /// Creates an ensemble.
    ///
    /// # Panics
    ///
    /// Panics if there is no model, or if the models differ in their number of rows or vocabulary size.
    pub fn new(members: Vec<M>, mean: EnsembleMean) -> Self {
        let sizes = |member: &M| (member.n_rows(), member.vocab_size());
        assert!(
            !members.is_empty() && members.iter().all(|it| sizes(it) == sizes(&members[0])),
            "an ensemble needs models with the same rows and vocabulary"
        );
        Self { members, mean }
    }

    /// Returns the models.
    #[doc(hidden)]
    pub fn into_members(self) -> Vec<M> {
        self.members
    }
}

impl<M: NextToken> NextToken for Ensemble<M> {
    fn n_rows(&self) -> usize {
        self.members[0].n_rows()
    }

    fn vocab_size(&self) -> usize {
        self.members[0].vocab_size()
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        let members = self.members.iter_mut();
        let predictions: Vec<_> = members.map(|it| it.log_probs(last_tokens)).collect();
        self.mean.of(&predictions)
    }

    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let members = self.members.iter_mut();
        let members = members.map(|it| it.log_probs_with_attention(last_tokens));
        let (predictions, attention): (Vec<_>, Vec<Vec<Vec<f32>>>) = members.unzip();
        let of_row = |row: usize| mean_attention(attention.iter().map(|rows| rows[row].as_slice()));
        let attention = (0..last_tokens.len()).map(of_row).collect();
        (self.mean.of(&predictions), attention)
    }

    fn select(&mut self, rows: &[usize]) {
        for member in &mut self.members {
            member.select(rows);
        }
    }
}

impl EnsembleMean {
    fn of(self, predictions: &[Vec<f32>]) -> Vec<f32> {
        let n_tokens = predictions.first().map_or(0, Vec::len);
        let of_models = |token: usize| {
            let models = predictions.iter();
            models.map(move |log_probs| f64::from(log_probs[token]))
        };
        let mean = |token: usize| match self {
            Self::Probs => log_mean_exp(of_models(token)),
            Self::LogProbs => of_models(token).sum::<f64>() / predictions.len() as f64,
        };
        (0..n_tokens).map(|token| mean(token) as f32).collect()
    }
}

/// Returns `ln(1/n · Σ exp(x))`.
fn log_mean_exp(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let n = values.len() as f64;
    // The maximum is factored out, so that not all exponentials underflow.
    let max = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return values.sum(); // all are −∞ or NaN
    }
    let sum: f64 = values.map(|value| (value - max).exp()).sum();
    max + (sum / n).ln()
}

fn mean_attention<'a>(of_models: impl ExactSizeIterator<Item = &'a [f32]>) -> Vec<f32> {
    let n_models = of_models.len() as f32;
    let mut sum: Vec<f32> = Vec::new();
    for weights in of_models {
        sum.resize(weights.len(), 0.0);
        for (sum, weight) in sum.iter_mut().zip(weights) {
            *sum += weight / n_models;
        }
    }
    sum
}

fn unknown(text: &str) -> SearchError {
    let text = text.to_owned();
    SearchError::UnknownMean { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Table;
    use crate::{Request, Search};

    #[test]
    fn probabilities_have_an_arithmetic_mean_and_log_probabilities_a_geometric_one() {
        let predictions =
            [[0.2_f32.ln(), 0.9_f32.ln()], [0.6_f32.ln(), 0.1_f32.ln()]].map(Vec::from);
        let probs = EnsembleMean::Probs.of(&predictions);
        assert!((probs[0].exp() - 0.4).abs() < 1e-6 && (probs[1].exp() - 0.5).abs() < 1e-6);
        let log_probs = EnsembleMean::LogProbs.of(&predictions);
        assert!((log_probs[0].exp() - 0.12_f32.sqrt()).abs() < 1e-6);
        assert!((log_probs[1].exp() - 0.09_f32.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn a_token_that_one_of_two_models_excludes_has_half_the_probability_of_the_other() {
        let predictions = [vec![f32::NEG_INFINITY], vec![0.5_f32.ln()]];
        assert!((EnsembleMean::Probs.of(&predictions)[0].exp() - 0.25).abs() < 1e-6);
        assert_eq!(
            EnsembleMean::LogProbs.of(&predictions)[0],
            f32::NEG_INFINITY
        );
    }

    #[test]
    fn a_token_that_all_models_exclude_stays_excluded() {
        let predictions = [[f32::NEG_INFINITY], [f32::NEG_INFINITY]].map(Vec::from);
        assert_eq!(EnsembleMean::Probs.of(&predictions), [f32::NEG_INFINITY]);
    }

    #[test]
    fn probabilities_that_underflow_have_a_mean() {
        let predictions = [vec![-800.0], vec![-800.0]];
        assert_eq!(EnsembleMean::Probs.of(&predictions), [-800.0]);
    }

    #[test]
    fn an_ensemble_of_three_copies_finds_what_the_model_finds() {
        let table = Table::random(3, &[0, 1], 9);
        let requests = [Request::up_to(7), Request::up_to(9)];
        for search in [Search::greedy(), Search::default()] {
            let alone = search.run(&mut table.clone(), &requests);
            for mean in [EnsembleMean::Probs, EnsembleMean::LogProbs] {
                let mut three = Ensemble::new(vec![table.clone(); 3], mean);
                assert_eq!(search.run(&mut three, &requests), alone);
            }
        }
    }

    #[test]
    fn an_ensemble_of_two_models_predicts_their_mean() {
        let (first, second) = (Table::random(3, &[0], 7), Table::random(4, &[0], 7));
        let mut both = Ensemble::new(vec![first.clone(), second.clone()], EnsembleMean::Probs);
        let found = Search::default()
            .run(&mut both, &[Request::up_to(5)])
            .concat();
        let mut tokens = vec![transformer_text::BOS];
        for (id, log_prob) in found[0].ids.iter().zip(&found[0].token_log_probs) {
            let prob = |table: &Table| table.row(0, &tokens)[*id as usize].exp();
            let expected = (prob(&first) + prob(&second)) / 2.0;
            assert!((log_prob.exp() - expected).abs() < 1e-6);
            tokens.push(*id);
        }
    }
}
