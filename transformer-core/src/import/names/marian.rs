//! Names of `MarianMTModel`, `M2M100ForConditionalGeneration`, `MBartForConditionalGeneration`,
//! `BartForConditionalGeneration` and `PegasusForConditionalGeneration` in Hugging Face's Transformers.

use super::layout::{Layout, kind, name_of};
use crate::config::{Linear, Part, Place, Positions, TransformerConfig};

/// Returns the name and the layout of a parameter's tensor.
pub(super) fn source(parameter: Place, config: &TransformerConfig) -> Option<(String, Layout)> {
    let module = match parameter {
        Place::SrcVocabulary => "model.encoder.embed_tokens".to_owned(),
        Place::TgtVocabulary => "model.decoder.embed_tokens".to_owned(),
        Place::Output | Place::OutputBias => "lm_head".to_owned(),
        // Others are computed.
        Place::Positions(stack) if config.positions == Positions::Learned => {
            format!("model.{stack}.embed_positions")
        }
        Place::Positions(_) => return None,
        Place::Matrix(at, linear) | Place::Bias(at, linear) => {
            let attention = match at.part {
                Part::SelfAttention => "self_attn.",
                Part::Recurrence => return None,
                Part::CrossAttention => "encoder_attn.",
                Part::FeedForward => "",
            };
            let linears = [
                (Linear::Query, "q_proj"),
                (Linear::Key, "k_proj"),
                (Linear::Value, "v_proj"),
                (Linear::Output, "out_proj"),
                (Linear::Inner, "fc1"),
                (Linear::Outer, "fc2"),
            ];
            let linear = name_of(linear, linears)?;
            format!("model.{at}.{attention}{linear}")
        }
        Place::Norm(at, _) => {
            let norm = match at.part {
                Part::SelfAttention => "self_attn_layer_norm",
                Part::Recurrence => return None,
                Part::CrossAttention => "encoder_attn_layer_norm",
                Part::FeedForward => "final_layer_norm",
            };
            format!("model.{at}.{norm}")
        }
        // Marian's own models have neither.
        Place::FinalNorm(stack, _) => format!("model.{stack}.layer_norm"),
        Place::EmbeddingNorm(stack, _) => format!("model.{stack}.layernorm_embedding"),
    };
    Some((
        format!("{module}.{}", kind(parameter)),
        Layout::of(parameter, config),
    ))
}
