//! Names of the layers of `MarianMTModel` and `PegasusForConditionalGeneration` in Hugging Face's Transformers.

use super::layout::{Layout, gain_or_bias, linear_layout};

/// Returns the tensor of a parameter of a stack, and its layout.
pub(super) fn layer(path: &[&str]) -> Option<(String, Layout)> {
    let (stack, layer, block, rest) = match path {
        // Pegasus alone has these.
        [stack, "final_norm", kind] => {
            let name = format!("model.{stack}.layer_norm.{}", gain_or_bias(kind)?);
            return Some((name, Layout::Same));
        }
        [stack, "layers", layer, block, rest @ ..] => (stack, layer, block, rest),
        _ => return None,
    };
    let layer = format!("model.{stack}.layers.{layer}");
    match rest {
        [_, kind] if block.ends_with("_residual") => {
            let norm = match *block {
                "self_attention_residual" => "self_attn_layer_norm",
                "cross_attention_residual" => "encoder_attn_layer_norm",
                "feed_forward_residual" => "final_layer_norm",
                _ => return None,
            };
            Some((
                format!("{layer}.{norm}.{}", gain_or_bias(kind)?),
                Layout::Same,
            ))
        }
        [projection, kind] => {
            let module = match (*block, *projection) {
                ("feed_forward", "inner") => "fc1",
                ("feed_forward", "outer") => "fc2",
                ("self_attention", "query") => "self_attn.q_proj",
                ("self_attention", "key") => "self_attn.k_proj",
                ("self_attention", "value") => "self_attn.v_proj",
                ("self_attention", "output") => "self_attn.out_proj",
                ("cross_attention", "query") => "encoder_attn.q_proj",
                ("cross_attention", "key") => "encoder_attn.k_proj",
                ("cross_attention", "value") => "encoder_attn.v_proj",
                ("cross_attention", "output") => "encoder_attn.out_proj",
                _ => return None,
            };
            Some((format!("{layer}.{module}.{kind}"), linear_layout(kind)))
        }
        _ => None,
    }
}
