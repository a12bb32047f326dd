//! [`TransformerConfig`]: the hyper-parameters of the model (§3 and Table 3 of the paper), which every layer reads.

use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::text::{EOS, N_SPECIAL};

/// The largest valid sizes: larger than any real model, and small enough that the number of parameters is below 2^63.
const MAX_ROWS: usize = 1 << 24;
const MAX_FEATURES: usize = 1 << 18;
const MAX_HEADS: usize = 1 << 12;
const MAX_LAYERS: usize = 1 << 10;

/// The hyper-parameters of a [`Transformer`](crate::Transformer).
///
/// `Default` is the paper's base model with its shared vocabulary of 37,000 tokens (§5.1).
///
/// # Example
///
/// ```
/// use transformer_core::TransformerConfig;
///
/// let config = TransformerConfig { d_ff: 1024, ..TransformerConfig::base(37_000, 37_000) };
/// assert!(config.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate switch, and a key of the configuration file"
)]
pub struct TransformerConfig {
    /// Number of source tokens the model knows, special ones included. Default 37,000 (§5.1).
    pub src_vocab_size: usize,
    /// Number of target tokens the model knows, special ones included. Default 37,000 (§5.1).
    pub tgt_vocab_size: usize,
    /// Width of the residual stream, in features. Default 512 (§3.1).
    pub d_model: usize,
    /// Inner width of the feed-forward networks, in features. Default 2048 (§3.3).
    pub d_ff: usize,
    /// Number of attention heads, `h` in the paper. Default 8 (§3.2.2).
    pub n_heads: usize,
    /// Width of one head's queries and keys. Default: `d_model / n_heads` (§3.2.2; Table 3, rows A, B).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d_k: Option<usize>,
    /// Width of one head's values. Default: `d_model / n_heads` (§3.2.2; Table 3, row A).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d_v: Option<usize>,
    /// Number of encoder layers, `N` in the paper. Default 6 (§3.1).
    pub n_encoder_layers: usize,
    /// Number of decoder layers, `N` in the paper. Default 6 (§3.1).
    pub n_decoder_layers: usize,
    /// Position of layer normalization: `post`, after the residual sum, or `pre`, before the sub-layer, which needs
    /// `final_norm`. Default: `post` (§3.1).
    pub norm_placement: NormPlacement,
    /// True if each stack ends with one more layer normalization. Default: false (§3.1). Pre-norm stacks need it, and
    /// `torch.nn.Transformer` has it in its post-norm stacks too.
    pub final_norm: bool,
    /// Kind of all normalizations: `layer`, or `rms`, which neither subtracts the mean nor adds an offset (Zhang and
    /// Sennrich 2019). Default: `layer` (§3.1).
    #[serde(skip_serializing_if = "is_default")]
    pub norm_kind: NormKind,
    /// Constant added to the variance in layer normalization. Default 1e-5, as in PyTorch (not in the paper).
    pub norm_epsilon: f64,
    /// Kind of positional encoding: `sinusoidal`, `sinusoidal_halves` (all sines, then all cosines),
    /// `sinusoidal_halves_inclusive` (the same with the frequencies of Marian and fairseq), `learned` or `none`.
    /// Default: `sinusoidal`, interleaved (§3.5).
    pub positions: Positions,
    /// Position of the first token of a sequence. Default 0 (§3.5); OpenNMT-tf begins with 1, and fairseq, M2M-100 and
    /// mBART with 2. Learned positions have as many rows before the first token's, which are never used.
    #[serde(skip_serializing_if = "is_default")]
    pub first_position: usize,
    /// Longest sequence, in tokens, that learned positions can encode. Default 1024. Other kinds of
    /// positions have no limit and ignore it.
    pub max_positions: usize,
    /// Number of tokens on either side that encoder self-attention attends to (§4, restricted self-attention;
    /// the paper's `r` is the whole neighborhood, `2·window + 1`). Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder_window: Option<usize>,
    /// Sub-layer by which a decoder layer sees previous tokens: `self_attention`, or `ssru`, a recurrence that decodes
    /// faster. Default: `self_attention` (§3.1).
    #[serde(skip_serializing_if = "is_default")]
    pub decoder_mixing: Mixing,
    /// Number of previous tokens that decoder self-attention attends to (§4). Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoder_window: Option<usize>,
    /// Non-linearity of the feed-forward networks: `relu`, `gelu` or `silu`. Default: `relu` (Eq. 2).
    pub activation: Activation,
    /// True if each hidden feature of the feed-forward networks is multiplied by another product of the input,
    /// `(activation(x·W₁) ∘ x·W₃)·W₂` (Shazeer 2020, GLU variants). Default: false (Eq. 2).
    #[serde(skip_serializing_if = "is_default")]
    pub gated_feed_forward: bool,
    /// True if the four projections of attention have biases. Default: true (as in PyTorch; §3.2.2 of the paper has
    /// matrices only).
    pub attention_bias: bool,
    /// Which of the three vocabulary matrices are tied: `all`, `decoder` (target embedding and projection) or
    /// `none`. Default: `all` (§3.4).
    pub tying: Tying,
    /// True if the pre-softmax projection has a bias. Default: false (§3.4 only shares a matrix; the Annotated
    /// Transformer and Marian have a bias).
    pub output_bias: bool,
    /// True if the encoder reads sources without EOS, as in OpenNMT's models. Such a model can be imported, but not
    /// trained. Default: false.
    #[serde(skip_serializing_if = "is_default")]
    pub src_without_eos: bool,
    /// True if the first vector that the decoder reads is its position alone, without an embedding of `<s>`, as in
    /// Marian. Default: false (§3.1).
    #[serde(skip_serializing_if = "is_default")]
    pub start_from_zeros: bool,
    /// True if embeddings are multiplied by `√d_model`. Default: true (§3.4).
    pub scale_embeddings: bool,
    /// True if the sum of embedding and position is normalized, before dropout, as in BART and mBART. Default: false
    /// (§3.4).
    #[serde(skip_serializing_if = "is_default")]
    pub embedding_norm: bool,
    /// Probability of dropping a feature of a sub-layer's output, and of the sum of embedding and
    /// position. Default 0.1 (§5.4, `P_drop`).
    pub dropout: f64,
    /// Probability of dropping an attention weight. Default 0 (not in the paper).
    pub attention_dropout: f64,
    /// Probability of dropping a feature after the activation. Default 0 (not in the paper).
    pub activation_dropout: f64,
    /// Initial distribution of matrices and embeddings: `xavier` or `bert`. Default: `xavier` (not in the paper).
    pub initialization: Initialization,
}

