//! Translation of token ids, for programs that tokenize their own text, as training does for its validation.

use std::cmp::Reverse;

use transformer_core::device::is_cpu_memory;
use transformer_core::{ComputePrecision, PackedTransformer, Transformer};

use super::threads::{self, default_threads};
use super::{BatchLimits, batches_within};
use crate::scorer::{PackedScorer, Scorer, without_autodiff};
use transformer_search::{Ensemble, Hypothesis, NextToken, Phrase, Request, Search};

/// One sequence to translate, with the required parts of its translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source<'a> {
    /// The token ids, without EOS.
    pub ids: &'a [u32],
    /// The tokens that the translation begins with; see [`Request::prefix`].
    pub prefix: &'a [u32],
    /// Number of tokens of the prefix that cost nothing; see [`Request::n_free`].
    pub n_free: usize,
    /// The phrases that the translation must contain; see [`Request::phrases`].
    pub phrases: &'a [Phrase],
    /// Index in the whole input, from 0; see [`Request::index`].
    pub index: u64,
}

impl Source<'_> {
    pub(crate) fn request(&self, search: &Search, limits: &BatchLimits) -> Request {
        Request {
            prefix: self.prefix.to_vec(),
            n_free: self.n_free,
            phrases: self.phrases.to_vec(),
            index: self.index,
            ..limits.request(search, self.ids.len())
        }
    }
}

/// Translates token ids, and returns the hypotheses for each source, best first.
///
/// Sources have no EOS, and hypotheses have neither BOS nor EOS. A source that is longer than the limits allow is cut.
/// An empty source gets the empty translation, under any search, without a pass of the model. A model in training
/// translates in the form that [`valid`](burn::module::Module::valid) returns.
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
/// use transformer_search::Search;
/// use transformer_translate::{BatchLimits, translate_ids};
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
    let sources = (0..).zip(sources).map(|(index, ids)| Source {
        ids: ids.as_ref(),
        index,
        ..Source::default()
    });
    let sources: Vec<Source<'_>> = sources.collect();
    translate_sources(&[model], &sources, search, limits, &mut |_| ())
}

/// Like [`translate_ids`], with a prefix and phrases for each source, and with one model or an ensemble.
///
/// The models of an ensemble predict together, as set by [`Search::ensemble`]. `on_progress` is called after every
/// batch with the number of its sources. On CPUs the models are packed first; [`translate_packed`] takes packed models.
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
    let models: Vec<Transformer> = models.iter().copied().map(without_autodiff).collect();
    let first = models.first().expect("there is at least one model");
    let device = first.device();
    if is_cpu_memory(&device) {
        let pack = |model: &Transformer| PackedTransformer::of(model, ComputePrecision::F32);
        let packed: Vec<PackedTransformer> = models.iter().map(pack).collect();
        let packed: Vec<&PackedTransformer> = packed.iter().collect();
        let n_threads = default_threads();
        return translate_packed(&packed, sources, search, limits, n_threads, on_progress);
    }
    search.assert_valid();
    let job = Job::new(sources, search, limits);
    let mut found = job.without_translation(on_progress);
    for batch in job.batches() {
        let (ids, requests) = (job.ids(&batch), job.requests(&batch));
        let members = models.iter().map(|model| Scorer::new(model, &ids));
        let translated = run(members.collect(), search, &requests);
        on_progress(batch.len());
        for (index, hypotheses) in batch.into_iter().zip(translated) {
            found[index] = hypotheses;
        }
    }
    found
}

