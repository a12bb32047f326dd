//! The Transformer as a search sees it: rows of decoder states that grow token by token.

use std::fmt;

use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData, Transaction, activation};
use transformer_core::text::EOS;
use transformer_core::{AttentionMaps, AttentionMasks, DecoderState, Padded, Transformer};

use crate::batch::assert_in_vocabulary;
use crate::search::{Best, NEVER_GENERATED, NextToken};

/// Why a scorer has a state: only a selection of rows takes it, and puts another in its place.
const HAS_STATE: &str = "an earlier selection of rows panicked";

/// Scores next tokens with a Transformer, each row being the translation of one source.
///
/// The sources are encoded once, when it is made. Each step uploads one token a row and reads the
/// device once.
pub struct Scorer<'a> {
    model: &'a Transformer,
    device: Device,
    /// Absent only while rows are selected.
    state: Option<DecoderState>,
    n_rows: usize,
    /// Number of source tokens of each row, EOS included.
    src_lens: Vec<usize>,
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
    /// Panics if there is no source at all, if an id is not in the source vocabulary, or if learned positions run
    /// out. Every step panics at a last token that is not in the target vocabulary.
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
        let bans = TensorData::new(bans, [1, vocab_size]);
        // They are added to log-probabilities, which are of single precision on every device.
        let bans = Tensor::from_data(bans, (&device, DType::F32));
        Self {
            model,
            device,
            state: Some(state),
            n_rows: sources.len(),
            src_lens: ended.iter().map(Vec::len).collect(),
            vocab_size,
            bans,
        }
    }

    /// Moves all rows on by one token, and keeps the attention maps where they are asked for.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, vocab]`
    fn advance(&mut self, last_tokens: &[u32], maps: Option<&mut AttentionMaps>) -> Tensor<2> {
        assert_in_vocabulary("target", last_tokens, self.vocab_size);
        let column: Vec<i64> = last_tokens.iter().copied().map(i64::from).collect();
        let column = TensorData::new(column, [last_tokens.len(), 1]);
        let last_tokens = Tensor::<2, Int>::from_data(column, &self.device);
        let (model, masks) = (self.model, AttentionMasks::default());
        let state = self.state.as_mut().expect(HAS_STATE);
        let logits = model.decode_with(last_tokens, state, &masks, maps); // [batch, 1, vocab]
        // Sums of many log-probabilities need single precision, whatever the model computes in.
        let logits = logits
            .reshape([self.n_rows, self.vocab_size])
            .cast(FloatDType::F32);
        activation::log_softmax(logits, 1)
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
        let log_probs = self.advance(last_tokens, None).into_data();
        log_probs
            .try_into_vec_as::<f32>()
            .expect("every float type converts to f32")
    }

    /// Returns as attention the mean over the heads of the last decoder layer, to the source and its EOS.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let mut maps = AttentionMaps::default();
        let log_probs = self.advance(last_tokens, Some(&mut maps));
        let last_layer = maps.cross.pop();
        let last_layer = last_layer.expect("a decoder has at least one layer");
        let [batch, _, _, src_len] = last_layer.dims(); // [batch, n_heads, 1, src_len]
        let attention = last_layer.mean_dim(1).reshape([batch, src_len]);
        let read = Transaction::default()
            .register(log_probs)
            .register(attention)
            .execute();
        let [log_probs, attention] = read.as_slice() else {
            unreachable!("a transaction returns what was registered");
        };
        let attention: Vec<f32> = attention.iter::<f32>().collect();
        let rows = attention.chunks_exact(src_len).zip(&self.src_lens);
        let rows = rows.map(|(weights, len)| weights[..*len].to_vec());
        (log_probs.iter::<f32>().collect(), rows.collect())
    }

    fn best(&mut self, last_tokens: &[u32]) -> Vec<Best> {
        let allowed = self.advance(last_tokens, None) + self.bans.clone();
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
        assert!(
            rows.iter().all(|row| *row < self.n_rows),
            "rows that do not exist are selected"
        );
        // A clone would keep the old tensors until all new ones are made.
        let state = self.state.take().expect(HAS_STATE);
        self.state = Some(state.select(rows));
        self.n_rows = rows.len();
        self.src_lens = rows.iter().map(|row| self.src_lens[*row]).collect();
    }
}

impl fmt::Debug for Scorer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n_rows, vocab_size, ..
        } = self;
        let n_decoded = self.state.as_ref().map_or(0, DecoderState::n_decoded);
        write!(
            f,
            "Scorer {{ n_rows: {n_rows}, vocab_size: {vocab_size}, n_decoded: {n_decoded} }}"
        )
    }
}
