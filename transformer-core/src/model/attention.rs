//! Multi-head attention over scaled dot products (§3.2).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};

use super::dropout::Dropout;
use super::init::draw_parameters;
use super::key_values::KeyValues;
use super::linear::apply;
use super::mask::Mask;
use super::masked_softmax::masked_softmax;
use super::matmul::MatmulPrecision;
use super::recording::Recorder;
use crate::config::{Activation, Initialization, TransformerConfig};

/// Sizes of a multi-head attention, independent of a [`TransformerConfig`].
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
/// let x = Tensor::<3>::random([2, 5, 16], Distribution::Default, &device);
/// let memory = Tensor::<3>::random([2, 7, 24], Distribution::Default, &device);
/// let (output, weights) = attention.attend_with_weights(x, attention.keys_values(memory), None);
/// assert_eq!(output.dims(), [2, 5, 16]);
/// assert_eq!(weights.dims(), [2, 4, 5, 7]);
/// # Ok::<(), device::DeviceError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionConfig {
    /// Features of the input that is projected to queries.
    pub d_query: usize,
    /// Features of the input that is projected to keys and values.
    pub d_memory: usize,
    /// Features of the output.
    pub d_output: usize,
    /// Number of heads, `h` in the paper.
    pub n_heads: usize,
    /// Features of a query and of a key in one head.
    pub d_k: usize,
    /// Features of a value in one head.
    pub d_v: usize,
    /// True if the four projections have biases.
    pub bias: bool,
    /// Probability of dropping an attention weight.
    pub dropout: f64,
    /// Initial distribution of the matrices of the four projections.
    pub initialization: Initialization,
    /// Non-linearities after the projections.
    pub activations: ProjectionActivations,
}

/// The non-linearities after the projections to queries, keys and values, as the layer of BERT's code has
/// them (`query_act`, `key_act`, `value_act`).
///
/// Default: none (§3.2.2), as in BERT's models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProjectionActivations {
    /// The non-linearity of the queries.
    pub query: Option<Activation>,
    /// The non-linearity of the keys.
    pub key: Option<Activation>,
    /// The non-linearity of the values.
    pub value: Option<Activation>,
}

impl AttentionConfig {
    /// Returns the sizes of self-attention over `d_model` features: heads of `d_model / n_heads`
    /// features, with biases, without dropout.
    ///
    /// # Panics
    ///
    /// Panics if `n_heads` does not divide `d_model`; set all fields by hand then.
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
            initialization: Initialization::Xavier,
            activations: ProjectionActivations::default(),
        }
    }

    /// Builds the layer with random matrices.
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
        draw_parameters(&attention);
        attention
    }

    fn build(&self, device: &Device) -> MultiHeadAttention {
        let project = |d_in, d_out| (self.initialization).linear(d_in, d_out, self.bias, device);
        MultiHeadAttention {
            query: project(self.d_query, self.n_heads * self.d_k),
            key: project(self.d_memory, self.n_heads * self.d_k),
            value: project(self.d_memory, self.n_heads * self.d_v),
            output: project(self.n_heads * self.d_v, self.d_output),
            dropout: Dropout::new(self.dropout),
            n_heads: self.n_heads,
            matmul: MatmulPrecision::default(),
            activations: self.activations,
        }
    }
}