/// Like [`translate_sources`], with packed models, on `n_threads` threads.
///
/// Each batch is translated on its own thread. The translations and their scores do not depend, even in the last bit,
/// on the number of threads or on the batches. The memory besides the models is that of `n_threads` batches.
///
/// # Panics
///
/// Panics as [`translate_ids`] does, if there is no model, or if the vocabularies of the models have different sizes.
pub fn translate_packed(
    models: &[&PackedTransformer],
    sources: &[Source<'_>],
    search: &Search,
    limits: &BatchLimits,
    n_threads: usize,
    on_progress: &mut dyn FnMut(usize),
) -> Vec<Vec<Hypothesis>> {
    search.assert_valid();
    assert!(!models.is_empty(), "there is at least one model");
    let job = Job::new(sources, search, limits);
    let mut found = job.without_translation(on_progress);
    let most_sources = match models.iter().any(|model| model.has_shortlist()) {
        true => LIMITED_SOURCES_PER_BATCH,
        false => usize::MAX,
    };
    let batches = job.batches_for(n_threads, most_sources);
    let translate = |index: usize| {
        let (ids, requests) = (job.ids(&batches[index]), job.requests(&batches[index]));
        let models = models.iter();
        let members = models.map(|it| PackedScorer::limited(it, &ids, &requests));
        run(members.collect(), search, &requests)
    };
    threads::run(batches.len(), n_threads, translate, |index, translated| {
        on_progress(batches[index].len());
        for (index, hypotheses) in batches[index].iter().zip(translated) {
            found[*index] = hypotheses;
        }
    });
    found
}

fn run<M: NextToken>(
    mut models: Vec<M>,
    search: &Search,
    requests: &[Request],
) -> Vec<Vec<Hypothesis>> {
    match models.as_mut_slice() {
        [model] => search.run(model, requests),
        _ => search.run(&mut Ensemble::new(models, search.ensemble), requests),
    }
}

struct Job<'a> {
    sources: &'a [Source<'a>],
    search: &'a Search,
    limits: &'a BatchLimits,
    /// Number of tokens of each source that is translated.
    lens: Vec<usize>,
}

impl<'a> Job<'a> {
    fn new(sources: &'a [Source<'a>], search: &'a Search, limits: &'a BatchLimits) -> Self {
        let len = |source: &Source<'_>| source.ids.len().min(limits.max_src_len);
        Self {
            sources,
            search,
            limits,
            lens: sources.iter().map(len).collect(),
        }
    }

    /// Returns the translations of empty sources, for all sources.
    fn without_translation(&self, on_progress: &mut dyn FnMut(usize)) -> Vec<Vec<Hypothesis>> {
        on_progress(self.lens.iter().filter(|len| **len == 0).count());
        vec![vec![Hypothesis::empty()]; self.sources.len()]
    }

    /// Batches the sources that are not empty, longest first. Sources with phrases have separate batches, because their
    /// beams are wider and need the scores of the whole vocabulary.
    fn batches(&self) -> Vec<Vec<usize>> {
        let lens_if = |has_phrases: bool| -> Vec<usize> {
            let sources = self.sources.iter().zip(&self.lens);
            let is_in = |source: &Source<'_>| source.phrases.is_empty() != has_phrases;
            let lens = sources.map(|(source, len)| len * usize::from(is_in(source)));
            lens.collect()
        };
        let budget = |n_rows| self.limits.batch_tokens / n_rows;
        let mut all = batches(&lens_if(false), budget(self.search.n_rows()));
        let phrases = self.sources.iter().map(|source| source.phrases);
        let n_rows = phrases.map(|phrases| self.search.n_rows_with(phrases));
        let widest = n_rows.max().unwrap_or(1);
        all.extend(batches(&lens_if(true), budget(widest)));
        all
    }

    /// Batches the sources so that every thread gets its own batches, and the last ones end at about the same time.
    fn batches_for(&self, n_threads: usize, most_sources: usize) -> Vec<Vec<usize>> {
        let n_sources = self.lens.iter().filter(|len| **len > 0).count();
        let rows = n_sources * self.search.n_rows();
        let n_batches = rows
            .div_ceil(ROWS_PER_BATCH)
            .max(n_sources.div_ceil(most_sources));
        let n_batches = n_batches.next_multiple_of(n_threads.max(1));
        // Few rows are for few threads.
        let n_batches = n_batches.min(rows / FEWEST_ROWS).max(1);
        let steps = self.n_steps();
        let cut = |batch: Vec<usize>| split_evenly(&batch, &steps, n_batches, n_sources);
        self.batches().into_iter().flat_map(cut).collect()
    }

    /// Returns about how many tokens the translation of each source has: as many as the source, within the limits.
    fn n_steps(&self) -> Vec<usize> {
        let n_steps = self.lens.iter().map(|len| {
            let request = self.limits.request(self.search, *len);
            (*len).max(request.min_len).min(request.max_len).max(1)
        });
        n_steps.collect()
    }

    fn ids(&self, batch: &[usize]) -> Vec<&'a [u32]> {
        let ids = |index: &usize| &self.sources[*index].ids[..self.lens[*index]];
        batch.iter().map(ids).collect()
    }

    fn requests(&self, batch: &[usize]) -> Vec<Request> {
        let request = |index: &usize| self.sources[*index].request(self.search, self.limits);
        batch.iter().map(request).collect()
    }
}

