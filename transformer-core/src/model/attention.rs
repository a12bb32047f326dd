//! Multi-head attention over scaled dot products (§3.2).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Int, Tensor};

use super::attention_maps::Recorder;
use super::dropout::Dropout;
use super::linear::{apply, linear};
use super::mask::Mask;
use super::transformer::Draw;
use crate::config::TransformerConfig;
use crate::cpu::{self, softmax};
use crate::device;

/// Gives the widths of one multi-head attention, where they are not those of a [`TransformerConfig`].
///
/// # Example
///
/// ```
/// use burn::tensor::{Distribution, Tensor};
/// use transformer_core::device;
/// use transformer_core::model::AttentionConfig;
///
/// let (_, device) = device::choose(None)?;
/// let config = AttentionConfig { d_memory: 24, ..AttentionConfig::new(16, 4) };
/// let attention = config.init(&device);
/// let queries = Tensor::<3>::random([2, 5, 16], Distribution::Default, &device);
/// let memory = Tensor::<3>::random([2, 7, 24], Distribution::Default, &device);
/// let (output, weights) = attention.attend_with_weights(queries, attention.keys_values(memory), None);
/// assert_eq!(output.dims(), [2, 5, 16]);
/// assert_eq!(weights.dims(), [2, 4, 5, 7]);
/// # Ok::<(), device::DeviceError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionConfig {
    /// Width of what asks, in features.
    pub d_query: usize,
    /// Width of what is attended to, in features.
    pub d_memory: usize,
    /// Width of the result, in features.
    pub d_output: usize,
    /// Number of heads, `h` in the paper.
    pub n_heads: usize,
    /// Width of one head's queries and keys.
    pub d_k: usize,
    /// Width of one head's values.
    pub d_v: usize,
    /// Whether the four projections have biases.
    pub bias: bool,
    /// Probability of dropping an attention weight.
    pub dropout: f64,
}

/// Attends with several heads at once: `Concat(head₁, …, head_h)·W^O` (§3.2.2).
#[derive(Module, Debug)]
pub struct MultiHeadAttention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    dropout: Dropout,
    n_heads: usize,
}

/// Holds the projected keys and values of one attention: what a decoder state remembers.
#[derive(Clone, Debug)]
pub struct KeyValues {
    /// `[batch, n_heads, len or more, d_k]`.
    keys: Tensor<4>,
    /// `[batch, n_heads, len or more, d_v]`.
    values: Tensor<4>,
    /// How many tokens they are of; what stands behind means nothing.
    len: usize,
}

impl KeyValues {
    /// Puts `later` behind what is held, along the length.
    #[must_use]
    pub fn append(self, later: Self) -> Self {
        let len = self.len + later.len;
        let [keys, values] = self.tensors();
        let [later_keys, later_values] = later.tensors();
        Self {
            keys: Tensor::cat(vec![keys, later_keys], 2),
            values: Tensor::cat(vec![values, later_values], 2),
            len,
        }
    }

    /// Returns how many tokens they are of.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns how many tokens the tensors have room for.
    pub(crate) fn room(&self) -> usize {
        self.keys.dims()[2]
    }

    /// Returns keys and values without the room behind them, as views.
    fn tensors(self) -> [Tensor<4>; 2] {
        let Self { keys, values, len } = self;
        [keys, values].map(|tensor| {
            // A view of all of them would be one more step for the backward pass.
            match tensor.dims()[2] == len {
                true => tensor,
                false => tensor.narrow(2, 0, len),
            }
        })
    }

    /// Makes tensors that could hold as many rows and heads, of `room` tokens, and hold none.
    pub(crate) fn room_for(&self, room: usize) -> Self {
        let empty = |like: &Tensor<4>| {
            let [batch, n_heads, _, d] = like.dims();
            Tensor::empty([batch, n_heads, room, d], (&like.device(), like.dtype()))
        };
        Self {
            keys: empty(&self.keys),
            values: empty(&self.values),
            len: 0,
        }
    }

    /// Writes `later` into the room behind the tokens: in place, if nobody else holds the tensors.
    pub(crate) fn written(self, later: Self) -> Self {
        let (start, end) = (self.len, self.len + later.len);
        let write = |room: Tensor<4>, later: Tensor<4>| {
            let [batch, n_heads, _, d] = later.dims();
            room.slice_assign([0..batch, 0..n_heads, start..end, 0..d], later)
        };
        let [keys, values] = later.tensors();
        Self {
            keys: write(self.keys, keys),
            values: write(self.values, values),
            len: end,
        }
    }

