//! CTranslate2's names.

use super::layout::{Layout, kind};
use crate::config::{Linear, Part, Place, SubLayer, TransformerConfig, Tying};

/// Name of the target embedding, which other matrices may share.
pub(crate) const TGT_EMBEDDING: &str = "decoder/embeddings/weight";
pub(crate) const SRC_EMBEDDING: &str = "encoder/embeddings_0/weight";
pub(crate) const PROJECTION: &str = "decoder/projection/weight";
pub(crate) const OUTPUT_BIAS: &str = "decoder/projection/bias";

/// Returns the name and the layout of a parameter's tensor. Linear layers with the same input share one tensor.
pub(super) fn source(parameter: Place, config: &TransformerConfig) -> Option<(String, Layout)> {
    let block = |at: SubLayer| {
        let part = match at.part {
            Part::SelfAttention => "self_attention",
            Part::Recurrence => return None,
            Part::CrossAttention => "attention",
            Part::FeedForward => "ffn",
        };
        Some(format!("{}/layer_{}/{part}", at.stack, at.layer))
    };
    let name = match parameter {
        Place::SrcVocabulary if config.tying != Tying::All => SRC_EMBEDDING.to_owned(),
        Place::SrcVocabulary | Place::TgtVocabulary => TGT_EMBEDDING.to_owned(),
        Place::Output => PROJECTION.to_owned(),
        Place::OutputBias => OUTPUT_BIAS.to_owned(),
        Place::Positions(stack) => format!("{stack}/position_encodings/encodings"),
        Place::EmbeddingNorm(stack, vector) => format!("{stack}/layernorm_embedding/{vector}"),
        Place::Norm(at, vector) => format!("{}/layer_norm/{vector}", block(at)?),
        Place::FinalNorm(stack, vector) => format!("{stack}/layer_norm/{vector}"),
        Place::Matrix(at, linear) | Place::Bias(at, linear) => {
            use Linear::{Gate, Inner, Key, Outer, Output, Query, Value};
            let (index, all): (_, &[Linear]) = match (at.part, linear) {
                (Part::SelfAttention, Query | Key | Value) => ("0", &[Query, Key, Value]),
                (Part::SelfAttention, _) => ("1", &[Output]),
                (Part::CrossAttention, Query) => ("0", &[Query]),
                (Part::CrossAttention, Key | Value) => ("1", &[Key, Value]),
                (Part::CrossAttention, _) => ("2", &[Output]),
                (Part::FeedForward, Outer) => ("1", &[Outer]),
                (Part::FeedForward, Gate) => ("0_noact", &[Gate]),
                (Part::FeedForward | Part::Recurrence, _) => ("0", &[Inner]),
            };
            let name = format!("{}/linear_{index}/{}", block(at)?, kind(parameter));
            return Some((name, Layout::linear(linear, all, config)));
        }
    };
    Some((name, Layout::Same))
}
