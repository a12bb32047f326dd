//! [`PackedScorer`]: scores next tokens with packed weights.

use std::fmt;

use transformer_core::TransformerConfig;
use transformer_core::cpu as kernels;
use transformer_core::packed::{PackedState, PackedTransformer, Workspace};

use super::top_k::top_k_of_rows;
use transformer_search::{NextToken, Request, ScoredToken};

/// Scores next tokens with a [`PackedTransformer`]; each row is the translation of one source.
///
/// It computes on the calling thread, or on the rayon pool that this thread belongs to.
pub struct PackedScorer<'a> {
    model: &'a PackedTransformer,
    state: PackedState,
    workspace: Workspace,
}

impl<'a> PackedScorer<'a> {
    /// Encodes the sources, given without EOS, and prepares their translation.
    ///
    /// # Panics
    ///
    /// Panics if there is no source, if an id is not in the source vocabulary, or if a source is longer than the
    /// learned positions. Every step panics if a last token is not in the target vocabulary.
    pub fn new<S: AsRef<[u32]>>(model: &'a PackedTransformer, sources: &[S]) -> Self {
        let mut workspace = Workspace::new();
        let state = model.begin(&ended(sources, model.config()), &mut workspace);
        Self::resume(model, state, workspace)
    }

    /// Like [`new`](Self::new), and limits the output of requests that [may be](is_limited) by the shortlist of the model.
    pub(crate) fn limited<S: AsRef<[u32]>>(
        model: &'a PackedTransformer,
        sources: &[S],
        requests: &[Request],
    ) -> Self {
        let mut workspace = Workspace::new();
        let is_limited: Vec<bool> = requests.iter().map(is_limited).collect();
        let state =
            model.begin_limited(&ended(sources, model.config()), &is_limited, &mut workspace);
        Self::resume(model, state, workspace)
    }

    /// Runs the model; returns the rows of `NextToken::top_k`.
    fn likeliest(
        &mut self,
        last_tokens: &[u32],
        k: usize,
        without: Option<&[u32]>,
    ) -> Vec<Vec<ScoredToken>> {
        let (model, state) = (self.model, &mut self.state);
        let vocab_size = model.config().tgt_vocab_size;
        let mut rest = &*model.step_limited(state, last_tokens, &mut self.workspace);
        if (0..state.n_rows()).all(|row| state.candidates(row).is_none()) {
            return top_k_of_rows(rest, vocab_size, k, without);
        }
        let top_k = (0..state.n_rows()).map(|row| {
            let ids = state.candidates(row);
            let (logits, later) = rest.split_at(ids.map_or(vocab_size, <[u32]>::len));
            rest = later;
            // Special tokens are the first candidates, so that their indices are their ids.
            let mut best = top_k_of_rows(logits, logits.len(), k, without).swap_remove(0);
            for token in &mut best {
                token.id = ids.map_or(token.id, |ids| ids[token.id as usize]);
            }
            best
        });
        top_k.collect()
    }

    /// Creates a scorer from a state, which it continues, and from the workspace of this thread.
    pub(crate) fn resume(
        model: &'a PackedTransformer,
        state: PackedState,
        workspace: Workspace,
    ) -> Self {
        Self {
            model,
            state,
            workspace,
        }
    }

    /// Returns the state, which can move to another thread, and the workspace, which cannot.
    pub(crate) fn suspend(self) -> (PackedState, Workspace) {
        (self.state, self.workspace)
    }
}

/// Turns the logits of rows into log-probabilities. Those of a limited row are summed over its candidates alone, as in
/// [`PackedScorer::likeliest`], so that both give the same bits.
fn log_softmax(logits: &mut [f32], state: &PackedState, vocab_size: usize) {
    for (row, logits) in logits.chunks_exact_mut(vocab_size).enumerate() {
        let Some(ids) = state.candidates(row) else {
            kernels::log_softmax(logits, vocab_size);
            continue;
        };
        let mut limited: Vec<f32> = ids.iter().map(|id| logits[*id as usize]).collect();
        kernels::log_softmax(&mut limited, ids.len());
        for (id, log_prob) in ids.iter().zip(limited) {
            logits[*id as usize] = log_prob;
        }
    }
}

/// Returns whether a shortlist may limit the output: no token is forced that it may not have. The token of a language is
/// not chosen, and shortlists of multilingual models have it.
pub(crate) fn is_limited(request: &Request) -> bool {
    request.prefix.len() <= request.n_free && request.phrases.is_empty()
}

/// Appends EOS to each source, as the model reads it.
pub(crate) fn ended<S: AsRef<[u32]>>(sources: &[S], config: &TransformerConfig) -> Vec<Vec<u32>> {
    let ended = sources.iter().map(|source| {
        let mut ids = source.as_ref().to_vec();
        config.end_source(&mut ids);
        ids
    });
    ended.collect()
}

