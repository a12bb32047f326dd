//! The end of a run: tests the selected model and publishes it with its scores.

use std::time::Duration;

use super::environment::RunEnvironment;
use super::evaluate::Evaluator;
use super::outcome::Outcome;
use super::select::Selected;
use crate::checkpoint::Publisher;
use crate::error::TrainError;
use crate::validation::TextScores;

/// Translates the test and validation pairs, writes the model directory, and returns the outcome of the run.
pub(crate) fn publish(
    selected: Selected,
    publisher: &Publisher,
    evaluator: &Evaluator<'_>,
    environment: &RunEnvironment,
    elapsed: Duration,
) -> Result<Outcome, TrainError> {
    let (model, valid_perplexity) = (selected.model, selected.valid_perplexity);
    if !valid_perplexity.is_finite() {
        (environment.log)(
            "warning     the model has learnt nothing: its perplexity is not finite; lower the learning rate",
        );
    }
    environment.show_status("translating what the model is tested on");
    let test = evaluator.test(&model);
    let translations = evaluator.translate_valid(&model);
    let text_scores = evaluator.text_scores(&translations);
    let samples = evaluator.samples(&translations);
    let command_score = evaluator.command_score(&translations)?;
    environment.show_status("");
    let mut scores = serde_json::json!({
        "updates": selected.n_updates,
        "seconds": elapsed.as_secs(),
        "valid_perplexity": valid_perplexity,
        "valid_bleu": text_scores.bleu,
        "valid_bleu_signature": text_scores.bleu_signature,
        "valid_chrf": text_scores.chrf,
        "valid_chrf_signature": text_scores.chrf_signature,
        "valid_pairs_translated": text_scores.n_pairs,
        "exact_match": test.map(|test| test.exact_match()),
    });
    if !text_scores.corpora.is_empty() {
        let of_corpus = |(number, it): &(usize, TextScores)| {
            serde_json::json!({
                "corpus": number,
                "valid_bleu": it.bleu,
                "valid_chrf": it.chrf,
                "valid_pairs_translated": it.n_pairs,
            })
        };
        scores["corpora"] = text_scores.corpora.iter().map(of_corpus).collect();
    }
    if let Some(score) = command_score {
        scores["valid_command_score"] = score.into();
    }
    publisher.publish(model, scores)?;
    Ok(Outcome {
        model: publisher.directory.clone(),
        n_updates: selected.n_updates,
        is_out_of_patience: selected.is_out_of_patience,
        elapsed,
        valid_perplexity,
        text_scores,
        command_score,
        test,
        samples,
    })
}