/// Attends with several heads: `Concat(head₁, …, head_h)·W^O` (§3.2.2).
#[derive(Module, Debug)]
pub struct MultiHeadAttention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    dropout: Dropout,
    n_heads: usize,
    #[module(skip)]
    matmul: MatmulPrecision,
    #[module(skip)]
    activations: ProjectionActivations,
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
            initialization: config.initialization,
            activations: ProjectionActivations::default(),
        };
        config.build(device)
    }

    pub(super) fn set_matmul_precision(&mut self, matmul: MatmulPrecision) {
        self.matmul = matmul;
    }

    /// Projects keys and values for all heads: `K·W^K` and `V·W^V`, for any number of calls of
    /// [`attend`](Self::attend).
    ///
    /// # Shapes
    ///
    /// - `memory`: `[batch, memory_len, d_memory]`
    pub fn keys_values(&self, memory: Tensor<3>) -> KeyValues {
        self.keys_values_for_one_use(memory).contiguous()
    }

    /// Like [`keys_values`](Self::keys_values), for a single call of [`attend`](Self::attend).
    pub(crate) fn keys_values_for_one_use(&self, memory: Tensor<3>) -> KeyValues {
        self.keys_and_values(memory.clone(), memory)
    }

    /// Projects keys from one memory and values from another: the same memory, or a copy with a separate gradient.
    ///
    /// # Shapes
    ///
    /// - `for_keys`, `for_values`: `[batch, memory_len, d_memory]`
    pub(super) fn keys_and_values(&self, for_keys: Tensor<3>, for_values: Tensor<3>) -> KeyValues {
        let keys = project(&self.key, self.activations.key, for_keys, self.matmul);
        let values = project(&self.value, self.activations.value, for_values, self.matmul);
        KeyValues {
            keys: self.split_heads(keys),
            values: self.split_heads(values),
        }
    }

    /// Attends from `x` to keys and values: `softmax(QKᵀ/√d_k)·V` in every head (Eq. 1), then `W^O`.
    ///
    /// If all keys are hidden from a query, its heads are zero.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_query]`
    /// - returns: `[batch, len, d_output]`
    ///
    /// # Panics
    ///
    /// Panics if the shapes do not match. An axis of the mask must have the size of that of the weights, or 1.
    pub fn attend(&self, x: Tensor<3>, memory: KeyValues, mask: Option<&Mask>) -> Tensor<3> {
        self.attend_recorded(x, memory, mask, &mut Recorder::Off)
    }

    /// Like [`attend`](Self::attend), and returns the weights of every head too, before dropout.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_query]`
    /// - returns: `[batch, len, d_output]` and `[batch, n_heads, len, memory_len]`
    ///
    /// # Panics
    ///
    /// Panics if the shapes do not match. An axis of the mask must have the size of that of the weights, or 1.
    pub fn attend_with_weights(
        &self,
        x: Tensor<3>,
        memory: KeyValues,
        mask: Option<&Mask>,
    ) -> (Tensor<3>, Tensor<4>) {
        let mut recorder = Recorder::all_layers();
        let output = self.attend_recorded(x, memory, mask, &mut recorder);
        let weights = recorder.into_weights().pop();
        (output, weights.expect("the recorder is on"))
    }

    pub(crate) fn attend_recorded(
        &self,
        x: Tensor<3>,
        memory: KeyValues,
        mask: Option<&Mask>,
        recorder: &mut Recorder,
    ) -> Tensor<3> {
        // [batch, len, n_heads * d_k]
        let queries = project(&self.query, self.activations.query, x, self.matmul);
        if let Some(mask) = mask {
            let [batch, len, _] = queries.dims();
            mask.assert_fits([batch, self.n_heads, len, memory.len()]);
        }
        let heads = self.scaled_dot_product(queries, memory, mask, recorder);
        apply(&self.output, heads, self.matmul)
    }

    /// Computes `softmax(QKᵀ/√d_k)·V` (Eq. 1) in every head, and concatenates the heads.
    fn scaled_dot_product(
        &self,
        queries: Tensor<3>,
        memory: KeyValues,
        mask: Option<&Mask>,
        recorder: &mut Recorder,
    ) -> Tensor<3> {
        let KeyValues { keys: k, values: v } = memory;
        let q = self.split_heads(queries); // [batch, n_heads, len, d_k]
        assert_eq!(q.dims()[0], k.dims()[0], "each row has keys of its own");
        let d_k = q.dims()[3] as f64;
        // Equal to `QKᵀ/√d_k`; Q is smaller than QKᵀ.
        let q = q * d_k.powf(-0.5);
        let scores = self.matmul.multiply(q, k.transpose()); // [batch, n_heads, len, memory_len]
        let weights = masked_softmax(scores, mask);
        recorder.record(&weights);
        let weights = self.dropout.forward(weights);
        let heads = self.matmul.multiply(weights, v); // [batch, n_heads, len, d_v]
        concat_heads(heads)
    }

    /// Turns `[batch, len, n_heads * d]` into `[batch, n_heads, len, d]`.
    fn split_heads(&self, x: Tensor<3>) -> Tensor<4> {
        let [batch, len, width] = x.dims();
        x.reshape([batch, len, self.n_heads, width / self.n_heads])
            .swap_dims(1, 2)
    }
}

/// Projects every token, and applies the non-linearity, if there is one.
fn project(
    linear: &Linear,
    activation: Option<Activation>,
    x: Tensor<3>,
    matmul: MatmulPrecision,
) -> Tensor<3> {
    let projected = apply(linear, x, matmul);
    match activation {
        Some(activation) => activation.forward(projected),
        None => projected,
    }
}

/// Turns `[batch, n_heads, len, d]` into `[batch, len, n_heads * d]`.
fn concat_heads(heads: Tensor<4>) -> Tensor<3> {
    let [batch, n_heads, len, d] = heads.dims();
    heads.swap_dims(1, 2).reshape([batch, len, n_heads * d])
}
