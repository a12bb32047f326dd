//! The end of a run: scores the selected model, and publishes it with its scores.

use std::path::PathBuf;
use std::time::Duration;

use transformer_core::Transformer;

use super::command_scorer::CommandScorer;
use super::environment::RunEnvironment;
use super::prepare::Prepared;
use super::select::Selected;
use super::validation_pairs::ValidationPairs;
use crate::checkpoint::Publisher;
use crate::config::Experiment;
use crate::corpus::SentencePair;
use crate::error::TrainError;
use crate::validation::{PairTranslator, Sample, TextScores, Translation};

/// The model that a run has produced, and its scores.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The model directory.
    pub model: PathBuf,
    /// Number of updates up to the last checkpoint.
    pub n_updates: u64,
    /// True if the run ended because no validation was better than the best one for too long.
    pub is_out_of_patience: bool,
    /// Time spent on training and validation.
    pub elapsed: Duration,
    /// Perplexity per target token on the validation pairs, without label smoothing.
    pub valid_perplexity: f64,
    /// Scores of the translated validation pairs, with the search of `[validation]`.
    pub text_scores: TextScores,
    /// The score that `validation.command` printed for the same translations; `None` without a
    /// command, or if it failed.
    pub command_score: Option<f64>,
    /// Result on the test pairs; only built-in tasks have any.
    pub test: Option<TestScore>,
    /// Validation sentences with their references and the model's translations.
    pub samples: Vec<Sample>,
}

/// Number of test pairs with an exact translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestScore {
    /// Pairs translated.
    pub n_pairs: usize,
    /// Pairs with a translation that equals the reference, character by character.
    pub n_exact: usize,
}

impl TestScore {
    /// Returns the share of exact translations, from 0 to 1.
    pub fn exact_match(&self) -> f64 {
        self.n_exact as f64 / self.n_pairs as f64
    }
}

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

/// Scores models: BLEU, chrF and the score of a command on validation pairs, exact matches on test pairs.
pub(crate) struct Evaluator<'a> {
    pub(super) prepared: &'a Prepared,
    translator: PairTranslator,
    scorer: Option<CommandScorer>,
    n_scored: usize,
    n_samples: usize,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        experiment: &Experiment,
        prepared: &'a Prepared,
        scorer: Option<CommandScorer>,
    ) -> Self {
        let settings = &experiment.validation;
        let n_pairs = prepared.valid.pairs.len();
        Self {
            prepared,
            translator: prepared.translator(experiment, settings.beam_size),
            scorer,
            n_scored: settings.max_sentences.min(n_pairs),
            n_samples: settings.n_samples.min(n_pairs),
        }
    }

    pub(crate) fn translate_valid(&self, model: &Transformer) -> Vec<Translation> {
        let pairs = &self.prepared.valid.pairs[..self.n_scored.max(self.n_samples)];
        self.translator.translate_pairs(model, pairs)
    }

    pub(crate) fn text_scores(&self, translations: &[Translation]) -> TextScores {
        let ValidationPairs {
            pairs,
            text,
            corpora,
            numbers,
            ..
        } = &self.prepared.valid;
        let scored = &translations[..self.n_scored];
        if numbers.len() < 2 {
            let references = text.iter().map(|(_, tgt)| tgt.as_str());
            let counts = self.translator.count(scored, pairs, references);
            return self.translator.scores(&counts);
        }
        let of_corpus = |corpus: usize| {
            let indices = (0..scored.len()).filter(|index| corpora[*index] == corpus);
            let indices: Vec<usize> = indices.collect();
            let translations: Vec<Translation> =
                indices.iter().map(|&it| scored[it].clone()).collect();
            let pairs_of: Vec<SentencePair> = indices.iter().map(|&it| pairs[it].clone()).collect();
            let references = indices.iter().map(|&it| text[it].1.as_str());
            let counts = self.translator.count(&translations, &pairs_of, references);
            self.translator.scores(&counts)
        };
        let numbered = numbers.iter().enumerate();
        let numbered = numbered.map(|(corpus, number)| (*number, of_corpus(corpus)));
        TextScores::mean(numbered.collect()).expect("there are several corpora")
    }

    /// Returns the score of translated validation pairs by `validation.command`. `None` without a command, or if it
    /// fails and the run continues.
    pub(crate) fn command_score(
        &self,
        translations: &[Translation],
    ) -> Result<Option<f64>, TrainError> {
        match &self.scorer {
            Some(scorer) => scorer.score(&translations[..self.n_scored]),
            None => Ok(None),
        }
    }

    pub(crate) fn samples(&self, translations: &[Translation]) -> Vec<Sample> {
        let shown = translations[..self.n_samples].iter();
        let samples = shown.zip(&self.prepared.valid.text);
        let sample = |(translation, (src, tgt)): (&Translation, &(String, String))| Sample {
            src: src.clone(),
            reference: tgt.clone(),
            translation: translation.text.clone(),
        };
        samples.map(sample).collect()
    }

    pub(crate) fn test(&self, model: &Transformer) -> Option<TestScore> {
        let pairs = &self.prepared.test;
        if pairs.is_empty() {
            return None;
        }
        let sources: Vec<&str> = pairs.iter().map(|(src, _)| src.as_str()).collect();
        let sources = self.prepared.tokenizers.src().encode_all(&sources);
        let translations = self.translator.translate(model, &sources);
        let both = translations.iter().zip(pairs);
        Some(TestScore {
            n_pairs: pairs.len(),
            n_exact: both.filter(|(it, (_, tgt))| it.text == *tgt).count(),
        })
    }
}
