//! The end of a run: which weights are the model, and how good it is.

use std::time::Duration;

use transformer_core::Transformer;
use transformer_infer::{BatchLimits, translate_ids};

use crate::TrainError;
use crate::batch::Batch;
use crate::checkpoint::average;
use crate::loader::{ValidPairs, valid_batches};
use crate::objective::Objective;
use crate::run::{Outcome, Run, Sample, TestScore};
use crate::saved_state::{MODEL, saved};
use crate::text_scores::TextScores;

/// Evaluates what a run has left in its checkpoints.
pub(crate) struct Finish<'a> {
    run: &'a Run<'a>,
    /// The objective of the run, out of training; its weights are replaced by those of checkpoints.
    template: Objective,
    batches: Vec<ValidPairs>,
}

/// Holds the weights that are the model.
pub(crate) struct Chosen {
    model: Transformer,
    valid_perplexity: f64,
    n_updates: u64,
}

impl<'a> Finish<'a> {
    pub(crate) fn new(run: &'a Run<'a>, template: Objective) -> Self {
        let budget = run.experiment.training.tokens_per_batch;
        let batches = valid_batches(&run.prepared.valid, &[], budget);
        Self {
            run,
            template,
            batches,
        }
    }

    /// Takes the mean of the last checkpoints (§6.1) if it is better on the validation pairs than the
    /// last one alone, which it is not while the weights still move fast.
    pub(crate) fn choose(&self) -> Result<Chosen, TrainError> {
        let training = &self.run.experiment.training;
        let saved = saved(&self.run.folder.checkpoints, MODEL);
        let Some(&last) = saved.last() else {
            return Err(TrainError::NothingTrained);
        };
        let n_updates = training.updates_after(last);
        let newest = self.evaluate(&[last])?;
        let averaged = &saved[saved.len().saturating_sub(training.average_last)..];
        let (model, valid_perplexity) = if averaged.len() > 1 {
            let mean = self.evaluate(averaged)?;
            let mean_is_better = mean.1 <= newest.1;
            self.run.say(&format!(
                "validation perplexity {:.3} for the mean of the last {} checkpoints, {:.3} for the last \
                 one: kept the {}",
                mean.1,
                averaged.len(),
                newest.1,
                if mean_is_better { "mean" } else { "last one" },
            ));
            if mean_is_better { mean } else { newest }
        } else {
            newest
        };
        Ok(Chosen {
            model,
            valid_perplexity,
            n_updates,
        })
    }

    /// Tests the model, writes it, and says what came of the run.
    pub(crate) fn publish(&self, chosen: Chosen, elapsed: Duration) -> Result<Outcome, TrainError> {
        let Chosen {
            model,
            valid_perplexity,
            n_updates,
        } = chosen;
        let test = self.test(&model);
        let (text_scores, samples) = self.translate_valid(&model);
        let scores = serde_json::json!({
            "updates": n_updates,
            "seconds": elapsed.as_secs(),
            "valid_perplexity": valid_perplexity,
            "valid_bleu": text_scores.bleu,
            "valid_bleu_signature": text_scores.bleu_signature,
            "valid_chrf": text_scores.chrf,
            "valid_chrf_signature": text_scores.chrf_signature,
            "valid_pairs_translated": text_scores.n_pairs,
            "exact_match": test.map(|test| test.exact_match()),
        });
        self.run.publisher.publish(model, scores)?;
        let model = self.run.folder.model.clone();
        Ok(Outcome {
            model,
            n_updates,
            elapsed,
            valid_perplexity,
            text_scores,
            test,
            samples,
        })
    }

    /// Returns the mean of these checkpoints and its perplexity on the validation pairs.
    fn evaluate(&self, intervals: &[usize]) -> Result<(Transformer, f64), TrainError> {
        let checkpoints = &self.run.folder.checkpoints;
        let objective = average(checkpoints, intervals, &self.template)?;
        let mut nll = 0.0;
        let mut n_labels = 0;
        for ValidPairs { pairs, .. } in &self.batches {
            let batch = Batch::new(pairs, &self.run.surroundings.device);
            nll += objective.loss(&batch).nll.into_scalar::<f64>();
            n_labels += batch.size.n_labels;
        }
        Ok((objective.into_model(), (nll / n_labels as f64).exp()))
    }

    fn test(&self, model: &Transformer) -> Option<TestScore> {
        let pairs = &self.run.prepared.test;
        if pairs.is_empty() {
            return None;
        }
        let sources: Vec<&str> = pairs.iter().map(|(src, _)| src.as_str()).collect();
        let translations = self.translate(model, &sources);
        let both = translations.iter().zip(pairs);
        let n_exact = both
            .filter(|(translation, (_, tgt))| *translation == tgt)
            .count();
        Some(TestScore {
            n_pairs: pairs.len(),
            n_exact,
        })
    }

    /// Scores translations of validation pairs as text, and shows some.
    fn translate_valid(&self, model: &Transformer) -> (TextScores, Vec<Sample>) {
        let prepared = &self.run.prepared;
        let settings = &self.run.experiment.validation;
        let n_scored = settings.max_sentences.min(prepared.valid.len());
        let n_samples = settings.n_samples.min(prepared.valid.len());
        let pairs = &prepared.valid[..n_scored.max(n_samples)];
        let sources: Vec<&[u32]> = pairs.iter().map(|pair| pair.src.as_slice()).collect();
        let translations = self.translate_ids(model, &sources);
        let texts: Vec<_> = translations.into_iter().zip(&prepared.valid_text).collect();
        let metrics = self.run.text_metrics();
        let scored = texts[..n_scored].iter();
        let counts = metrics.count(scored.map(|(text, (_, tgt))| (text.as_str(), tgt.as_str())));
        let samples = texts[..n_samples]
            .iter()
            .map(|(translation, (src, tgt))| Sample {
                src: src.clone(),
                reference: tgt.clone(),
                translation: translation.clone(),
            });
        (metrics.scores(&counts, n_scored), samples.collect())
    }

    fn translate<S: AsRef<str>>(&self, model: &Transformer, sources: &[S]) -> Vec<String> {
        let ids = self.run.prepared.tokenizers.src().encode_all(sources);
        self.translate_ids(model, &ids)
    }

    fn translate_ids<S: AsRef<[u32]>>(&self, model: &Transformer, sources: &[S]) -> Vec<String> {
        let search = self.run.search(self.run.experiment.validation.beam_size);
        let limits = BatchLimits::for_model(&self.run.prepared.config);
        let found = translate_ids(model, sources, &search, &limits);
        let tokenizer = self.run.prepared.tokenizers.tgt();
        let best = found.iter().map(|hypotheses| hypotheses.first());
        best.map(|best| best.map_or_else(String::new, |best| tokenizer.decode(&best.ids)))
            .collect()
    }
}
