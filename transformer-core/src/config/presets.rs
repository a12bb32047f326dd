//! [`Preset`]: named configurations, among them every row of the paper's Table 3.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::{Mixing, NormPlacement, Positions, TransformerConfig, Tying};

/// A named configuration.
///
/// The name of a row of Table 3 is its letter and the changed value: `a-h4` is row (A) with four heads.
///
/// # Example
///
/// ```
/// use transformer_core::Preset;
///
/// let preset: Preset = "b-dk16".parse()?;
/// assert_eq!(preset.config(37_000, 37_000).d_k, Some(16));
/// # Ok::<(), transformer_core::config::PresetError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Preset {
    /// A model for the built-in tasks. It has no dropout because their data is unlimited.
    Numbers,
    /// A model for tens of thousands of sentences: [`TransformerConfig::tiny`] with pre-norm, final normalizations and
    /// dropout 0.2.
    Tiny,
    /// [`TransformerConfig::tiny`] with dropout 0.3, as Wu et al. 2021 trained it on Multi30k.
    Multi30k,
    /// A model for hundreds of thousands of sentences: fairseq's `transformer_iwslt_de_en`.
    Iwslt,
    /// Table 3, base: [`TransformerConfig::base`].
    #[default]
    Base,
    /// Table 3, big: [`TransformerConfig::big`].
    Big,
    /// Table 3 (A): one head of 512.
    #[serde(rename = "a-h1")]
    AHeads1,
    /// Table 3 (A): 4 heads of 128.
    #[serde(rename = "a-h4")]
    AHeads4,
    /// Table 3 (A): 16 heads of 32.
    #[serde(rename = "a-h16")]
    AHeads16,
    /// Table 3 (A): 32 heads of 16.
    #[serde(rename = "a-h32")]
    AHeads32,
    /// Table 3 (B): keys of 16, values as in base.
    #[serde(rename = "b-dk16")]
    BKeys16,
    /// Table 3 (B): keys of 32, values as in base.
    #[serde(rename = "b-dk32")]
    BKeys32,
    /// Table 3 (C): 2 layers on each side.
    #[serde(rename = "c-n2")]
    CLayers2,
    /// Table 3 (C): 4 layers on each side.
    #[serde(rename = "c-n4")]
    CLayers4,
    /// Table 3 (C): 8 layers on each side.
    #[serde(rename = "c-n8")]
    CLayers8,
    /// Table 3 (C): `d_model` 256, heads of 32.
    #[serde(rename = "c-d256")]
    CModel256,
    /// Table 3 (C): `d_model` 1024, heads of 128.
    #[serde(rename = "c-d1024")]
    CModel1024,
    /// Table 3 (C): `d_ff` 1024.
    #[serde(rename = "c-ff1024")]
    CInner1024,
    /// Table 3 (C): `d_ff` 4096.
    #[serde(rename = "c-ff4096")]
    CInner4096,
    /// Table 3 (D): no dropout.
    #[serde(rename = "d-dropout0.0")]
    DDropout0,
    /// Table 3 (D): dropout 0.2.
    #[serde(rename = "d-dropout0.2")]
    DDropout2,
    /// Table 3 (D): no label smoothing, which is a setting of training.
    #[serde(rename = "d-smoothing0.0")]
    DSmoothing0,
    /// Table 3 (D): label smoothing 0.2, which is a setting of training.
    #[serde(rename = "d-smoothing0.2")]
    DSmoothing2,
    /// Table 3 (E): learned positions.
    ELearned,
    /// The defaults of `torch.nn.Transformer`: post-norm stacks with a final normalization.
    Pytorch,
    /// The Annotated Transformer (<https://nlp.seas.harvard.edu/annotated-transformer/>): pre-norm, three
    /// separate vocabulary matrices, and a bias at the output.
    Annotated,
    /// Attention without biases, as in §3.2.2; three separate vocabulary matrices, unscaled embeddings.
    BiasFree,
    /// The model that Firefox Translations calls tiny, for translations by a larger model: 6 + 2 layers, `d_model` 256,
    /// `d_ff` 1536, a recurrence in the decoder, no dropout and no label smoothing. It can be exported for Bergamot.
    FirefoxTiny,
}

/// There is no preset of this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no preset `{name}`; choose one of {}", names())]
pub struct PresetError {
    /// The name given.
    pub name: String,
}

impl Preset {
    /// All presets, with the rows of Table 3 in the paper's order.
    pub const ALL: [Self; 28] = [
        Self::Numbers,
        Self::Tiny,
        Self::Multi30k,
        Self::Iwslt,
        Self::Base,
        Self::AHeads1,
        Self::AHeads4,
        Self::AHeads16,
        Self::AHeads32,
        Self::BKeys16,
        Self::BKeys32,
        Self::CLayers2,
        Self::CLayers4,
        Self::CLayers8,
        Self::CModel256,
        Self::CModel1024,
        Self::CInner1024,
        Self::CInner4096,
        Self::DDropout0,
        Self::DDropout2,
        Self::DSmoothing0,
        Self::DSmoothing2,
        Self::ELearned,
        Self::Big,
        Self::Pytorch,
        Self::Annotated,
        Self::BiasFree,
        Self::FirefoxTiny,
    ];

    /// Returns the label smoothing of the preset: 0.1 (§5.4), except for two rows (D) and `firefox-tiny`.
    pub fn label_smoothing(self) -> f64 {
        match self {
            Self::DSmoothing0 | Self::FirefoxTiny => 0.0,
            Self::DSmoothing2 => 0.2,
            _ => 0.1,
        }
    }

