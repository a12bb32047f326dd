//! Translation of token ids: batches by length, within limits, results in the order given.

use burn::module::Module;
use serde::{Deserialize, Serialize};
use transformer_core::config::Positions;
use transformer_core::device::on_threads;
use transformer_core::{Transformer, TransformerConfig};

use crate::Scorer;
use crate::search::{Ensemble, Hypothesis, Request, Search};

/// Limits how much is translated at once, and how long sequences may be.
///
/// Results do not depend on how sources are batched; time and memory do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchLimits {
    /// Most source tokens in a batch, EOS and padding included, times the beam size or the number of
    /// samples. Default 4096. A single source may exceed it.
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

    /// Returns what is wanted for a source of `src_len` tokens.
    pub(crate) fn request(&self, search: &Search, src_len: usize) -> Request {
        let request = search.request(src_len.min(self.max_src_len));
        let most = self.max_tgt_len.unwrap_or(usize::MAX);
        Request {
            max_len: request.max_len.min(most),
            ..request
        }
    }
}

/// Holds what is to be translated, and how it should begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source<'a> {
    /// The tokens, without EOS.
    pub ids: &'a [u32],
    /// What the output begins with; see [`Request::prefix`].
    pub prefix: &'a [u32],
    /// The place in the whole input, counted from 0; see [`Request::place`].
    pub place: u64,
}

/// Translates token ids, and returns the hypotheses for each source, best first.
///
/// Sources are given without EOS, and hypotheses come without BOS and EOS. Longer sources than the
/// limits allow are cut. An empty source has the empty translation, whatever the search demands; the
/// model does not see it. A model in training is taken out of training for the time.
///
/// # Panics
///
/// Panics if an id is not in the vocabulary, if learned positions run out (see [`BatchLimits::within`]), or if the
/// search is none (see [`Search::validate`]).
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
    let sources: Vec<Source<'_>> = (0..)
        .zip(sources)
        .map(|(place, ids)| Source {
            ids: ids.as_ref(),
            place,
            ..Source::default()
        })
        .collect();
    translate_sources(&[model], &sources, search, limits, &mut |_| ())
}

/// Like [`translate_ids`], with all that can differ between sources, and with one model or several.
///
/// Several models predict together, as [`Search::ensemble`] says; they must have the same vocabularies.
/// `on_progress` is called with the number of sources of every batch that is done.
///
/// # Panics
///
/// Panics as `translate_ids` does, if there is no model, and if the models differ in vocabulary.
pub fn translate_sources(
    models: &[&Transformer],
    sources: &[Source<'_>],
    search: &Search,
    limits: &BatchLimits,
    on_progress: &mut dyn FnMut(usize),
) -> Vec<Vec<Hypothesis>> {
    search.assert_valid();
    let models: Vec<Transformer> = models.iter().copied().map(out_of_training).collect();
    let device = models
        .first()
        .expect("there is a model")
        .output_weight()
        .device();
    let kept = |source: &Source<'_>| source.ids.len().min(limits.max_src_len);
    let lens: Vec<usize> = sources.iter().map(kept).collect();
    let mut found = vec![vec![Hypothesis::empty()]; sources.len()];
    on_progress(lens.iter().filter(|len| **len == 0).count());
    for batch in batches(&lens, limits.batch_tokens / search.n_rows()) {
        let ids: Vec<&[u32]> = batch
            .iter()
            .map(|index| &sources[*index].ids[..lens[*index]])
            .collect();
        let request = |index: &usize| {
            let source = &sources[*index];
            Request {
                prefix: source.prefix.to_vec(),
                place: source.place,
                ..limits.request(search, lens[*index])
            }
        };
        let requests: Vec<Request> = batch.iter().map(request).collect();
        let translated = on_threads(&device, || match models.as_slice() {
            [model] => search.run(&mut Scorer::new(model, &ids), &requests),
            models => {
                let members = models.iter().map(|model| Scorer::new(model, &ids));
                let mut ensemble = Ensemble::new(members.collect(), search.ensemble);
                search.run(&mut ensemble, &requests)
            }
        });
        on_progress(batch.len());
        for (index, hypotheses) in batch.into_iter().zip(translated) {
            found[index] = hypotheses;
        }
    }
    found
}

/// Groups the sources, given by their lengths, that are not empty: the longest first, with at most `n_cells`
/// cells in a group.
fn batches(lens: &[usize], n_cells: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lens.len()).filter(|index| lens[*index] > 0).collect();
    order.sort_by_key(|index| std::cmp::Reverse(lens[*index]));
    let width = |index| lens[index] + 1; // and EOS
    grouped(order, width, n_cells)
}

/// Cuts items, in an order in which the widest come first, into groups of at most `n_cells` cells; a wider
/// item is a group of its own.
pub(crate) fn grouped(
    order: Vec<usize>,
    width: impl Fn(usize) -> usize,
    n_cells: usize,
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut widest = 0;
    for index in order {
        match groups.last_mut() {
            Some(group) if (group.len() + 1) * widest <= n_cells => group.push(index),
            _ => {
                widest = width(index);
                groups.push(vec![index]);
            }
        }
    }
    groups
}

/// Checks on the host that ids are of a vocabulary: a GPU computes with whatever lies behind the last row.
///
/// # Panics
///
/// Panics if one is not; `side` is `source` or `target`.
pub(crate) fn assert_in_vocabulary(side: &str, ids: &[u32], vocab_size: usize) {
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocab_size) {
        panic!("the {side} has the id {id}, which is not in its vocabulary of {vocab_size} tokens");
    }
}

/// Returns the model as it is used: dropout acts, and the tape grows, wherever the device records gradients.
pub(crate) fn out_of_training(model: &Transformer) -> Transformer {
    if model.output_weight().device().is_autodiff() {
        model.valid()
    } else {
        model.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_like_lengths_within_the_budget_and_leave_out_the_empty() {
        let lens = [3, 0, 9, 2, 3, 4];
        assert_eq!(batches(&lens, 10), [vec![2], vec![5, 0], vec![4, 3]]);
    }

    #[test]
    fn a_source_over_the_budget_is_a_batch_of_its_own() {
        assert_eq!(batches(&[3, 30], 0), [[1], [0]]);
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
