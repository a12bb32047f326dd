//! Names of the layers of harvardnlp's Annotated Transformer.

use super::layout::{Layout, linear_layout, sub_layer};
use crate::config::TransformerConfig;

/// Returns the tensor of a layer's parameter, and its layout.
pub(super) fn layer(path: &[&str], config: &TransformerConfig) -> Option<(String, Layout)> {
    // It divides by the sample standard deviation, which is √(n/(n−1)) times the biased one.
    let n = config.d_model as f64;
    let norm = |kind: &str| match kind {
        "gamma" => Some(("a_2", Layout::Scaled(((n - 1.0) / n).sqrt()))),
        "beta" => Some(("b_2", Layout::Same)),
        _ => None,
    };
    let (layer, block, rest) = match path {
        [stack, "final_norm", kind] => {
            let (kind, layout) = norm(kind)?;
            return Some((format!("{stack}.norm.{kind}"), layout));
        }
        [stack, "layers", layer, block, rest @ ..] => {
            (format!("{stack}.layers.{layer}"), *block, rest)
        }
        _ => return None,
    };
    if let ([_, kind], Some(index)) = (rest, sub_layer(path[0], block)) {
        let (kind, layout) = norm(kind)?;
        return Some((format!("{layer}.sublayer.{index}.norm.{kind}"), layout));
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
    Some((format!("{layer}.{module}.{kind}"), linear_layout(kind)))
}
