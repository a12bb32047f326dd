//! [`Scorer`]: scores next tokens with a Transformer; and the preparation for every pass of a model.

use std::fmt;

use burn::module::Module;
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData, Transaction, activation};
use transformer_core::device::is_cpu_memory;
use transformer_core::{
    AttentionMaps, AttentionMasks, DecoderState, Padded, Transformer, cpu as kernels,
};
use transformer_search::{NextToken, ScoredToken};

use super::top_k::{DeviceTopK, MAX_TOP_K, read_two, read_values, top_k_of_rows};

/// The message if a scorer has no state: only `select` takes it, and puts another in its place.
const HAS_STATE: &str = "an earlier selection of rows panicked";

/// Scores next tokens with a Transformer; each row is the translation of one source.
///
/// The sources are encoded once, by [`new`](Self::new). Each step uploads one token per row and reads from the
/// device once.
///
/// # Example
///
/// Two models, as one:
///
/// ```
/// use transformer_core::{TransformerConfig, device};
/// use transformer_search::{Ensemble, EnsembleMean, Search};
/// use transformer_translate::Scorer;
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
/// let models = [config.init(&device)?, config.init(&device)?];
/// let sources = [[7, 8]];
/// let members = models.iter().map(|model| Scorer::new(model, &sources)).collect();
/// let search = Search::default();
/// let found = search.run(&mut Ensemble::new(members, EnsembleMean::Probs), &[search.request(2)]);
/// assert!(found[0][0].ids.len() <= 52);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scorer<'a> {
    model: &'a Transformer,
    device: Device,
    /// `None` only while rows are selected.
    state: Option<DecoderState>,
    n_rows: usize,
    /// Number of source tokens of each row, EOS included.
    src_lens: Vec<usize>,
    vocab_size: usize,
    /// Chooses the likeliest tokens on the device, so that it does not copy a whole vocabulary per row; `None` if the
    /// logits are in CPU memory, where the CPU does it.
    top_k: Option<DeviceTopK>,
}

impl<'a> Scorer<'a> {
    /// Encodes the sources, given without EOS, and prepares their translation.
    ///
    /// The model must not record gradients: pass [`valid`](burn::module::Module::valid) of a model in training.
    ///
    /// # Panics
    ///
    /// Panics if there is no source, if an id is not in the source vocabulary, or if a source is longer than the
    /// learned positions. Every step panics if a last token is not in the target vocabulary.
    pub fn new<S: AsRef<[u32]>>(model: &'a Transformer, sources: &[S]) -> Self {
        let weight = model.output_weight();
        let (device, [vocab_size, _]) = (weight.device(), weight.dims());
        let ended = super::ended(sources, model.config());
        let state = model.begin(&model.encode(&Padded::new(&ended, &device)));
        let top_k = (!is_cpu_memory(&device)).then(|| DeviceTopK::new(vocab_size, &device));
        Self {
            model,
            device,
            state: Some(state),
            n_rows: sources.len(),
            src_lens: ended.iter().map(Vec::len).collect(),
            vocab_size,
            top_k,
        }
    }

    /// Appends one token to each row and returns the logits of the next, `[batch, vocab]`; records attention into `maps`.
    fn decode_step(&mut self, last_tokens: &[u32], maps: Option<&mut AttentionMaps>) -> Tensor<2> {
        assert_in_vocabulary("target", last_tokens, self.vocab_size);
        let column: Vec<i64> = last_tokens.iter().copied().map(i64::from).collect();
        let column = TensorData::new(column, [last_tokens.len(), 1]);
        let last_tokens = Tensor::<2, Int>::from_data(column, &self.device);
        let (model, masks) = (self.model, AttentionMasks::default());
        let state = self.state.as_mut().expect(HAS_STATE);
        let logits = model.decode_with(last_tokens, state, &masks, maps); // [batch, 1, vocab]
        // Sums of many log-probabilities need single precision, even if the model computes in less.
        let logits = logits.reshape([self.n_rows, self.vocab_size]);
        logits.cast(FloatDType::F32)
    }

    /// Returns the tensor to read from the device: log-probabilities, or logits if the CPU computes the softmax.
    fn before_read(&self, logits: Tensor<2>) -> Tensor<2> {
        match &self.top_k {
            None => logits,
            Some(_) => activation::log_softmax(logits, 1),
        }
    }