    /// Returns the configuration that the preset modifies.
    fn base_config(self, src_vocab_size: usize, tgt_vocab_size: usize) -> TransformerConfig {
        let tiny = TransformerConfig::tiny(src_vocab_size, tgt_vocab_size);
        match self {
            Self::Numbers => TransformerConfig {
                d_model: 64,
                d_ff: 128,
                n_heads: 2,
                n_encoder_layers: 2,
                n_decoder_layers: 2,
                attention_bias: false,
                dropout: 0.0,
                ..tiny
            },
            Self::Tiny | Self::Multi30k => tiny,
            Self::FirefoxTiny => TransformerConfig {
                d_model: 256,
                d_ff: 1536,
                n_decoder_layers: 2,
                norm_epsilon: 1e-6,
                positions: Positions::SinusoidalHalvesInclusive,
                decoder_mixing: Mixing::Ssru,
                output_bias: true,
                start_from_zeros: true,
                dropout: 0.0,
                ..TransformerConfig::base(src_vocab_size, tgt_vocab_size)
            },
            Self::Big => TransformerConfig::big(src_vocab_size, tgt_vocab_size),
            _ => TransformerConfig::base(src_vocab_size, tgt_vocab_size),
        }
    }

    /// Returns the configuration for vocabularies of these sizes; equal sizes mean one joint vocabulary, as in `base`.
    pub fn config(self, src_vocab_size: usize, tgt_vocab_size: usize) -> TransformerConfig {
        let mut config = self.base_config(src_vocab_size, tgt_vocab_size);
        let set_layers = |config: &mut TransformerConfig, n_layers| {
            config.n_encoder_layers = n_layers;
            config.n_decoder_layers = n_layers;
        };
        match self {
            Self::Numbers | Self::FirefoxTiny => {}
            Self::Tiny => {
                config.norm_placement = NormPlacement::Pre;
                config.final_norm = true;
                config.dropout = 0.2;
            }
            Self::Base | Self::Big | Self::DSmoothing0 | Self::DSmoothing2 => {}
            Self::Multi30k => config.dropout = 0.3,
            Self::Iwslt => {
                config.d_ff = 1024;
                config.n_heads = 4;
                config.dropout = 0.3;
            }
            Self::AHeads1 => config.n_heads = 1,
            Self::AHeads4 => config.n_heads = 4,
            Self::AHeads16 => config.n_heads = 16,
            Self::AHeads32 => config.n_heads = 32,
            Self::BKeys16 => config.d_k = Some(16),
            Self::BKeys32 => config.d_k = Some(32),
            Self::CLayers2 => set_layers(&mut config, 2),
            Self::CLayers4 => set_layers(&mut config, 4),
            Self::CLayers8 => set_layers(&mut config, 8),
            // Still 8 heads, so d_k = d_v = d_model / 8, as in the table.
            Self::CModel256 => config.d_model = 256,
            Self::CModel1024 => config.d_model = 1024,
            Self::CInner1024 => config.d_ff = 1024,
            Self::CInner4096 => config.d_ff = 4096,
            Self::DDropout0 => config.dropout = 0.0,
            Self::DDropout2 => config.dropout = 0.2,
            Self::ELearned => config.positions = Positions::Learned,
            Self::Pytorch => {
                config.final_norm = true;
                config.attention_dropout = config.dropout;
                config.activation_dropout = config.dropout;
            }
            Self::Annotated => {
                config.attention_dropout = config.dropout;
                config.activation_dropout = config.dropout;
                // The Annotated Transformer adds 1e-6 to the standard deviation; this is closest where that is 1.
                config.norm_epsilon = 2e-6;
                config.norm_placement = NormPlacement::Pre;
                config.final_norm = true;
                config.tying = Tying::None;
                config.output_bias = true;
            }
            Self::BiasFree => {
                config.attention_bias = false;
                config.tying = Tying::None;
                config.scale_embeddings = false;
            }
        }
        config
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Preset {
    type Err = PresetError;

    fn from_str(name: &str) -> Result<Self, PresetError> {
        let named: StrDeserializer<'_, Error> = name.into_deserializer();
        Self::deserialize(named).map_err(|_| PresetError {
            name: name.to_owned(),
        })
    }
}

fn names() -> String {
    Preset::ALL.map(|preset| preset.to_string()).join(", ")
}

impl Default for TransformerConfig {
    /// Returns the paper's base model over its shared vocabulary of 37,000 tokens (§5.1).
    fn default() -> Self {
        Self::base(37_000, 37_000)
    }
}

impl TransformerConfig {
    /// Returns the paper's big model (Table 3, last row); equal sizes mean one joint vocabulary, as in `base`.
    pub fn big(src_vocab_size: usize, tgt_vocab_size: usize) -> Self {
        Self {
            d_model: 1024,
            d_ff: 4096,
            n_heads: 16,
            dropout: 0.3,
            ..Self::base(src_vocab_size, tgt_vocab_size)
        }
    }

    /// Returns a model for tens of thousands of sentences: 4 + 4 layers, `d_model` 128, `d_ff` 256,
    /// 4 heads, the shape of Wu et al. 2021, "Good for Misconceived Reasons"
    /// (<https://arxiv.org/abs/2105.14462>), with dropout 0.1; equal sizes mean one joint vocabulary, as in `base`.
    ///
    /// It is post-norm, as in the paper; [`Preset::Tiny`] has pre-norm, final normalizations and dropout 0.2.
    pub fn tiny(src_vocab_size: usize, tgt_vocab_size: usize) -> Self {
        Self {
            d_model: 128,
            d_ff: 256,
            n_heads: 4,
            n_encoder_layers: 4,
            n_decoder_layers: 4,
            ..Self::base(src_vocab_size, tgt_vocab_size)
        }
    }
}
