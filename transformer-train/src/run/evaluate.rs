//! The final scores of a model: BLEU, chrF and the command's score on the validation pairs, exact match on the test
//! pairs.

use transformer_core::Transformer;

use super::command_scorer::CommandScorer;
use super::outcome::TestScore;
use super::prepare::Prepared;
use super::validation_pairs::ValidationPairs;
use crate::config::Experiment;
use crate::corpus::SentencePair;
use crate::error::TrainError;
use crate::validation::{PairTranslator, Sample, TextScores, Translation};

/// Scores models with the search of `[validation]`.
pub(crate) struct Evaluator<'a> {
    pub(super) prepared: &'a Prepared,
    translator: PairTranslator,
    scorer: Option<CommandScorer>,
    /// Number of validation pairs that are scored.
    n_scored: usize,
    /// Number of validation pairs that are shown.
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

    /// Translates the validation pairs that are scored or shown.
    pub(crate) fn translate_valid(&self, model: &Transformer) -> Vec<Translation> {
        let pairs = &self.prepared.valid.pairs[..self.n_scored.max(self.n_samples)];
        self.translator.translate_pairs(model, pairs)
    }

    /// Returns BLEU and chrF of translated validation pairs.
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

    /// Returns the first translated validation pairs, to be shown.
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

    /// Translates the test pairs, if there are any.
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