    /// Writes the numbers one behind the other in memory, as attention reads them at every step.
    fn gathered(self) -> Self {
        let gather = |tensor: Tensor<4>| {
            let shape = tensor.dims();
            // A tensor of one axis has no gaps.
            tensor.flatten::<1>(0, 3).reshape(shape)
        };
        Self {
            keys: gather(self.keys),
            values: gather(self.values),
            ..self
        }
    }

    /// Attends to them at once, as [`cpu::attention`] says; `None` where it has to be done by parts.
    fn attended(
        &self,
        queries: &Tensor<3>,
        mask: Option<&Mask>,
        wants_weights: bool,
    ) -> Option<(Tensor<3>, Option<Tensor<4>>)> {
        let held = [&self.keys, &self.values];
        cpu::attention(queries, held, self.len, mask, wants_weights)
    }

    /// Keeps the given rows of the batch, in the given order.
    ///
    /// # Shapes
    ///
    /// - `rows`: `[new_batch]`
    #[must_use]
    pub fn select(self, rows: Tensor<1, Int>) -> Self {
        Self {
            keys: self.keys.select(0, rows.clone()),
            values: self.values.select(0, rows),
            ..self
        }
    }
}

impl AttentionConfig {
    /// Returns the self-attention of a stream of `d_model` features: heads of `d_model / n_heads`, with
    /// biases, without dropout.
    ///
    /// # Panics
    ///
    /// Panics if `n_heads` does not divide `d_model`; give the widths by hand then.
    pub fn new(d_model: usize, n_heads: usize) -> Self {
        assert!(
            d_model.is_multiple_of(n_heads),
            "`n_heads` ({n_heads}) does not divide `d_model` ({d_model})"
        );
        let d_head = d_model / n_heads;
        Self {
            d_query: d_model,
            d_memory: d_model,
            d_output: d_model,
            n_heads,
            d_k: d_head,
            d_v: d_head,
            bias: true,
            dropout: 0.0,
        }
    }

    /// Builds the layer with Xavier-uniform matrices, drawn here.
    ///
    /// # Panics
    ///
    /// Panics if a size is zero or `dropout` is not at least 0 and less than 1.
    pub fn init(&self, device: &Device) -> MultiHeadAttention {
        let sizes = [
            self.d_query,
            self.d_memory,
            self.d_output,
            self.n_heads,
            self.d_k,
            self.d_v,
        ];
        assert!(!sizes.contains(&0), "a size is 0 in {self:?}");
        assert!(
            (0.0..1.0).contains(&self.dropout),
            "`dropout` is {}; choose at least 0 and less than 1",
            self.dropout
        );
        let attention = self.build(device);
        attention.visit(&mut Draw);
        attention
    }

    fn build(&self, device: &Device) -> MultiHeadAttention {
        let project = |d_in, d_out| linear(d_in, d_out, self.bias, device);
        MultiHeadAttention {
            query: project(self.d_query, self.n_heads * self.d_k),
            key: project(self.d_memory, self.n_heads * self.d_k),
            value: project(self.d_memory, self.n_heads * self.d_v),
            output: project(self.n_heads * self.d_v, self.d_output),
            dropout: Dropout::new(self.dropout),
            n_heads: self.n_heads,
        }
    }
}

