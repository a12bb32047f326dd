//! Names that programs give to the parameters of a model, each a function from a parameter's place to the name and the
//! layout of its tensor.

use super::layout::{Layout, kind, name_of};
use crate::config::{Linear, Part, Place, Positions, SubLayer, TransformerConfig, Tying, Vector};

/// Name of the target embedding, which other matrices may share.
pub(crate) const TGT_EMBEDDING: &str = "decoder/embeddings/weight";
pub(crate) const SRC_EMBEDDING: &str = "encoder/embeddings_0/weight";
pub(crate) const PROJECTION: &str = "decoder/projection/weight";
pub(crate) const OUTPUT_BIAS: &str = "decoder/projection/bias";

/// Returns the tensor of a parameter in harvardnlp's Annotated Transformer.
pub(super) fn annotated(parameter: Place, config: &TransformerConfig) -> Option<(String, Layout)> {
    let (kind, layout) = match parameter {
        Place::Norm(_, Vector::Gain) | Place::FinalNorm(_, Vector::Gain) => {
            // The Annotated Transformer divides by the sample standard deviation, √(n/(n−1)) times the biased one.
            let n = config.d_model as f64;
            ("a_2", Layout::Scaled(((n - 1.0) / n).sqrt()))
        }
        Place::Norm(..) | Place::FinalNorm(..) => ("b_2", Layout::Same),
        _ => (kind(parameter), Layout::of(parameter, config)),
    };
    let module = match parameter {
        Place::SrcVocabulary => "src_embed.0.lut".to_owned(),
        Place::TgtVocabulary => "tgt_embed.0.lut".to_owned(),
        Place::Output | Place::OutputBias => "generator.proj".to_owned(),
        Place::Positions(_) | Place::EmbeddingNorm(..) => return None,
        Place::Matrix(at, linear) | Place::Bias(at, linear) => {
            let block = match at.part {
                Part::SelfAttention => "self_attn",
                Part::Recurrence => return None,
                Part::CrossAttention => "src_attn",
                Part::FeedForward => "feed_forward",
            };
            let linears = [
                (Linear::Query, "linears.0"),
                (Linear::Key, "linears.1"),
                (Linear::Value, "linears.2"),
                (Linear::Output, "linears.3"),
                (Linear::Inner, "w_1"),
                (Linear::Outer, "w_2"),
            ];
            let linear = name_of(linear, linears)?;
            format!("{at}.{block}.{linear}")
        }
        Place::Norm(at, _) => format!("{at}.sublayer.{}.norm", at.index()),
        Place::FinalNorm(stack, _) => format!("{stack}.norm"),
    };
    Some((format!("{module}.{kind}"), layout))
}

/// Returns the tensor of a parameter in CTranslate2. Linear layers with the same input share one tensor.
pub(super) fn ctranslate2(
    parameter: Place,
    config: &TransformerConfig,
) -> Option<(String, Layout)> {
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

/// Returns the tensor of a parameter in `MarianMTModel`, `M2M100ForConditionalGeneration`,
/// `MBartForConditionalGeneration`, `BartForConditionalGeneration` and `PegasusForConditionalGeneration` of Hugging Face's
/// Transformers.
pub(super) fn marian(parameter: Place, config: &TransformerConfig) -> Option<(String, Layout)> {
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

/// Returns the tensor of a parameter in Marian's binary format. Matrices are `[in, out]`, as the parameters.
pub(super) fn marian_binary(
    parameter: Place,
    config: &TransformerConfig,
) -> Option<(String, Layout)> {
    let name = match parameter {
        Place::SrcVocabulary | Place::TgtVocabulary | Place::Output
            if config.tying == Tying::All =>
        {
            "Wemb".to_owned()
        }
        Place::SrcVocabulary => "encoder_Wemb".to_owned(),
        Place::TgtVocabulary | Place::Output => "decoder_Wemb".to_owned(),
        Place::OutputBias => "decoder_ff_logit_out_b".to_owned(),
        Place::Positions(_) | Place::EmbeddingNorm(..) | Place::FinalNorm(..) => return None,
        Place::Matrix(at, linear) | Place::Bias(at, linear) => {
            let kind = match parameter {
                Place::Matrix(..) => 'W',
                _ => 'b',
            };
            let linears = [
                (Linear::Query, "q"),
                (Linear::Key, "k"),
                (Linear::Value, "v"),
                (Linear::Output, "o"),
                (Linear::Inner, "1"),
                (Linear::Outer, "2"),
                (Linear::Candidate, ""),
                (Linear::Forget, "f"),
            ];
            let linear = name_of(linear, linears)?;
            format!(
                "{}_l{}_{}_{kind}{linear}",
                at.stack,
                at.layer + 1,
                part(at.part)
            )
        }
        Place::Norm(at, vector) => {
            let last = match at.part {
                Part::SelfAttention | Part::CrossAttention => "Wo",
                Part::FeedForward | Part::Recurrence => "ffn",
            };
            let vector = match vector {
                Vector::Gain => "scale",
                Vector::Offset => "bias",
            };
            format!(
                "{}_l{}_{}_{last}_ln_{vector}",
                at.stack,
                at.layer + 1,
                part(at.part)
            )
        }
    };
    Some((name, Layout::Same))
}

const fn part(part: Part) -> &'static str {
    match part {
        Part::SelfAttention => "self",
        Part::CrossAttention => "context",
        Part::FeedForward => "ffn",
        Part::Recurrence => "rnn",
    }
}