    /// Returns the log-probabilities, row by row, from the data of [`before_read`](Self::before_read).
    fn after_read(&self, data: TensorData) -> Vec<f32> {
        let mut values = read_values(data);
        if self.top_k.is_none() {
            kernels::log_softmax(&mut values, self.vocab_size);
        }
        values
    }
}

impl NextToken for Scorer<'_> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        let logits = self.decode_step(last_tokens, None);
        self.after_read(self.before_read(logits).into_data())
    }

    /// Returns as attention the mean over the heads of the last decoder layer, over the source and its EOS.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let mut maps = AttentionMaps::default();
        let logits = self.decode_step(last_tokens, Some(&mut maps));
        let last_layer = maps.cross.pop().expect("a decoder has at least one layer");
        let [batch, _, _, src_len] = last_layer.dims(); // [batch, n_heads, 1, src_len]
        let attention = last_layer.mean_dim(1).reshape([batch, src_len]);
        let tensors = Transaction::default().register(self.before_read(logits));
        let [log_probs, attention] = read_two(tensors.register(attention));
        let attention = read_values(attention);
        let rows = attention.chunks_exact(src_len).zip(&self.src_lens);
        let rows = rows.map(|(weights, len)| weights[..*len].to_vec());
        (self.after_read(log_probs), rows.collect())
    }

    fn top_k(
        &mut self,
        last_tokens: &[u32],
        k: usize,
        without: Option<&[u32]>,
    ) -> Option<Vec<Vec<ScoredToken>>> {
        if self.top_k.is_some() && (k > MAX_TOP_K || without.is_some()) {
            return None;
        }
        let logits = self.decode_step(last_tokens, None);
        Some(match &self.top_k {
            None => top_k_of_rows(
                &read_values(logits.into_data()),
                self.vocab_size,
                k,
                without,
            ),
            Some(top_k) => top_k.top_k(logits, k),
        })
    }

    fn select(&mut self, rows: &[usize]) {
        assert!(
            rows.iter().all(|row| *row < self.n_rows),
            "`select` got the index of a row that does not exist"
        );
        // Taken, not cloned: a clone would keep the old tensors until all new ones are made.
        let state = self.state.take().expect(HAS_STATE);
        self.state = Some(state.select(rows));
        self.n_rows = rows.len();
        self.src_lens = rows.iter().map(|row| self.src_lens[*row]).collect();
    }
}

impl fmt::Debug for Scorer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, vocab_size) = (self.n_rows, self.vocab_size);
        let n_decoded = self.state.as_ref().map_or(0, DecoderState::n_decoded);
        write!(
            f,
            "Scorer {{ n_rows: {n_rows}, vocab_size: {vocab_size}, n_decoded: {n_decoded} }}"
        )
    }
}

/// Returns the model for inference: with autodiff, dropout would be active and the graph would grow.
pub(crate) fn without_autodiff(model: &Transformer) -> Transformer {
    if model.device().is_autodiff() {
        model.valid()
    } else {
        model.clone()
    }
}

/// Panics if an id of a `side` is not in its vocabulary: a GPU would read the memory after the embedding matrix.
pub(crate) fn assert_in_vocabulary(side: &str, ids: &[u32], vocab_size: usize) {
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocab_size) {
        panic!("the {side} has the id {id}, which is not in its vocabulary of {vocab_size} tokens");
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::text::BOS;
    use transformer_core::{TransformerConfig, device};

    use super::*;
    use crate::weights::random_model;

    #[test]
    fn a_gpu_leaves_a_long_list_to_the_cpu_and_decodes_nothing() {
        let named = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(named.as_deref()).expect("tests are built with a backend");
        let config = TransformerConfig {
            d_model: 16,
            d_ff: 32,
            ..TransformerConfig::tiny(300, 300)
        };
        let model = random_model(&config, &device, 1);
        let mut scorer = Scorer::new(&model, &[[4, 5]]);
        assert!(scorer.top_k(&[BOS], 4, None).is_some());
        let many = scorer.top_k(&[BOS], MAX_TOP_K + 1, None);
        assert_eq!(many.is_some(), is_cpu_memory(&scorer.device));
        let n_decoded = scorer.state.as_ref().map(DecoderState::n_decoded);
        assert_eq!(n_decoded, Some(1 + usize::from(many.is_some())));
    }
}
