//! [`Names`]: the naming conventions of state dicts, and [`PytorchNames`] of `torch.nn.Transformer`.

use super::layout::{Layout, kind, name_of};
use super::programs::{annotated, ctranslate2, marian, marian_binary};
use crate::config::{Linear, Part, Place, Stack, TransformerConfig};

/// The naming convention of a state dict.
///
/// `docs/importing.md` has the whole table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// `torch.nn.Transformer` (`self_attn.in_proj_weight`, `linear1`, `norm1`), with embeddings and output
    /// under names of the user's choice.
    Pytorch(PytorchNames),
    /// harvardnlp's Annotated Transformer (`self_attn.linears.0`, `feed_forward.w_1`, `norm.a_2`).
    Annotated,
    /// `MarianMTModel` of Hugging Face's Transformers, after its vocabulary is in our order and its bias is named
    /// `lm_head.bias`; [`Marian`](crate::import::Marian) does both. `PegasusForConditionalGeneration` has the same
    /// names, and also final normalizations and tables of positions; the tables,
    /// `model.{encoder,decoder}.embed_positions.weight`, must be removed first.
    Marian,
    /// Marian itself (`encoder_l1_self_Wq`), in its binary format, after [`Marian`](crate::import::Marian) has put the
    /// vocabulary in our order.
    MarianBinary,
    /// CTranslate2 (`encoder/layer_0/self_attention/linear_0/weight`), in its binary format. A matrix that the config ties
    /// has the name of the target embedding.
    CTranslate2,
}

impl Names {
    /// Returns the key and the layout of the tensor from which a parameter is loaded; `None` if this convention has no
    /// name for it.
    pub(crate) fn source(
        &self,
        parameter: Place,
        config: &TransformerConfig,
    ) -> Option<(String, Layout)> {
        match self {
            Self::Pytorch(names) => pytorch(names, parameter, config),
            Self::Annotated => annotated(parameter, config),
            Self::Marian => marian(parameter, config),
            Self::CTranslate2 => ctranslate2(parameter, config),
            Self::MarianBinary => marian_binary(parameter, config),
        }
    }
}

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

fn pytorch(
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
