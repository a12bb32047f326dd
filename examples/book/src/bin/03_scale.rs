//! Chapter 3, why √d_k: long vectors have large dot products, and a softmax of large numbers has no gradient.

use anyhow::Result;
use book::Chart;
use burn::tensor::{Device, Distribution, Tensor, activation};
use transformer_core::device;

const N: usize = 1000;
const N_KEYS: usize = 10;

/// Returns the scores of 1000 queries with 10 keys each, of random features with variance 1.
fn scores(d_k: usize, device: &Device) -> Tensor<3> {
    let normal = Distribution::Normal(0.0, 1.0);
    let queries = Tensor::<3>::random([N, 1, d_k], normal, device);
    let keys = Tensor::<3>::random([N, N_KEYS, d_k], normal, device);
    queries.matmul(keys.transpose()) // [N, 1, N_KEYS]
}

/// Returns the mean of the largest weight, and the mean of the gradient `p·(1 − p)` of a weight.
fn softmax_of(scores: Tensor<3>) -> (f64, f64) {
    let weights = activation::softmax(scores, 2);
    let largest = weights.clone().max_dim(2).mean().into_scalar::<f32>();
    let gradient = (weights.clone() * (weights * -1.0 + 1.0)).mean().into_scalar::<f32>();
    (largest.into(), gradient.into())
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    device.seed(1);
    let (mut plain, mut scaled) = (Vec::new(), Vec::new());
    println!("{:>5}{:>12}{:>20}{:>20}", "", "deviation", "largest weight", "mean gradient");
    println!(
        "{:>5}{:>12}{:>10}{:>10}{:>10}{:>10}",
        "d_k", "of scores", "plain", "÷ √d_k", "plain", "÷ √d_k"
    );
    for d_k in [1, 4, 16, 64, 256, 1024] {
        let scores = scores(d_k, &device);
        let deviation = scores.clone().powf_scalar(2.0).mean().sqrt().into_scalar::<f32>();
        let (largest, gradient) = softmax_of(scores.clone());
        let (scaled_largest, scaled_gradient) = softmax_of(scores / (d_k as f64).sqrt());
        println!(
            "{d_k:>5}{deviation:>12.2}{largest:>10.2}{scaled_largest:>10.2}{gradient:>10.3}{scaled_gradient:>10.3}"
        );
        plain.push(((d_k as f64).log2(), gradient));
        scaled.push(((d_k as f64).log2(), scaled_gradient));
    }
    Chart::new("Gradient of an attention weight", "log₂ d_k", "mean of p·(1 − p)")
        .line("plain", plain)
        .line("÷ √d_k", scaled)
        .save("scale")
}
