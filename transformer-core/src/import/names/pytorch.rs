//! [`PytorchNames`]: names of `torch.nn.Transformer`.

use super::layout::{Layout, kind, name_of};
use crate::config::{Linear, Part, Place, Stack, TransformerConfig};

/// Names of the tensors in and around a `torch.nn.Transformer`, which has no embeddings, positions and output
/// itself.
///
/// `None` means that the file has no such tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PytorchNames {
    /// Key prefix of the `nn.Transformer`, without the dot; empty if it was saved alone. Default
    /// `transformer`.
    pub prefix: String,
    /// Source embedding, `[vocab, d_model]`. Default `src_embedding.weight`.
    pub src_embedding: Option<String>,
    /// Target embedding, `[vocab, d_model]`. Default `tgt_embedding.weight`.
    pub tgt_embedding: Option<String>,
    /// Pre-softmax matrix, `[vocab, d_model]`, the weight of an `nn.Linear`. Default `output.weight`.
    pub output: Option<String>,
    /// Learned source positions, `[max_positions, d_model]`. Default: none.
    pub src_positions: Option<String>,
    /// Learned target positions, `[max_positions, d_model]`. Default: none.
    pub tgt_positions: Option<String>,
}

impl Default for PytorchNames {
    fn default() -> Self {
        Self {
            prefix: "transformer".to_owned(),
            src_embedding: Some("src_embedding.weight".to_owned()),
            tgt_embedding: Some("tgt_embedding.weight".to_owned()),
            output: Some("output.weight".to_owned()),
            src_positions: None,
            tgt_positions: None,
        }
    }
}

/// Returns the name and the layout of a parameter's tensor.
pub(super) fn source(
    names: &PytorchNames,
    parameter: Place,
    config: &TransformerConfig,
) -> Option<(String, Layout)> {
    let of_user = |name: &Option<String>| Some((name.clone()?, Layout::Same));
    let mut layout = Layout::of(parameter, config);
    let module = match parameter {
        Place::SrcVocabulary => return of_user(&names.src_embedding),
        Place::TgtVocabulary => return of_user(&names.tgt_embedding),
        Place::Output => return of_user(&names.output),
        Place::OutputBias => {
            let linear = names.output.as_deref()?.strip_suffix("weight")?;
            return Some((format!("{linear}bias"), Layout::Same));
        }
        Place::Positions(Stack::Encoder) => return of_user(&names.src_positions),
        Place::Positions(Stack::Decoder) => return of_user(&names.tgt_positions),
        Place::EmbeddingNorm(..) => return None,
        Place::Matrix(at, linear) | Place::Bias(at, linear) => {
            let attention = match at.part {
                Part::SelfAttention => "self_attn.",
                Part::Recurrence => return None,
                Part::CrossAttention => "multihead_attn.",
                Part::FeedForward => "",
            };
            let inputs = [Linear::Query, Linear::Key, Linear::Value];
            if inputs.contains(&linear) {
                layout = Layout::linear(linear, &inputs, config);
            }
            let others = [
                (Linear::Output, "out_proj."),
                (Linear::Inner, "linear1."),
                (Linear::Outer, "linear2."),
            ];
            let names = inputs.map(|it| (it, "in_proj_")).into_iter().chain(others);
            let linear = name_of(linear, names)?;
            format!("{at}.{attention}{linear}")
        }
        Place::Norm(at, _) => format!("{at}.norm{}.", at.index() + 1),
        Place::FinalNorm(stack, _) => format!("{stack}.norm."),
    };
    let dot = if names.prefix.is_empty() { "" } else { "." };
    Some((
        format!("{}{dot}{module}{}", names.prefix, kind(parameter)),
        layout,
    ))
}
