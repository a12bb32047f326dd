//! Names of harvardnlp's Annotated Transformer.

use super::layout::{Layout, kind, name_of};
use crate::config::{Linear, Part, Place, TransformerConfig, Vector};

/// Returns the name and the layout of a parameter's tensor.
pub(super) fn source(parameter: Place, config: &TransformerConfig) -> Option<(String, Layout)> {
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