/// Number of rows of a batch above which more rows do not make a token cheaper (measured, see docs/results.md).
pub(crate) const ROWS_PER_BATCH: usize = 64;

/// Average number of sentences of a batch with a shortlist, which gives each an output layer that takes memory.
const LIMITED_SOURCES_PER_BATCH: usize = 32;

/// Minimum number of rows of a batch for which a separate thread pays off.
pub(crate) const FEWEST_ROWS: usize = 4;

/// Splits a batch into parts of about as many tokens, so that all sources together would have `n_batches`.
fn split_evenly(
    batch: &[usize],
    lens: &[usize],
    n_batches: usize,
    n_sources: usize,
) -> Vec<Vec<usize>> {
    let n_parts = (n_batches * batch.len()).div_ceil(n_sources);
    let n_tokens: usize = batch.iter().map(|index| lens[*index]).sum();
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); n_parts];
    let mut n_before = 0;
    for index in batch {
        parts[n_before * n_parts / n_tokens].push(*index);
        n_before += lens[*index];
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Batches the sources that are not empty, longest first, given their lengths.
fn batches(lens: &[usize], budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lens.len()).filter(|index| lens[*index] > 0).collect();
    order.sort_by_key(|index| Reverse(lens[*index]));
    batches_within(budget, order, |index| lens[index] + 1) // and EOS
}

#[cfg(test)]
mod tests {
    use transformer_search::LengthLimit;

    use super::*;

    /// Returns sources of these lengths.
    fn sources(lens: &[usize]) -> Vec<Source<'static>> {
        let source = |(index, len): (u64, &usize)| Source {
            ids: &[7; 9][..*len],
            index,
            ..Source::default()
        };
        (0..).zip(lens).map(source).collect()
    }

    #[test]
    fn parts_of_a_batch_have_about_as_many_tokens() {
        let lens = [9, 8, 4, 4, 3, 2, 2, 2];
        let parts = split_evenly(&[0, 1, 2, 3, 4, 5, 6, 7], &lens, 2, 8);
        assert_eq!(parts, [vec![0, 1], vec![2, 3, 4, 5, 6, 7]]);
        // Half of the sources get half of the parts.
        assert_eq!(split_evenly(&[0, 1, 2, 3], &lens, 2, 8).len(), 1);
        assert_eq!(split_evenly(&[0, 1, 2, 3], &lens, 1, 8).len(), 1);
    }

    #[test]
    fn parts_have_as_many_sources_if_translations_have_the_same_length() {
        let sources = sources(&[9, 8, 4, 4, 3, 2, 2, 2]);
        let five = LengthLimit {
            factor: 0.0,
            extra: 5,
        };
        let search = Search {
            max_len: five,
            min_len: five,
            ..Search::default()
        };
        let limits = BatchLimits::default();
        let batches = Job::new(&sources, &search, &limits).batches_for(2, usize::MAX);
        assert_eq!(batches, [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
    }

    #[test]
    fn sources_of_like_length_share_a_batch_and_empty_ones_are_in_none() {
        let lens = [3, 0, 9, 2, 3, 4];
        assert_eq!(batches(&lens, 10), [vec![2], vec![5, 0], vec![4, 3]]);
    }

    #[test]
    fn few_limited_sources_share_a_batch() {
        let sources = sources(&[9; 130]);
        let limits = BatchLimits::default();
        let lens = |search: &Search, most| -> Vec<usize> {
            let job = Job::new(&sources, search, &limits);
            job.batches_for(1, most).iter().map(Vec::len).collect()
        };
        assert_eq!(lens(&Search::greedy(), usize::MAX), [44, 43, 43]);
        assert_eq!(lens(&Search::greedy(), 32), [26; 5]);
        // A beam of 4 has 64 rows already.
        let beam = Search::default();
        assert_eq!(lens(&beam, 32), lens(&beam, usize::MAX));
    }
}
