//! Chapter 5: several heads are one attention over slices of the features (§3.2.2).

use anyhow::Result;
use book::{HeatMap, Scale, figures, table};
use burn::module::Module;
use burn::tensor::{Device, Distribution, Tensor, activation};
use transformer_core::device;
use transformer_core::model::AttentionConfig;

const D_MODEL: usize = 8;
const N_HEADS: usize = 2;
const D_K: usize = D_MODEL / N_HEADS;
const WORDS: [&str; 4] = ["the", "dog", "runs", "fast"];

fn random(rows: usize, device: &Device) -> Tensor<2> {
    Tensor::random([rows, D_MODEL], Distribution::Normal(0.0, 1.0), device)
}

/// Scaled dot-product attention: the output and the weights.
fn attend(q: Tensor<2>, k: Tensor<2>, v: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
    let scores = q.matmul(k.transpose()) / (D_K as f64).sqrt();
    let weights = activation::softmax(scores, 1);
    (weights.clone().matmul(v), weights)
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    device.seed(2);
    let x = random(WORDS.len(), &device); // [len, d_model]
    let [wq, wk, wv, wo] = [0; 4].map(|_| random(D_MODEL, &device) * 0.5); // [d_model, n_heads * d_k]

    // Head by head: a head has d_k columns of each matrix for itself.
    let mut picture = HeatMap::new("Two heads, one sentence", Scale::Share, "query", "key");
    let mut outputs = Vec::new();
    for head in 0..N_HEADS {
        let project =
            |matrix: &Tensor<2>| x.clone().matmul(matrix.clone().narrow(1, head * D_K, D_K)); // [len, d_k]
        let (output, weights) = attend(project(&wq), project(&wk), project(&wv));
        let name = format!("head {}", head + 1);
        table(&name, &WORDS, &WORDS, &weights);
        println!();
        picture = picture.panel(&name, &WORDS, &WORDS, &weights);
        outputs.push(output);
    }
    let by_hand = Tensor::cat(outputs, 1).matmul(wo.clone()); // [len, d_model]

    // At once: project, split the features, let all heads attend in one product, and concatenate.
    let split = |matrix: &Tensor<2>| {
        let projected = x.clone().matmul(matrix.clone()); // [len, n_heads * d_k]
        projected.reshape([WORDS.len(), N_HEADS, D_K]).swap_dims(0, 1) // [n_heads, len, d_k]
    };
    let scores = split(&wq).matmul(split(&wk).transpose()) / (D_K as f64).sqrt(); // [n_heads, len, len]
    let heads = activation::softmax(scores, 2).matmul(split(&wv)); // [n_heads, len, d_k]
    let concatenated = heads.swap_dims(0, 1).reshape([WORDS.len(), D_MODEL]);
    let difference = (concatenated.matmul(wo) - by_hand).abs().max().into_scalar::<f32>();
    println!("head by head − at once: {difference:.3}");

    for n_heads in [1, 8, 64] {
        let attention = AttentionConfig::new(512, n_heads).init(&device);
        println!(
            "{n_heads:>2} heads of {:>3} features: {} parameters",
            512 / n_heads,
            attention.num_params()
        );
    }
    picture.save("heads")?;
    figures::many_heads(512, 8).save("many-heads")
}
