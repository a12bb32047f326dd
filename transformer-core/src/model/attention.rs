//! Multi-head attention over scaled dot products (§3.2).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Int, Tensor, activation};

use super::dropout::Dropout;
use super::feed_forward::linear;
use super::mask::Mask;
use crate::config::TransformerConfig;

/// Attends with several heads at once: `Concat(head₁, …, head_h)·W^O` (§3.2.2).
#[derive(Module, Debug)]
pub(crate) struct MultiHeadAttention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    dropout: Dropout,
    n_heads: usize,
}

/// Holds the projected keys and values of one attention: what a decoder state remembers.
#[derive(Clone, Debug)]
pub(crate) struct KeyValues {
    /// `[batch, n_heads, len, d_k]`.
    keys: Tensor<4>,
    /// `[batch, n_heads, len, d_v]`.
    values: Tensor<4>,
}

impl KeyValues {
    /// Puts `later` behind what is held, along the length.
    pub(crate) fn append(self, later: Self) -> Self {
        Self {
            keys: Tensor::cat(vec![self.keys, later.keys], 2),
            values: Tensor::cat(vec![self.values, later.values], 2),
        }
    }

    /// Keeps the given rows of the batch, in the given order.
    pub(crate) fn select(self, rows: Tensor<1, Int>) -> Self {
        Self {
            keys: self.keys.select(0, rows.clone()),
            values: self.values.select(0, rows),
        }
    }
}

impl MultiHeadAttention {
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        let (d_model, n_heads) = (config.d_model, config.n_heads);
        let (d_k, d_v) = (config.head_d_k(), config.head_d_v());
        let project = |d_in, d_out| linear(d_in, d_out, config.attention_bias, device);
        Self {
            query: project(d_model, n_heads * d_k),
            key: project(d_model, n_heads * d_k),
            value: project(d_model, n_heads * d_v),
            output: project(n_heads * d_v, d_model),
            dropout: Dropout::new(config.attention_dropout),
            n_heads,
        }
    }

    /// Projects what is attended to: `K·W^K` and `V·W^V` of every head.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    pub(crate) fn keys_values(&self, x: Tensor<3>) -> KeyValues {
        KeyValues {
            keys: self.split_heads(self.key.forward(x.clone())),
            values: self.split_heads(self.value.forward(x)),
        }
    }

    /// Attends from `x` to the keys and values: `softmax(QKᵀ/√d_k)·V` in every head (Eq. 1).
    ///
    /// A query that sees no key attends to nothing: its heads are zero.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: `[batch, len, d_model]`
    pub(crate) fn attend(&self, x: Tensor<3>, memory: KeyValues, mask: Option<&Mask>) -> Tensor<3> {
        let [batch, len, _] = x.dims();
        let query = self.split_heads(self.query.forward(x));
        let d_k = query.dims()[3];
        let query = query * (d_k as f64).powf(-0.5);
        let scores = query.matmul(memory.keys.transpose()); // [batch, n_heads, len, memory_len]
        let weights = match mask {
            Some(mask) => mask.hide_weights(activation::softmax(mask.hide_scores(scores), 3)),
            None => activation::softmax(scores, 3),
        };
        let heads = self.dropout.forward(weights).matmul(memory.values); // [batch, n_heads, len, d_v]
        let d_v = heads.dims()[3];
        let concat = heads
            .swap_dims(1, 2)
            .reshape([batch, len, self.n_heads * d_v]);
        self.output.forward(concat)
    }

    /// Turns `[batch, len, n_heads * d]` into `[batch, n_heads, len, d]`.
    fn split_heads(&self, x: Tensor<3>) -> Tensor<4> {
        let [batch, len, width] = x.dims();
        x.reshape([batch, len, self.n_heads, width / self.n_heads])
            .swap_dims(1, 2)
    }
}
