//! Marian's own names, in its binary format.

use super::layout::{Layout, name_of};
use crate::config::{Linear, Part, Place, TransformerConfig, Tying, Vector};

/// Returns the name and the layout of a parameter's tensor. Matrices are `[in, out]`, as the parameters.
pub(super) fn source(parameter: Place, config: &TransformerConfig) -> Option<(String, Layout)> {
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

/// Returns the name of a sub-layer.
const fn part(part: Part) -> &'static str {
    match part {
        Part::SelfAttention => "self",
        Part::CrossAttention => "context",
        Part::FeedForward => "ffn",
        Part::Recurrence => "rnn",
    }
}