/// The position of layer normalization in a residual block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NormPlacement {
    /// `LayerNorm(x + Sublayer(x))`, the paper's (§3.1).
    Post,
    /// `x + Sublayer(LayerNorm(x))`, easier to train in deep models; needs `final_norm`.
    Pre,
}

/// Kind of normalization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NormKind {
    /// `(x − mean) / √(variance + ε) ∘ γ + β` (Ba et al. 2016).
    #[default]
    Layer,
    /// `x / √(mean(x²) + ε) ∘ γ` (Zhang and Sennrich 2019), as in T5.
    Rms,
}

/// The sub-layer by which a layer of the decoder sees previous tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mixing {
    /// Masked multi-head attention (§3.2.3).
    #[default]
    SelfAttention,
    /// The simpler simple recurrent unit (Kim et al. 2019, <https://aclanthology.org/D19-5632>), as in Marian. Its
    /// state is one vector per layer, however many tokens have been decoded.
    Ssru,
}

/// Kind of positional encoding (§3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Positions {
    /// `sin` in even features, `cos` in odd ones: the paper's formula as printed.
    Sinusoidal,
    /// All `sin` features, then all `cos` features, as in Marian's models of Hugging Face's Transformers.
    SinusoidalHalves,
    /// As `sinusoidal_halves`, with frequencies from 1 to 1/10000 inclusive, `10000^(−i / (d_model/2 − 1))`, as in
    /// Marian, tensor2tensor and fairseq. With a single frequency, it is 1, as in tensor2tensor.
    SinusoidalHalvesInclusive,
    /// One trained vector per position, separate for the two stacks (Table 3, row E).
    Learned,
    /// No positions: the model sees a bag of tokens.
    None,
}

