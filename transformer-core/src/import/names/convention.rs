//! [`Names`]: the naming conventions of state dicts.

use super::layout::Layout;
use super::pytorch::{self, PytorchNames};
use super::{annotated, ctranslate2, marian, marian_binary};
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
            Self::Pytorch(names) => pytorch::source(names, parameter, config),
            Self::Annotated => annotated::source(parameter, config),
            Self::Marian => marian::source(parameter, config),
            Self::CTranslate2 => ctranslate2::source(parameter, config),
            Self::MarianBinary => marian_binary::source(parameter, config),
        }
    }
}
