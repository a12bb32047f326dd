//! Translation of token ids: batches by length, within limits, results in the order given.

use burn::module::Module;
use serde::{Deserialize, Serialize};
use transformer_core::config::Positions;
use transformer_core::{Transformer, TransformerConfig};

use crate::Scorer;
use crate::search::{Hypothesis, Search};

/// Limits how much is translated at once, and how long sequences may be.
///
/// Results do not depend on how sources are batched; time and memory do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchLimits {
    /// Most source tokens in a batch, EOS and padding included, times the beam size. Default 4096. A
    /// single source may exceed it.
    pub batch_tokens: usize,
    /// Longest source, in tokens without EOS; what is beyond is cut off. Default 1024.
    pub max_src_len: usize,
    /// Most tokens generated, EOS included, whatever [`Search::max_len`] allows. Default: no limit.
    pub max_tgt_len: Option<usize>,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            batch_tokens: 4096,
            max_src_len: 1024,
            max_tgt_len: None,
        }
    }
}

impl BatchLimits {
    /// Returns the default limits, tightened to what the model's positions can encode.
    pub fn for_model(config: &TransformerConfig) -> Self {
        Self::default().within(config)
    }

    /// Tightens the limits to what the model's positions can encode; only learned positions run out.
    #[must_use]
    pub fn within(self, config: &TransformerConfig) -> Self {
        match config.positions {
            Positions::Sinusoidal | Positions::SinusoidalHalves | Positions::None => self,
            Positions::Learned => {
                let places = config.max_positions;
                Self {
                    max_src_len: self.max_src_len.min(places - 1), // EOS takes a place
                    max_tgt_len: Some(self.max_tgt_len.map_or(places, |len| len.min(places))),
                    ..self
                }
            }
        }
    }
}

/// Translates token ids, and returns the hypotheses for each source, best first.
///
/// Sources are given without EOS, and hypotheses come without BOS and EOS. Longer sources than the
/// limits allow are cut. An empty source has the empty translation; the model does not see it. A model
/// in training is taken out of training for the time.
///
/// # Panics
///
/// Panics if an id is not in the vocabulary, or if learned positions run out (see
/// [`BatchLimits::within`]).
///
/// # Example
///
/// ```
/// use transformer_core::{TransformerConfig, device};
/// use transformer_infer::search::Search;
/// use transformer_infer::{BatchLimits, translate_ids};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
/// let model = config.init(&device)?;
/// let limits = BatchLimits::for_model(&config);
/// let found = translate_ids(&model, &[vec![7, 8], vec![]], &Search::greedy(), &limits);
/// assert!(found[0][0].ids.len() <= 52);
/// assert!(found[1][0].ids.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn translate_ids<S: AsRef<[u32]>>(
    model: &Transformer,
    sources: &[S],
    search: &Search,
    limits: &BatchLimits,
) -> Vec<Vec<Hypothesis>> {
    // Dropout acts, and the tape grows, wherever the device records gradients.
    let out_of_training;
    let model = if model.output_weight().device().is_autodiff() {
        out_of_training = model.valid();
        &out_of_training
    } else {
        model
    };
    let sources: Vec<&[u32]> = sources
        .iter()
        .map(|source| {
            let source = source.as_ref();
            &source[..source.len().min(limits.max_src_len)]
        })
        .collect();
    let mut found = vec![vec![Hypothesis::empty()]; sources.len()];
    for batch in batches(&sources, limits.batch_tokens / search.beam_size.max(1)) {
        let batch_sources: Vec<&[u32]> = batch.iter().map(|index| sources[*index]).collect();
        let limit = |source: &&[u32]| {
            let limit = search.max_len.limit(source.len());
            limits.max_tgt_len.map_or(limit, |len| limit.min(len))
        };
        let max_lens: Vec<usize> = batch_sources.iter().map(limit).collect();
        let translated = search.run(&mut Scorer::new(model, &batch_sources), &max_lens);
        for (index, hypotheses) in batch.into_iter().zip(translated) {
            found[index] = hypotheses;
        }
    }
    found
}

/// Groups the sources that are not empty, the longest first, with at most `n_cells` cells in a group.
fn batches(sources: &[&[u32]], n_cells: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sources.len())
        .filter(|i| !sources[*i].is_empty())
        .collect();
    order.sort_by_key(|index| std::cmp::Reverse(sources[*index].len()));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut width = 0;
    for index in order {
        match batches.last_mut() {
            Some(batch) if (batch.len() + 1) * width <= n_cells => batch.push(index),
            _ => {
                width = sources[index].len() + 1; // the longest of its batch, and EOS
                batches.push(vec![index]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_like_lengths_within_the_budget_and_leave_out_the_empty() {
        let sources: [&[u32]; 6] = [&[4; 3], &[], &[4; 9], &[4; 2], &[4; 3], &[4; 4]];
        assert_eq!(batches(&sources, 10), [vec![2], vec![5, 0], vec![4, 3]]);
    }

    #[test]
    fn a_source_over_the_budget_is_a_batch_of_its_own() {
        let sources: [&[u32]; 2] = [&[4; 3], &[4; 30]];
        assert_eq!(batches(&sources, 0), [[1], [0]]);
    }

    #[test]
    fn learned_positions_bound_both_lengths() {
        let config = TransformerConfig {
            positions: Positions::Learned,
            max_positions: 20,
            ..TransformerConfig::tiny(9, 9)
        };
        let limits = BatchLimits::for_model(&config);
        assert_eq!((limits.max_src_len, limits.max_tgt_len), (19, Some(20)));
    }

    #[test]
    fn sinusoids_bound_nothing() {
        let limits = BatchLimits::for_model(&TransformerConfig::tiny(9, 9));
        assert_eq!(limits, BatchLimits::default());
    }
}
