//! [`Names`]: the naming conventions of state dicts.

use super::layout::{Layout, SourceTensor};
use super::{annotated, marian, pytorch};
use crate::config::TransformerConfig;

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
    /// Returns the key and the layout of the tensor from which our parameter is loaded; `None` if this
    /// convention has no name for it.
    pub(crate) fn source_tensor(
        &self,
        parameter: &str,
        config: &TransformerConfig,
    ) -> Option<SourceTensor> {
        if parameter == "output_bias" {
            let name = self.output_bias()?;
            let layout = Layout::Same;
            return Some(SourceTensor { name, layout });
        }
        let path: Vec<&str> = parameter.split('.').collect();
        if let Some(name) = self.outside_of_layers(parameter) {
            return Some(SourceTensor {
                name: name.to_owned(),
                layout: Layout::Same,
            });
        }
        match self {
            Self::Pytorch(names) => {
                let (name, layout) = pytorch::layer(&path, config)?;
                let prefix = &names.prefix;
                let dot = if prefix.is_empty() { "" } else { "." };
                let name = format!("{prefix}{dot}{name}");
                Some(SourceTensor { name, layout })
            }
            Self::Annotated => {
                let (name, layout) = annotated::layer(&path, config)?;
                Some(SourceTensor { name, layout })
            }
            Self::Marian => {
                let (name, layout) = marian::layer(&path)?;
                Some(SourceTensor { name, layout })
            }
        }
    }

    /// Returns the key of the output's bias: that of its weight, with `bias` instead of `weight`.
    pub(in crate::import) fn output_bias(&self) -> Option<String> {
        let linear = self
            .outside_of_layers("output.weight")?
            .strip_suffix("weight")?;
        Some(format!("{linear}bias"))
    }

    /// Returns the key of a parameter outside the encoder and decoder layers.
    pub(in crate::import) fn outside_of_layers(&self, parameter: &str) -> Option<&str> {
        match (self, parameter) {
            (Self::Pytorch(names), "src_vocabulary.weight") => names.src_embedding.as_deref(),
            (Self::Pytorch(names), "tgt_vocabulary.weight") => names.tgt_embedding.as_deref(),
            (Self::Pytorch(names), "output.weight") => names.output.as_deref(),
            (Self::Pytorch(names), "src_positions.learned") => names.src_positions.as_deref(),
            (Self::Pytorch(names), "tgt_positions.learned") => names.tgt_positions.as_deref(),
            (Self::Annotated, "src_vocabulary.weight") => Some("src_embed.0.lut.weight"),
            (Self::Annotated, "tgt_vocabulary.weight") => Some("tgt_embed.0.lut.weight"),
            (Self::Annotated, "output.weight") => Some("generator.proj.weight"),
            (Self::Marian, "src_vocabulary.weight") => Some("model.encoder.embed_tokens.weight"),
            (Self::Marian, "tgt_vocabulary.weight") => Some("model.decoder.embed_tokens.weight"),
            (Self::Marian, "output.weight") => Some("lm_head.weight"),
            _ => None,
        }
    }
}
