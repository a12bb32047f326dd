//! Translation of token ids, for programs that tokenize themselves, as training does for its validation.

use std::cmp::Reverse;

use transformer_core::Transformer;
use transformer_core::device::in_thread_pool;

use super::{BatchLimits, batches_within};
use crate::scorer::{Scorer, without_autodiff};
use crate::search::{Ensemble, Hypothesis, Request, Search};

/// One sequence to translate, and how its translation must begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source<'a> {
    /// The token ids, without EOS.
    pub ids: &'a [u32],
    /// The tokens that the translation begins with; see [`Request::prefix`].
    pub prefix: &'a [u32],
    /// Index in the whole input, from 0; see [`Request::index`].
    pub index: u64,
}

/// Translates token ids, and returns the hypotheses for each source, best first.
///
/// Sources have no EOS, and hypotheses have neither BOS nor EOS. A source that is longer than the limits allow is
/// cut. An empty source gets the empty translation, whatever the search requires, without a pass of the model. A
/// model in training is translated with as [`valid`](burn::module::Module::valid) returns it.
///
/// # Panics
///
/// Panics if an id is not in the vocabulary, if a sequence is longer than the learned positions (see
/// [`BatchLimits::within`]), or if the search is not [valid](Search::validate).
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
        .map(|(index, ids)| Source {
            ids: ids.as_ref(),
            index,
            ..Source::default()
        })
        .collect();
    translate_sources(&[model], &sources, search, limits, &mut |_| ())
}

/// Like [`translate_ids`], with a prefix for each source, and with one model or an ensemble.
///
/// The models of an ensemble predict together, as set by [`Search::ensemble`]. `on_progress` is called after every
/// batch with the number of its sources.
///
/// # Panics
///
/// Panics as `translate_ids` does, if there is no model, or if the vocabularies of the models have different sizes.
pub fn translate_sources(
    models: &[&Transformer],
    sources: &[Source<'_>],
    search: &Search,
    limits: &BatchLimits,
    on_progress: &mut dyn FnMut(usize),
) -> Vec<Vec<Hypothesis>> {
    search.assert_valid();
    let models: Vec<Transformer> = models.iter().copied().map(without_autodiff).collect();
    let first = models.first().expect("there is at least one model");
    let device = first.output_weight().device();
    let kept_len = |source: &Source<'_>| source.ids.len().min(limits.max_src_len);
    let lens: Vec<usize> = sources.iter().map(kept_len).collect();
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
                index: source.index,
                ..limits.request(search, lens[*index])
            }
        };
        let requests: Vec<Request> = batch.iter().map(request).collect();
        let translated = in_thread_pool(&device, || match models.as_slice() {
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

/// Batches the sources that are not empty, given their lengths, the longest first.
fn batches(lens: &[usize], budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lens.len()).filter(|index| lens[*index] > 0).collect();
    order.sort_by_key(|index| Reverse(lens[*index]));
    batches_within(budget, order, |index| lens[index] + 1) // and EOS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_like_length_share_a_batch_and_empty_ones_are_in_none() {
        let lens = [3, 0, 9, 2, 3, 4];
        assert_eq!(batches(&lens, 10), [vec![2], vec![5, 0], vec![4, 3]]);
    }
}