impl NextToken for PackedScorer<'_> {
    fn n_rows(&self) -> usize {
        self.state.n_rows()
    }

    fn vocab_size(&self) -> usize {
        self.model.config().tgt_vocab_size
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        let vocab_size = self.vocab_size();
        let (model, workspace) = (self.model, &mut self.workspace);
        let logits = model.step(&mut self.state, last_tokens, workspace);
        log_softmax(logits, &self.state, vocab_size);
        logits.to_vec()
    }

    /// Returns as attention the mean over the heads of the last decoder layer, over the source and its EOS.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let vocab_size = self.vocab_size();
        let (model, workspace) = (self.model, &mut self.workspace);
        let (logits, attention) =
            model.step_with_attention(&mut self.state, last_tokens, workspace);
        log_softmax(logits, &self.state, vocab_size);
        (logits.to_vec(), attention)
    }

    fn top_k(
        &mut self,
        last_tokens: &[u32],
        k: usize,
        without: Option<&[u32]>,
    ) -> Option<Vec<Vec<ScoredToken>>> {
        Some(self.likeliest(last_tokens, k, without))
    }

    fn select(&mut self, rows: &[usize]) {
        self.state.select(rows);
    }
}

impl fmt::Debug for PackedScorer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, n_steps) = (self.state.n_rows(), self.state.n_steps());
        write!(f, "PackedScorer {{ n_rows: {n_rows}, n_steps: {n_steps} }}")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use transformer_core::{ComputePrecision, Shortlist, TransformerConfig, device};

    use super::*;
    use crate::weights::random_model;
    use transformer_search::{Recorder, Search, beam_search};

    #[test]
    fn a_recorded_search_of_a_packed_model_finds_what_it_finds_from_the_likeliest_tokens() {
        let (_, device) = device::choose(Some("flex")).expect("flex is compiled in");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 12,
            n_heads: 2,
            ..TransformerConfig::tiny(50, 50)
        };
        let model = random_model(&config, &device, 1);
        let model = PackedTransformer::of(&model, ComputePrecision::F32);
        let search = Search {
            beam_size: 3,
            n_best: 3,
            ..Search::default()
        };
        let (sources, requests) = ([[7, 30, 12], [9, 9, 41]], [6, 5].map(Request::up_to));
        let found = |model: &mut dyn NextToken| beam_search(&mut { model }, &requests, &search);
        let alone = found(&mut PackedScorer::new(&model, &sources));
        let recorded = found(&mut Recorder::new(PackedScorer::new(&model, &sources)));
        let hypotheses = alone.iter().flatten().zip(recorded.iter().flatten());
        for (alone, recorded) in hypotheses {
            assert_eq!(alone.ids, recorded.ids);
            assert!((alone.log_prob - recorded.log_prob).abs() < 1e-4);
        }
    }

    /// Returns a shortlist file with 400 common tokens, more than a vector of sums has lanes, and tokens 600 to 603 for
    /// each source token.
    fn shortlist(vocab_size: u32) -> Shortlist {
        let offsets = (0..=u64::from(vocab_size)).map(|token| 4 * token);
        let sizes = [400, 4, u64::from(vocab_size) + 1, u64::from(vocab_size) * 4];
        let numbers: Vec<u64> = sizes.into_iter().chain(offsets).collect();
        let ids = [600_u32, 601, 602, 603].repeat(vocab_size as usize);
        let words: Vec<u64> = ids
            .chunks(2)
            .map(|ids| u64::from(ids[0]) | u64::from(ids[1]) << 32)
            .collect();
        let all = numbers.iter().chain(&words);
        let checksum = all.clone().fold(0, |sum: u64, value| {
            sum ^ value
                .wrapping_add(0x9e37_79b9)
                .wrapping_add(sum << 6)
                .wrapping_add(sum >> 2)
        });
        let start = [0xF11A_48D5_0134_17F5, checksum];
        let file: Vec<u8> = start
            .iter()
            .chain(all)
            .flat_map(|it| it.to_le_bytes())
            .collect();
        let size = vocab_size as usize;
        Shortlist::parse(&file, size, size).expect("the sizes add up")
    }

    #[test]
    fn limited_sentences_have_only_candidates_and_do_not_depend_on_their_batch() {
        let (_, device) = device::choose(Some("flex")).expect("flex is compiled in");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 12,
            n_heads: 2,
            ..TransformerConfig::tiny(900, 900)
        };
        let model = random_model(&config, &device, 1);
        let model = PackedTransformer::of(&model, ComputePrecision::F32);
        let model = model.with_shortlist(Some(Arc::new(shortlist(900))));
        let sources = [vec![7, 30, 12], vec![9, 9, 41], vec![5]];
        let forced = Request {
            prefix: vec![533],
            ..Request::up_to(6)
        };
        let requests = [Request::up_to(6), Request::up_to(5), forced];
        for beam_size in [1, 3] {
            let search = Search {
                beam_size,
                ..Search::default()
            };
            let found = |sources: &[Vec<u32>], requests: &[Request]| {
                search.run(
                    &mut PackedScorer::limited(&model, sources, requests),
                    requests,
                )
            };
            let together = found(&sources, &requests);
            for (row, request) in requests.iter().enumerate() {
                let alone = found(&sources[row..=row], &requests[row..=row]);
                assert_eq!(alone[0], together[row]);
                let ids = &alone[0][0].ids;
                match request.prefix.is_empty() {
                    true => assert!(
                        ids.iter().all(|id| *id < 400 || (600..604).contains(id)),
                        "{ids:?}"
                    ),
                    false => assert_eq!(ids[0], 533),
                }
                assert!(alone[0][0].log_prob.is_finite());
            }
        }
    }
}
