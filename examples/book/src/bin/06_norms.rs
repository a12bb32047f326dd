//! Chapter 6, layer normalization: by token, not by batch, and before or after the sum.

use anyhow::Result;
use book::{show, values};
use burn::tensor::{Device, Tensor};
use transformer_core::config::NormPlacement;
use transformer_core::model::{LayerNorm, Residual};
use transformer_core::{TransformerConfig, device};

const SENTENCE: [[f32; 4]; 2] = [[1.0, 2.0, 3.0, 4.0], [10.0, 10.0, 10.0, 30.0]];
const OTHER: [[f32; 4]; 2] = [[-5.0, 0.0, 5.0, 0.0], [7.0, 7.0, -7.0, -7.0]];

/// Batch normalization: each feature over all tokens of the batch.
fn batch_norm(x: Tensor<3>) -> Tensor<3> {
    let [batch, len, d_model] = x.dims();
    let tokens = x.reshape([batch * len, d_model]);
    let centered = tokens.clone() - tokens.mean_dim(0);
    let variance = centered.clone().powf_scalar(2.0).mean_dim(0);
    (centered / (variance + 1e-5).sqrt()).reshape([batch, len, d_model])
}

fn config(norm_placement: NormPlacement) -> TransformerConfig {
    TransformerConfig {
        d_model: 4,
        n_heads: 1,
        dropout: 0.0,
        norm_placement,
        ..TransformerConfig::tiny(9, 9)
    }
}

/// Returns the standard deviation of a token's features.
fn deviation(x: &Tensor<3>) -> f32 {
    let first = &values(x)[..4];
    let mean = first.iter().sum::<f32>() / 4.0;
    (first.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / 4.0).sqrt()
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    let device: &Device = &device;
    let alone = Tensor::<3>::from_data([SENTENCE], device);
    let batched = Tensor::<3>::from_data([SENTENCE, OTHER], device);
    let norm = LayerNorm::init(&config(NormPlacement::Post), device)?;
    show("layer norm, alone", &norm.forward(alone.clone()));
    show("layer norm, in a batch", &norm.forward(batched.clone()).narrow(0, 0, 1));
    show("batch norm, alone", &batch_norm(alone.clone()));
    show("batch norm, in a batch", &batch_norm(batched).narrow(0, 0, 1));

    // Twelve sub-layers that double their input: post-norm keeps the deviation, pre-norm adds to it.
    for (name, placement) in [("post-norm", NormPlacement::Post), ("pre-norm", NormPlacement::Pre)]
    {
        let residual = Residual::init(&config(placement), device)?;
        let mut x = norm.forward(alone.clone());
        let mut deviations = String::new();
        for _ in 0..12 {
            x = residual.forward(x, |x| x * 2.0);
            deviations += &format!("{:6.1}", deviation(&x));
        }
        println!("{name:<9} {deviations}");
    }
    Ok(())
}