impl MultiHeadAttention {
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        let d_model = config.d_model;
        let config = AttentionConfig {
            d_query: d_model,
            d_memory: d_model,
            d_output: d_model,
            n_heads: config.n_heads,
            d_k: config.head_d_k(),
            d_v: config.head_d_v(),
            bias: config.attention_bias,
            dropout: config.attention_dropout,
        };
        config.build(device)
    }

    /// Projects what is attended to: `K·W^K` and `V·W^V` of every head.
    ///
    /// # Shapes
    ///
    /// - `memory`: `[batch, len, d_memory]`
    pub fn keys_values(&self, memory: Tensor<3>) -> KeyValues {
        let device = memory.device();
        let is_read_often = !device.is_autodiff() && device::is_in_memory(&device);
        let keys_values = self.keys_values_once(memory);
        match is_read_often {
            true => keys_values.gathered(),
            false => keys_values,
        }
    }

    /// Like [`keys_values`](Self::keys_values), for what is attended to once: where their numbers lie does not matter.
    pub(crate) fn keys_values_once(&self, memory: Tensor<3>) -> KeyValues {
        let [_, len, _] = memory.dims();
        KeyValues {
            len,
            keys: self.split_heads(apply(&self.key, memory.clone())),
            values: self.split_heads(apply(&self.value, memory)),
        }
    }

    /// Attends from `x` to the keys and values: `softmax(QKᵀ/√d_k)·V` in every head (Eq. 1).
    ///
    /// A query that sees no key attends to nothing: its heads are zero.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_query]`
    /// - returns: `[batch, len, d_output]`
    ///
    /// # Panics
    ///
    /// Panics if shapes do not fit together, the mask's axes being those of the weights or 1.
    pub fn attend(&self, x: Tensor<3>, memory: KeyValues, mask: Option<&Mask>) -> Tensor<3> {
        self.attend_recorded(x, memory, mask, &mut Recorder::Off)
    }

    /// Like [`attend`](Self::attend), and returns the weights of every head as well, before dropout.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_query]`
    /// - returns: `[batch, len, d_output]` and `[batch, n_heads, len, memory_len]`
    ///
    /// # Panics
    ///
    /// Panics if shapes do not fit together, the mask's axes being those of the weights or 1.
    pub fn attend_with_weights(
        &self,
        x: Tensor<3>,
        memory: KeyValues,
        mask: Option<&Mask>,
    ) -> (Tensor<3>, Tensor<4>) {
        let mut recorder = Recorder::On(Vec::new());
        let output = self.attend_recorded(x, memory, mask, &mut recorder);
        let weights = recorder.into_maps().pop();
        (output, weights.expect("they are recorded"))
    }

    pub(crate) fn attend_recorded(
        &self,
        x: Tensor<3>,
        memory: KeyValues,
        mask: Option<&Mask>,
        recorder: &mut Recorder,
    ) -> Tensor<3> {
        let queries = apply(&self.query, x); // [batch, len, n_heads * d_k]
        if let Some(mask) = mask {
            let [batch, len, _] = queries.dims();
            mask.assert_fits([batch, self.n_heads, len, memory.len()]);
        }
        if let Some((heads, weights)) = memory.attended(&queries, mask, !recorder.is_off()) {
            if let Some(weights) = weights {
                recorder.show(&weights);
            }
            return apply(&self.output, heads);
        }
        let [keys, values] = memory.tensors();
        let weights = self.weights(queries, keys, mask);
        recorder.show(&weights);
        self.mix(weights, values)
    }

    /// Returns how much each query takes of each key: `softmax(QKᵀ/√d_k)`.
    fn weights(&self, queries: Tensor<3>, keys: Tensor<4>, mask: Option<&Mask>) -> Tensor<4> {
        let ([batch, ..], [n_memories, ..]) = (queries.dims(), keys.dims());
        assert_eq!(batch, n_memories, "each row has keys of its own");
        let query = self.split_heads(queries);
        let d_k = query.dims()[3];
        let query = query * (d_k as f64).powf(-0.5);
        let scores = query.matmul(keys.transpose()); // [batch, n_heads, len, memory_len]
        match mask {
            Some(mask) => mask.hide_weights(softmax(mask.hide_scores(scores))),
            None => softmax(scores),
        }
    }

    /// Takes the values by weight and projects all heads together.
    fn mix(&self, weights: Tensor<4>, values: Tensor<4>) -> Tensor<3> {
        let heads = self.dropout.forward(weights).matmul(values); // [batch, n_heads, len, d_v]
        let [batch, n_heads, len, d_v] = heads.dims();
        let concat = heads.swap_dims(1, 2).reshape([batch, len, n_heads * d_v]);
        apply(&self.output, concat)
    }

    /// Turns `[batch, len, n_heads * d]` into `[batch, n_heads, len, d]`.
    fn split_heads(&self, x: Tensor<3>) -> Tensor<4> {
        let [batch, len, width] = x.dims();
        x.reshape([batch, len, self.n_heads, width / self.n_heads])
            .swap_dims(1, 2)
    }
}
