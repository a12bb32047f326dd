//! The network of §3: no text in here, only ids, masks and features.

mod attention;
mod attention_maps;
mod decoder;
mod dropout;
mod embedding;
mod encoder;
mod feed_forward;
mod linear;
mod mask;
mod memory;
mod norm;
mod position;
mod residual;
mod state;
mod transformer;

pub use attention::{AttentionConfig, KeyValues, MultiHeadAttention};
pub use attention_maps::{AttentionMaps, AttentionMasks};
pub use dropout::seed_dropout;
pub use mask::Mask;
pub use memory::Memory;
pub use position::sinusoids;
pub(crate) use position::table as position_table;
pub use state::DecoderState;
pub use transformer::Transformer;
