//! Names of the layers of `torch.nn.Transformer`.

use super::layout::{Layout, gain_or_bias, linear_layout, sub_layer};
use crate::config::TransformerConfig;

/// Returns the tensor of a layer's parameter, and its layout.
pub(super) fn layer(path: &[&str], config: &TransformerConfig) -> Option<(String, Layout)> {
    let (layer, block, rest) = match path {
        [stack, "final_norm", kind] => {
            return Some((
                format!("{stack}.norm.{}", gain_or_bias(kind)?),
                Layout::Same,
            ));
        }
        [stack, "layers", layer, block, rest @ ..] => {
            (format!("{stack}.layers.{layer}"), *block, rest)
        }
        _ => return None,
    };
    if let ([_, kind], Some(index)) = (rest, sub_layer(path[0], block)) {
        let norm = format!("{layer}.norm{}.{}", index + 1, gain_or_bias(kind)?);
        return Some((norm, Layout::Same));
    }
    let [projection, kind] = rest else {
        return None;
    };
    if block == "feed_forward" {
        let linear = if *projection == "inner" { 1 } else { 2 };
        return Some((
            format!("{layer}.linear{linear}.{kind}"),
            linear_layout(kind),
        ));
    }
    let attention = match block {
        "self_attention" => "self_attn",
        "cross_attention" => "multihead_attn",
        _ => return None,
    };
    if *projection == "output" {
        let name = format!("{layer}.{attention}.out_proj.{kind}");
        return Some((name, linear_layout(kind)));
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
    Some((name, Layout::Packed { start, n_rows }))
}
