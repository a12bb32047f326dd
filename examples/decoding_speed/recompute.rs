//! A model for searches without a cache of the target: every step computes all tokens again.

use burn::tensor::{Device, Int, Tensor, TensorData, activation};
use transformer_core::text::EOS;
use transformer_core::{DecoderState, Padded, Transformer};
use transformer_infer::search::NextToken;

/// Scores next tokens like `Scorer`, but without a cache of the decoder's self-attention.
///
/// The encoder's output, and its keys and values, are also computed only once here.
pub(crate) struct Recompute<'a> {
    model: &'a Transformer,
    device: Device,
    /// The state before the first token.
    initial: DecoderState,
    /// The tokens of each row so far, BOS first.
    rows: Vec<Vec<u32>>,
}

impl<'a> Recompute<'a> {
    /// Encodes the sources, given without EOS.
    pub(crate) fn new<S: AsRef<[u32]>>(model: &'a Transformer, sources: &[S]) -> Self {
        let device = model.device();
        let ended: Vec<Vec<u32>> = sources
            .iter()
            .map(|source| [source.as_ref(), &[EOS]].concat())
            .collect();
        let initial = model.begin(&model.encode(&Padded::new(&ended, &device)));
        Self {
            model,
            device,
            initial,
            rows: vec![Vec::new(); sources.len()],
        }
    }
}

impl NextToken for Recompute<'_> {
    fn n_rows(&self) -> usize {
        self.rows.len()
    }

    fn vocab_size(&self) -> usize {
        self.model.output_weight().dims()[0]
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        for (row, token) in self.rows.iter_mut().zip(last_tokens) {
            row.push(*token);
        }
        let (n_rows, len) = (self.rows.len(), self.rows[0].len());
        let ids: Vec<i64> = self.rows.concat().into_iter().map(i64::from).collect();
        let tgt = Tensor::<2, Int>::from_data(TensorData::new(ids, [n_rows, len]), &self.device);
        let features = self.model.decode_features(tgt, &mut self.initial.clone());
        let logits = self.model.project(features.narrow(1, len - 1, 1));
        let logits = logits.reshape([n_rows, self.vocab_size()]);
        let log_probs = activation::log_softmax(logits, 1).into_data();
        log_probs.iter::<f32>().collect()
    }

    fn select(&mut self, rows: &[usize]) {
        self.initial = self.initial.clone().select(rows);
        self.rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
    }
}
