//! The Transformer as a search sees it: rows of decoder states that grow token by token.

use std::fmt;

use burn::tensor::{Device, Int, Tensor, TensorData, Transaction, activation};
use transformer_core::text::EOS;
use transformer_core::{DecoderState, Padded, Transformer};

use crate::search::{Best, NEVER_GENERATED, NextToken};

/// Scores next tokens with a Transformer, each row being the translation of one source.
///
/// The sources are encoded once, when it is made. Each step uploads one token a row and reads the
/// device once.
pub struct Scorer<'a> {
    model: &'a Transformer,
    device: Device,
    state: DecoderState,
    n_rows: usize,
    vocab_size: usize,
    /// `[1, vocab]`: −∞ for the tokens that are never generated, 0 for all others.
    bans: Tensor<2>,
}

impl<'a> Scorer<'a> {
    /// Encodes the sources, given without EOS, and prepares to translate them.
    ///
    /// The model must not be in training: take [`valid`](burn::module::Module::valid) of one that is.
    ///
    /// # Panics
    ///
    /// Panics if there is no source at all, or if learned positions run out.
    pub fn new<S: AsRef<[u32]>>(model: &'a Transformer, sources: &[S]) -> Self {
        let weight = model.output_weight();
        let (device, [vocab_size, _]) = (weight.device(), weight.dims());
        let ended: Vec<Vec<u32>> = sources
            .iter()
            .map(|source| [source.as_ref(), &[EOS]].concat())
            .collect();
        let state = model.begin(&model.encode(&Padded::new(&ended, &device)));
        let mut bans = vec![0.0_f32; vocab_size];
        for id in NEVER_GENERATED {
            if let Some(ban) = bans.get_mut(id as usize) {
                *ban = f32::NEG_INFINITY;
            }
        }
        let bans = Tensor::from_data(TensorData::new(bans, [1, vocab_size]), &device);
        Self {
            model,
            device,
            state,
            n_rows: sources.len(),
            vocab_size,
            bans,
        }
    }

    /// Moves all rows on by one token.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, vocab]`
    fn advance(&mut self, last_tokens: &[u32]) -> Tensor<2> {
        let column: Vec<i64> = last_tokens.iter().copied().map(i64::from).collect();
        let column = TensorData::new(column, [last_tokens.len(), 1]);
        let last_tokens = Tensor::<2, Int>::from_data(column, &self.device);
        let logits = self.model.decode(last_tokens, &mut self.state); // [batch, 1, vocab]
        activation::log_softmax(logits.reshape([self.n_rows, self.vocab_size]), 1)
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
        let log_probs = self.advance(last_tokens).into_data();
        log_probs
            .try_into_vec_as::<f32>()
            .expect("every float type converts to f32")
    }

    fn best(&mut self, last_tokens: &[u32]) -> Vec<Best> {
        let allowed = self.advance(last_tokens) + self.bans.clone();
        let (log_probs, ids) = allowed.max_dim_with_indices(1);
        let read = Transaction::default()
            .register(log_probs)
            .register(ids)
            .execute();
        let [log_probs, ids] = read.as_slice() else {
            unreachable!("a transaction returns what was registered");
        };
        let pairs = log_probs.iter::<f32>().zip(ids.iter::<i64>());
        pairs
            .map(|(log_prob, id)| Best {
                id: id as u32,
                log_prob,
            })
            .collect()
    }

    fn select(&mut self, rows: &[usize]) {
        self.state = self.state.clone().select(rows);
        self.n_rows = rows.len();
    }
}

impl fmt::Debug for Scorer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n_rows, vocab_size, ..
        } = self;
        let n_decoded = self.state.n_decoded();
        write!(
            f,
            "Scorer {{ n_rows: {n_rows}, vocab_size: {vocab_size}, n_decoded: {n_decoded} }}"
        )
    }
}