/// The non-linearity of a feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Activation {
    /// `max(0, x)` (Eq. 2).
    Relu,
    /// `x·Φ(x)` with the exact normal distribution function.
    Gelu,
    /// `x·σ(x)`, also called swish.
    Silu,
}

/// Distribution of matrices and embeddings before training; biases begin with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Initialization {
    /// Xavier-uniform matrices (Glorot and Bengio 2010), and embeddings from `N(0, 1/d_model)`.
    Xavier,
    /// Matrices and embeddings from `N(0, 0.02²)`: the standard deviation is BERT's `initializer_range`. It is not
    /// truncated, as BERT's is, and residual projections are not scaled, as GPT-2's are. Such models have
    /// `scale_embeddings = false` and `positions = "learned"`.
    Bert,
}

/// Sharing of one parameter by the source embedding, the target embedding and the pre-softmax matrix (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tying {
    /// Three separate matrices.
    None,
    /// The target embedding is the pre-softmax matrix; the source has its own.
    Decoder,
    /// One matrix for all three, as in the paper. Needs one vocabulary for both languages.
    All,
}

impl Positions {
    /// Returns whether the vectors are computed from sines and cosines.
    pub const fn is_sinusoidal(self) -> bool {
        !matches!(self, Self::Learned | Self::None)
    }
}

