//! [`Names`]: the naming conventions of state dicts.

use super::layout::Layout;
use super::{annotated, marian, pytorch};
use crate::config::{Place, TransformerConfig};

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
    /// `MarianMTModel` of Hugging Face's Transformers, after its vocabulary is in our order and its bias is
    /// named `lm_head.bias`; [`Marian`](crate::import::Marian) does both. `PegasusForConditionalGeneration` has the
    /// same names, those of the final normalizations, and tables of positions,
    /// `model.{encoder,decoder}.embed_positions.weight`, which must be taken out before.
    Marian,
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

impl Names {
    /// Returns the key and the layout of the tensor from which a parameter is loaded; `None` if this convention has no
    /// name for it.
    pub(crate) fn source(
        &self,
        place: Place,
        config: &TransformerConfig,
    ) -> Option<(String, Layout)> {
        match self {
            Self::Pytorch(names) => pytorch::source(names, place, config),
            Self::Annotated => annotated::source(place, config),
            Self::Marian => marian::source(place, config),
        }
    }
}
