//! What threads can share: checked by the compiler.

use transformer_core::directory::{ModelDirectory, Tokenizers};
use transformer_core::model::{
    Decoder, Encoder, EncoderLayer, FeedForward, KeyValues, LayerNorm, MultiHeadAttention,
    PositionalEncoding, Residual, VocabularyMatrix,
};
use transformer_core::packed::PackedState;
use transformer_core::text::Tokenizer;
use transformer_core::{
    AttentionMaps, AttentionMasks, ConfigError, DecoderState, LoadError, Mask, Memory,
    PackedTransformer, Padded, Transformer, TransformerConfig,
};

/// Compiles for types that threads can share by reference, and send to each other.
const fn is_shared<T: Send + Sync>() {}

#[test]
fn threads_can_share_models_and_their_layers() {
    is_shared::<Transformer>();
    is_shared::<PackedTransformer>();
    is_shared::<Encoder>();
    is_shared::<Decoder>();
    is_shared::<EncoderLayer>();
    is_shared::<MultiHeadAttention>();
    is_shared::<FeedForward>();
    is_shared::<LayerNorm>();
    is_shared::<Residual>();
    is_shared::<PositionalEncoding>();
    is_shared::<VocabularyMatrix>();
}

#[test]
fn threads_can_share_batches_masks_and_states() {
    is_shared::<Padded>();
    is_shared::<Memory>();
    is_shared::<DecoderState>();
    is_shared::<KeyValues>();
    is_shared::<PackedState>();
    is_shared::<Mask>();
    is_shared::<AttentionMasks>();
    is_shared::<AttentionMaps>();
}

#[test]
fn threads_can_share_tokenizers_directories_configs_and_errors() {
    is_shared::<Tokenizer>();
    is_shared::<Tokenizers>();
    is_shared::<ModelDirectory>();
    is_shared::<TransformerConfig>();
    is_shared::<ConfigError>();
    is_shared::<LoadError>();
}
