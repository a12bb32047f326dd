//! The end of a run: which weights are the model, and how good it is.

use std::time::Duration;

use transformer_core::Transformer;
use transformer_infer::translate_ids;

use crate::TrainError;
use crate::batching::Batch;
use crate::checkpoint::{SavedState, average, last_of, with_whole_weights};
use crate::config::BestBy;
use crate::run::{Outcome, Run, TestScore};
use crate::step::Objective;
use crate::validation::{
    Sample, TextScores, ValidPairs, Validation, best, is_out_of_patience, valid_batches,
};

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
    is_out_of_patience: bool,
}

/// Holds weights that may become the model, and what they are worth.
struct Evaluated {
    name: String,
    model: Transformer,
    perplexity: f64,
    /// The higher the better.
    worth: f64,
}

impl Evaluated {
    /// Says what these weights are worth.
    fn told(&self, by: BestBy) -> String {
        match by {
            BestBy::Loss => format!("{:.3} for {}", self.perplexity, self.name),
            BestBy::Bleu | BestBy::Chrf => format!("{:.1} for {}", self.worth, self.name),
        }
    }
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

    /// Takes the best, on the validation pairs, of the last checkpoint, the mean of the last ones (§6.1),
    /// which is worse while the weights still move fast, and as far as such are kept, the best one and the
    /// mean of the best.
    pub(crate) fn choose(&self) -> Result<Chosen, TrainError> {
        let training = &self.run.experiment.training;
        let checkpoints = &self.run.folder.checkpoints;
        let saved = with_whole_weights(checkpoints, &self.run.environment.log);
        let Some(&last) = saved.last() else {
            return Err(TrainError::NothingTrained);
        };
        let validations = SavedState::of(checkpoints, last).map(|state| state.validations);
        let validations = validations.unwrap_or_default();
        let is_out_of_patience = is_out_of_patience(&validations, training);
        if is_out_of_patience {
            self.run.log(&format!(
                "stopped     after update {}: no better validation since the best, for {} in a row",
                training.updates_after(last),
                training.patience.unwrap_or_default(),
            ));
        }
        let mut candidates = self.candidates(&saved, &validations).into_iter();
        let newest = candidates
            .next()
            .expect("the last checkpoint is a candidate");
        let n_candidates = 1 + candidates.len();
        self.status(&format!("choosing    the model: 1 of {n_candidates}"));
        let mut chosen = self.evaluate(newest)?;
        let mut told = vec![chosen.told(training.best_by)];
        for (number, candidate) in candidates.enumerate() {
            self.status(&format!(
                "choosing    the model: {} of {n_candidates}",
                number + 2
            ));
            let other = self.evaluate(candidate)?;
            told.push(other.told(training.best_by));
            if other.worth >= chosen.worth {
                chosen = other;
            }
        }
        self.status("");
        if told.len() > 1 {
            let what = match training.best_by {
                BestBy::Loss => "validation perplexity",
                BestBy::Bleu => "validation BLEU",
                BestBy::Chrf => "validation chrF",
            };
            self.run
                .log(&format!("{what} {}: kept {}", told.join(", "), chosen.name));
        }
        Ok(Chosen {
            model: chosen.model,
            valid_perplexity: chosen.perplexity,
            n_updates: training.updates_after(last),
            is_out_of_patience,
        })
    }

    /// Returns names and checkpoints of what may become the model; the last checkpoint comes first.
    fn candidates(&self, saved: &[usize], validations: &[Validation]) -> Vec<(String, Vec<usize>)> {
        let training = &self.run.experiment.training;
        let newest = &saved[saved.len().saturating_sub(1)..];
        let averaged = last_of(saved, training.average_last);
        let mut candidates = vec![("the last checkpoint".to_owned(), newest.to_vec())];
        if averaged.len() > 1 {
            let name = format!("the mean of the last {}", averaged.len());
            candidates.push((name, averaged.to_vec()));
        }
        let mut ranked = best(validations, training.best_by, training.n_best());
        ranked.retain(|interval| saved.contains(interval));
        if let Some(first) = ranked.first().filter(|first| !newest.contains(first)) {
            let update = training.updates_after(*first);
            candidates.push((
                format!("the best checkpoint, of update {update}"),
                vec![*first],
            ));
        }
        ranked.truncate(training.average_best);
        if ranked.len() > 1 {
            let name = format!("the mean of the best {}", ranked.len());
            candidates.push((name, ranked));
        }
        candidates
    }

    /// Tests the model, writes it, and says what came of the run.
    pub(crate) fn publish(&self, chosen: Chosen, elapsed: Duration) -> Result<Outcome, TrainError> {
        let Chosen {
            model,
            valid_perplexity,
            n_updates,
            is_out_of_patience,
        } = chosen;
        if !valid_perplexity.is_finite() {
            self.run.log(
                "warning     the model has learnt nothing: its perplexity is beyond all numbers; lower the learning rate",
            );
        }
        self.status("translating what the model is tested on");
        let test = self.test(&model);
        let (text_scores, samples) = self.translate_valid(&model);
        self.status("");
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
            is_out_of_patience,
            elapsed,
            valid_perplexity,
            text_scores,
            test,
            samples,
        })
    }

    /// Shows what is being done, where somebody looks; the next line takes its place.
    fn status(&self, line: &str) {
        if let Some(status) = &self.run.environment.status {
            status(line);
        }
    }

    /// Takes the mean of these checkpoints, and finds out what it is worth on the validation pairs.
    fn evaluate(&self, (name, intervals): (String, Vec<usize>)) -> Result<Evaluated, TrainError> {
        let checkpoints = &self.run.folder.checkpoints;
        let objective = average(checkpoints, &intervals, &self.template)?;
        let mut nll = 0.0;
        let mut n_labels = 0;
        for ValidPairs { pairs, .. } in &self.batches {
            let batch = Batch::new(pairs, &self.run.environment.device);
            nll += objective.loss(&batch).nll.into_scalar::<f64>();
            n_labels += batch.size.n_labels;
        }
        let perplexity = (nll / n_labels as f64).exp();
        let model = objective.into_model();
        let worth = match self.run.experiment.training.best_by {
            BestBy::Loss => -perplexity,
            BestBy::Bleu => self.translate_valid(&model).0.bleu,
            BestBy::Chrf => self.translate_valid(&model).0.chrf,
        };
        Ok(Evaluated {
            name,
            model,
            perplexity,
            worth,
        })
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
        let validation = &self.run.experiment.validation;
        let search = validation.search(validation.beam_size);
        let found = translate_ids(model, sources, &search, &self.run.limits());
        let tokenizer = self.run.prepared.tokenizers.tgt();
        let best = found.iter().map(|hypotheses| hypotheses.first());
        best.map(|best| best.map_or_else(String::new, |best| tokenizer.decode(&best.ids)))
            .collect()
    }
}
