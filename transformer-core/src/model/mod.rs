//! The network of §3, as in the paper: no text, only ids, masks and features.

#[cfg(test)]
mod adapted_tests;
mod adapters;
mod attention;
mod decoder;
mod dropout;
mod embedded;
mod embedding;
mod encoder;
mod feed_forward;
mod init;
mod key_values;
mod language_model;
mod linear;
mod low_rank;
mod mask;
mod masked_softmax;
mod masks_and_maps;
mod matmul;
mod memory;
mod named_parameters;
mod norm;
mod position;
mod recomputation;
mod recording;
mod recurrence;
mod residual;
mod state;
mod trained_tokens;
mod transformer;

#[doc(hidden)]
pub use attention::ProjectionActivations;
pub use attention::{AttentionConfig, MultiHeadAttention};
pub use decoder::Decoder;
#[doc(hidden)]
pub use embedding::{MatrixParts, VocabularyMatrix};
pub use encoder::{Encoder, EncoderLayer};
pub use feed_forward::FeedForward;
#[doc(hidden)]
pub use key_values::KeyValues;
pub use language_model::LanguageModel;
pub use mask::{AttentionMasks, Mask};
#[doc(hidden)]
pub use matmul::MatmulPrecision;
pub use memory::Memory;
pub(crate) use named_parameters::named_parameters;
pub use norm::LayerNorm;
pub(crate) use position::sinusoid_table;
pub use position::{PositionalEncoding, sinusoids};
#[doc(hidden)]
pub use recomputation::RecomputedPass;
pub use recording::AttentionMaps;
#[doc(hidden)]
pub use residual::Residual;
pub use state::DecoderState;
pub use transformer::Transformer;
