//! The network of §3, as the paper has it: no text, only ids, masks and features.

mod attention;
mod decoder;
mod dropout;
mod embedding;
mod encoder;
mod feed_forward;
mod init;
mod key_values;
mod linear;
mod mask;
mod masked_softmax;
mod masks_and_maps;
mod memory;
mod norm;
mod position;
mod pretrained_embeddings;
mod recording;
mod residual;
mod state;
mod transformer;

pub use attention::{AttentionConfig, MultiHeadAttention};
pub use decoder::Decoder;
pub use embedding::VocabularyMatrix;
pub use encoder::{Encoder, EncoderLayer};
pub use feed_forward::FeedForward;
pub use key_values::KeyValues;
pub use mask::{AttentionMasks, Mask};
pub use memory::Memory;
pub use norm::LayerNorm;
pub(crate) use position::sinusoid_table;
pub use position::{PositionalEncoding, sinusoids};
pub use recording::AttentionMaps;
pub use residual::Residual;
pub use state::DecoderState;
pub use transformer::Transformer;
