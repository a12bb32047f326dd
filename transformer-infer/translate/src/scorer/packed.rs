//! [`PackedScorer`]: scores next tokens with packed weights.

use std::fmt;

use transformer_core::cpu as kernels;
use transformer_core::packed::{PackedState, PackedTransformer, Workspace};
use transformer_core::text::EOS;

use super::cpu;
use transformer_search::{NextToken, ScoredToken};

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
        Self {
            model,
            state: model.begin(&with_eos(sources), &mut workspace),
            workspace,
        }
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

/// Appends EOS to each source.
pub(crate) fn with_eos<S: AsRef<[u32]>>(sources: &[S]) -> Vec<Vec<u32>> {
    let ended = sources
        .iter()
        .map(|source| [source.as_ref(), &[EOS]].concat());
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
        let logits = self
            .model
            .step(&mut self.state, last_tokens, &mut self.workspace);
        kernels::log_softmax(logits, vocab_size);
        logits.to_vec()
    }

    /// Returns as attention the mean over the heads of the last decoder layer, over the source and its EOS.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let vocab_size = self.vocab_size();
        let (model, workspace) = (self.model, &mut self.workspace);
        let (logits, attention) =
            model.step_with_attention(&mut self.state, last_tokens, workspace);
        kernels::log_softmax(logits, vocab_size);
        (logits.to_vec(), attention)
    }

    fn best(&mut self, last_tokens: &[u32]) -> Vec<ScoredToken> {
        let vocab_size = self.vocab_size();
        let logits = self
            .model
            .step(&mut self.state, last_tokens, &mut self.workspace);
        cpu::best(logits, vocab_size)
    }

    fn top_k(&mut self, last_tokens: &[u32], k: usize) -> Option<Vec<Vec<ScoredToken>>> {
        let vocab_size = self.vocab_size();
        let logits = self
            .model
            .step(&mut self.state, last_tokens, &mut self.workspace);
        Some(cpu::top_k(logits, vocab_size, k))
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
    use transformer_core::{ComputePrecision, TransformerConfig, device};

    use super::*;
    use crate::weights::random_model;
    use transformer_search::{Recorder, Request, Search, beam_search};

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
}
