//! [`Names`]: what the parameters of a Transformer are called elsewhere.

use super::marian::marian;
use crate::config::TransformerConfig;

/// Names the convention that a state dict follows.
///
/// `docs/importing.md` has the whole table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// `torch.nn.Transformer` (`self_attn.in_proj_weight`, `linear1`, `norm1`), with what its user put
    /// around it.
    Pytorch(PytorchNames),
    /// harvardnlp's Annotated Transformer (`self_attn.linears.0`, `feed_forward.w_1`, `norm.a_2`).
    Annotated,
    /// `MarianMTModel` of Hugging Face's Transformers, once its vocabulary is in our order and its bias has
    /// the name `lm_head.bias`: [`Marian`](super::Marian) sees to both.
    Marian,
}

/// Says where the stacks of a `torch.nn.Transformer` are, and what it has none of: embeddings, positions
/// and output.
///
/// `None` means that the file has no such tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PytorchNames {
    /// The path of the `nn.Transformer` itself; empty if it was saved alone. Default `transformer`.
    pub stacks: String,
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
            stacks: "transformer".to_owned(),
            src_embedding: Some("src_embedding.weight".to_owned()),
            tgt_embedding: Some("tgt_embedding.weight".to_owned()),
            output: Some("output.weight".to_owned()),
            src_positions: None,
            tgt_positions: None,
        }
    }
}

/// Says which tensor of a state dict a parameter is, and in what form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Origin {
    pub(crate) name: String,
    pub(crate) form: Form,
}

/// Says how a parameter lies in its tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// As it is here.
    Same,
    /// The weight of an `nn.Linear`: `[out, in]`, where we have `[in, out]`.
    Linear,
    /// A run of the rows of packed projections, from `start` on, of `n_rows` altogether.
    Packed { start: usize, n_rows: usize },
    /// Multiplied by a factor.
    Scaled(f64),
}

impl Names {
    /// Returns where a parameter of ours comes from; `None` if this convention has no name for it.
    pub(crate) fn origin(&self, parameter: &str, config: &TransformerConfig) -> Option<Origin> {
        if parameter == "output_bias" {
            let name = self.output_bias()?;
            let form = Form::Same;
            return Some(Origin { name, form });
        }
        let path: Vec<&str> = parameter.split('.').collect();
        if let Some(name) = self.outside(parameter) {
            return Some(Origin {
                name: name.to_owned(),
                form: Form::Same,
            });
        }
        match self {
            Self::Pytorch(names) => {
                let (name, form) = pytorch(&path, config)?;
                let stacks = &names.stacks;
                let dot = if stacks.is_empty() { "" } else { "." };
                let name = format!("{stacks}{dot}{name}");
                Some(Origin { name, form })
            }
            Self::Annotated => {
                let (name, form) = annotated(&path, config)?;
                Some(Origin { name, form })
            }
            Self::Marian => {
                let (name, form) = marian(&path)?;
                Some(Origin { name, form })
            }
        }
    }

    /// Returns the name of the output's bias: that of its weight, with the last word changed.
    pub(super) fn output_bias(&self) -> Option<String> {
        let linear = self.outside("output.weight")?.strip_suffix("weight")?;
        Some(format!("{linear}bias"))
    }

    /// Returns the name of a parameter outside of the two stacks.
    pub(super) fn outside(&self, parameter: &str) -> Option<&str> {
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

fn pytorch(path: &[&str], config: &TransformerConfig) -> Option<(String, Form)> {
    let (layer, block, rest) = match path {
        [stack, "final_norm", kind] => {
            return Some((format!("{stack}.norm.{}", gain_or_bias(kind)?), Form::Same));
        }
        [stack, "layers", layer, block, rest @ ..] => {
            (format!("{stack}.layers.{layer}"), *block, rest)
        }
        _ => return None,
    };
    if let ([_, kind], Some(place)) = (rest, residual_place(path[0], block)) {
        let norm = format!("{layer}.norm{}.{}", place + 1, gain_or_bias(kind)?);
        return Some((norm, Form::Same));
    }
    let [projection, kind] = rest else {
        return None;
    };
    if block == "feed_forward" {
        let linear = if *projection == "inner" { 1 } else { 2 };
        return Some((format!("{layer}.linear{linear}.{kind}"), linear_form(kind)));
    }
    let attention = match block {
        "self_attention" => "self_attn",
        "cross_attention" => "multihead_attn",
        _ => return None,
    };
    if *projection == "output" {
        let name = format!("{layer}.{attention}.out_proj.{kind}");
        return Some((name, linear_form(kind)));
    }
    let keys = config.n_heads * config.head_d_k();
    let values = config.n_heads * config.head_d_v();
    let start = match *projection {
        "query" => 0,
        "key" => keys,
        "value" => 2 * keys,
        _ => return None,
    };
    let n_rows = 2 * keys + values;
    let name = format!("{layer}.{attention}.in_proj_{kind}");
    Some((name, Form::Packed { start, n_rows }))
}

fn annotated(path: &[&str], config: &TransformerConfig) -> Option<(String, Form)> {
    // It divides by the deviation of a sample, √(n/(n−1)) times ours.
    let n = config.d_model as f64;
    let norm = |kind: &str| match kind {
        "gamma" => Some(("a_2", Form::Scaled(((n - 1.0) / n).sqrt()))),
        "beta" => Some(("b_2", Form::Same)),
        _ => None,
    };
    let (layer, block, rest) = match path {
        [stack, "final_norm", kind] => {
            let (kind, form) = norm(kind)?;
            return Some((format!("{stack}.norm.{kind}"), form));
        }
        [stack, "layers", layer, block, rest @ ..] => {
            (format!("{stack}.layers.{layer}"), *block, rest)
        }
        _ => return None,
    };
    if let ([_, kind], Some(place)) = (rest, residual_place(path[0], block)) {
        let (kind, form) = norm(kind)?;
        return Some((format!("{layer}.sublayer.{place}.norm.{kind}"), form));
    }
    let [projection, kind] = rest else {
        return None;
    };
    let module = match (block, *projection) {
        ("feed_forward", "inner") => "feed_forward.w_1",
        ("feed_forward", "outer") => "feed_forward.w_2",
        ("self_attention", "query") => "self_attn.linears.0",
        ("self_attention", "key") => "self_attn.linears.1",
        ("self_attention", "value") => "self_attn.linears.2",
        ("self_attention", "output") => "self_attn.linears.3",
        ("cross_attention", "query") => "src_attn.linears.0",
        ("cross_attention", "key") => "src_attn.linears.1",
        ("cross_attention", "value") => "src_attn.linears.2",
        ("cross_attention", "output") => "src_attn.linears.3",
        _ => return None,
    };
    Some((format!("{layer}.{module}.{kind}"), linear_form(kind)))
}

/// Returns which of a layer's sub-layers a residual block belongs to, counted from 0.
fn residual_place(stack: &str, block: &str) -> Option<usize> {
    match (stack, block.strip_suffix("_residual")?) {
        (_, "self_attention") => Some(0),
        ("decoder", "cross_attention") | ("encoder", "feed_forward") => Some(1),
        ("decoder", "feed_forward") => Some(2),
        _ => None,
    }
}

pub(super) fn gain_or_bias(kind: &str) -> Option<&'static str> {
    match kind {
        "gamma" => Some("weight"),
        "beta" => Some("bias"),
        _ => None,
    }
}

pub(super) fn linear_form(kind: &str) -> Form {
    if kind == "weight" {
        Form::Linear
    } else {
        Form::Same
    }
}