/// Returns whether a setting has its default. Saved models leave such newer settings out, so that older programs read
/// them.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl TransformerConfig {
    /// Returns the paper's base model (Table 3, first row).
    ///
    /// Equal sizes mean one joint vocabulary, as in the paper: all three matrices are tied (§3.4). Otherwise only the
    /// target embedding and the output are tied. If two vocabularies only happen to have equal sizes, set
    /// `tying: Tying::Decoder`.
    pub fn base(src_vocab_size: usize, tgt_vocab_size: usize) -> Self {
        let joint = src_vocab_size == tgt_vocab_size;
        Self {
            src_vocab_size,
            tgt_vocab_size,
            d_model: 512,
            d_ff: 2048,
            n_heads: 8,
            d_k: None,
            d_v: None,
            n_encoder_layers: 6,
            n_decoder_layers: 6,
            norm_placement: NormPlacement::Post,
            final_norm: false,
            norm_kind: NormKind::Layer,
            norm_epsilon: 1e-5,
            positions: Positions::Sinusoidal,
            first_position: 0,
            max_positions: 1024,
            encoder_window: None,
            decoder_mixing: Mixing::SelfAttention,
            decoder_window: None,
            activation: Activation::Relu,
            gated_feed_forward: false,
            attention_bias: true,
            tying: if joint { Tying::All } else { Tying::Decoder },
            output_bias: false,
            src_without_eos: false,
            start_from_zeros: false,
            scale_embeddings: true,
            embedding_norm: false,
            dropout: 0.1,
            attention_dropout: 0.0,
            activation_dropout: 0.0,
            initialization: Initialization::Xavier,
        }
    }

    /// Returns the width of one head's queries and keys.
    pub fn head_d_k(&self) -> usize {
        self.d_k.unwrap_or(self.d_model / self.n_heads)
    }

    /// Returns the width of one head's values.
    pub fn head_d_v(&self) -> usize {
        self.d_v.unwrap_or(self.d_model / self.n_heads)
    }

    /// Returns the maximum length of a sequence, in tokens; `None` if the positions have no limit.
    pub fn position_limit(&self) -> Option<usize> {
        (self.positions == Positions::Learned).then_some(self.max_positions)
    }

    /// Appends EOS to the tokens of a source, unless the model was trained without. A source without tokens always gets
    /// one.
    pub fn end_source(&self, ids: &mut Vec<u32>) {
        if !self.src_without_eos || ids.is_empty() {
            ids.push(EOS);
        }
    }

    /// Returns the number of parameters of the model. Tied matrices count once; biases, positions and final norms count
    /// if the config has them. The config must be valid.
    pub fn parameter_count(&self) -> usize {
        let n_values = |(_, shape): (_, Vec<usize>)| shape.iter().product::<usize>();
        self.parameters().map(n_values).sum()
    }

    /// Checks that every field is in range and that the fields are consistent.
    ///
    /// # Errors
    ///
    /// Returns the first [`ConfigError`]; its message names the field and a valid value.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_sizes()?;
        self.validate_shape()?;
        let probabilities = [
            ("dropout", self.dropout),
            ("attention_dropout", self.attention_dropout),
            ("activation_dropout", self.activation_dropout),
        ];
        for (field, value) in probabilities {
            if !(0.0..1.0).contains(&value) {
                let allowed = "at least 0 and less than 1";
                return Err(ConfigError::OutOfRange {
                    field,
                    value,
                    allowed,
                });
            }
        }
        if !(self.norm_epsilon > 0.0 && self.norm_epsilon < 1.0) {
            return Err(ConfigError::OutOfRange {
                field: "norm_epsilon",
                value: self.norm_epsilon,
                allowed: "more than 0 and less than 1, for example 1e-5",
            });
        }
        Ok(())
    }

    /// Checks the size of a vocabulary, which the error calls `field`.
    pub(crate) fn validate_vocab_size(field: &'static str, size: usize) -> Result<(), ConfigError> {
        match size {
            0 => Err(ConfigError::Zero { field }),
            1..=N_SPECIAL => Err(ConfigError::VocabularyTooSmall { field, size }),
            _ if size > MAX_ROWS => Err(ConfigError::TooLarge {
                field,
                size,
                max: MAX_ROWS,
            }),
            _ => Ok(()),
        }
    }

    fn validate_sizes(&self) -> Result<(), ConfigError> {
        Self::validate_vocab_size("src_vocab_size", self.src_vocab_size)?;
        Self::validate_vocab_size("tgt_vocab_size", self.tgt_vocab_size)?;
        let max_positions = self.position_limit().map_or(usize::MAX, |_| MAX_ROWS);
        let sizes = [
            ("d_model", self.d_model, MAX_FEATURES),
            ("d_ff", self.d_ff, MAX_FEATURES),
            ("n_heads", self.n_heads, MAX_HEADS),
            ("d_k", self.d_k.unwrap_or(1), MAX_FEATURES),
            ("d_v", self.d_v.unwrap_or(1), MAX_FEATURES),
            ("n_encoder_layers", self.n_encoder_layers, MAX_LAYERS),
            ("n_decoder_layers", self.n_decoder_layers, MAX_LAYERS),
            ("max_positions", self.max_positions, max_positions),
        ];
        for (field, size, max) in sizes {
            if size == 0 {
                return Err(ConfigError::Zero { field });
            }
            if size > max {
                return Err(ConfigError::TooLarge { field, size, max });
            }
        }
        if self.first_position > MAX_ROWS {
            return Err(ConfigError::TooLarge {
                field: "first_position",
                size: self.first_position,
                max: MAX_ROWS,
            });
        }
        Ok(())
    }

    fn validate_shape(&self) -> Result<(), ConfigError> {
        let is_divided = self.d_k.is_none() || self.d_v.is_none();
        if is_divided && !self.d_model.is_multiple_of(self.n_heads) {
            return Err(ConfigError::HeadsDoNotDivide {
                n_heads: self.n_heads,
                d_model: self.d_model,
                divisor: nearest_divisor(self.d_model, self.n_heads),
            });
        }
        if self.positions.is_sinusoidal() && !self.d_model.is_multiple_of(2) {
            return Err(ConfigError::OddWidth {
                d_model: self.d_model,
            });
        }
        if self.tying == Tying::All && self.src_vocab_size != self.tgt_vocab_size {
            return Err(ConfigError::TyingAcrossVocabularies {
                src: self.src_vocab_size,
                tgt: self.tgt_vocab_size,
            });
        }
        match (self.decoder_mixing, self.decoder_window) {
            (Mixing::Ssru, Some(window)) => Err(ConfigError::OutOfRange {
                field: "decoder_window",
                value: window as f64,
                allowed: "no window with `decoder_mixing = \"ssru\"`, which has no attention to limit",
            }),
            _ => Ok(()),
        }
    }
}

fn nearest_divisor(of: usize, near: usize) -> usize {
    (1..=of)
        .filter(|n| of.is_multiple_of(*n))
        .min_by_key(|n| n.abs_diff(near))
        .unwrap_or(1)
}
