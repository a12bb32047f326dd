//! The final scores of a model: BLEU and chrF on the validation pairs, exact match on the test
//! pairs.

use transformer_core::Transformer;

use super::outcome::TestScore;
use super::prepare::Prepared;
use crate::config::Experiment;
use crate::validation::{PairTranslator, Sample, TextScores};

/// Scores models with the search of `[validation]`.
pub(crate) struct Evaluator<'a> {
    pub(super) prepared: &'a Prepared,
    translator: PairTranslator,
    /// Number of validation pairs that are scored.
    n_scored: usize,
    /// Number of validation pairs that are shown.
    n_samples: usize,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(experiment: &Experiment, prepared: &'a Prepared) -> Self {
        let settings = &experiment.validation;
        let n_pairs = prepared.valid.len();
        Self {
            prepared,
            translator: prepared.translator(experiment, settings.beam_size),
            n_scored: settings.max_sentences.min(n_pairs),
            n_samples: settings.n_samples.min(n_pairs),
        }
    }

    /// Translates validation pairs, and returns their scores and the first of them as samples.
    pub(crate) fn valid(&self, model: &Transformer) -> (TextScores, Vec<Sample>) {
        let Prepared {
            valid, valid_text, ..
        } = self.prepared;
        let pairs = &valid[..self.n_scored.max(self.n_samples)];
        let translations = self.translator.translate_pairs(model, pairs);
        let references = valid_text.iter().map(|(_, tgt)| tgt.as_str());
        let scored = &translations[..self.n_scored];
        let counts = self.translator.count(scored, pairs, references);
        let samples = translations[..self.n_samples].iter().zip(valid_text);
        let samples = samples.map(|(translation, (src, tgt))| Sample {
            src: src.clone(),
            reference: tgt.clone(),
            translation: translation.text.clone(),
        });
        (self.translator.scores(&counts), samples.collect())
    }

    /// Translates the test pairs, if there are some.
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
