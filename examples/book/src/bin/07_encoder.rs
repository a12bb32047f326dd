//! Chapter 7: one encoder layer, step by step (§3.1, §3.3).

use anyhow::Result;
use book::{HeatMap, Scale, show, table};
use burn::tensor::{Device, Int, Tensor};
use transformer_core::model::{
    AttentionConfig, Encoder, FeedForward, PositionalEncoding, Residual, VocabularyMatrix,
};
use transformer_core::{TransformerConfig, device};

const WORDS: [&str; 3] = ["a", "dog", "runs"];

fn config() -> TransformerConfig {
    TransformerConfig {
        d_model: 4,
        d_ff: 6,
        n_heads: 2,
        n_encoder_layers: 2,
        dropout: 0.0,
        ..TransformerConfig::tiny(9, 9)
    }
}

/// Embeds ids; adds positions if there are any.
fn embed(
    ids: [i32; 3],
    positions: Option<&PositionalEncoding>,
    vocabulary: &VocabularyMatrix,
    device: &Device,
) -> Tensor<3> {
    let x = vocabulary.embed(Tensor::<2, Int>::from_data([ids], device)); // [1, len, d_model]
    match positions.and_then(|positions| positions.forward(0, 3, device)) {
        Some(vectors) => x + vectors.unsqueeze(),
        None => x,
    }
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    device.seed(7);
    let config = config();
    let vocabulary = VocabularyMatrix::init(9, &config, &device)?;
    let positions = PositionalEncoding::init(&config, &device)?;
    let attention = AttentionConfig::new(config.d_model, config.n_heads).init(&device);
    let network = FeedForward::init(&config, &device)?;
    let residual = Residual::init(&config, &device)?; // γ = 1, β = 0: one serves for both

    show("embedded", &embed([4, 5, 6], None, &vocabulary, &device));
    let input = embed([4, 5, 6], Some(&positions), &vocabulary, &device);
    show("with positions", &input);
    let keys_values = attention.keys_values(input.clone());
    // Without a mask. The weights: [batch, n_heads, query, key].
    let (attended, weights) = attention.attend_with_weights(input.clone(), keys_values, None);
    let head = weights.narrow(1, 0, 1).reshape([3, 3]);
    table("head 1", &WORDS, &WORDS, &head);
    show("attention", &attended);
    let x = residual.forward(input.clone(), |_| attended);
    show("LayerNorm(x + attention)", &x);
    let transformed = network.forward(x.clone());
    show("feed-forward, 4 → 6 → 4", &transformed);
    let x = residual.forward(x, |_| transformed);
    show("LayerNorm(x + feed-forward)", &x);

    // Without positions, a sentence is a bag: other order, same vectors in other order.
    let encoder = Encoder::init(&config, &device)?;
    for (name, positions) in [("without", None), ("with", Some(&positions))] {
        let encode = |ids| encoder.forward(embed(ids, positions, &vocabulary, &device), None);
        let (here, there) = (encode([4, 5, 6]).narrow(1, 1, 1), encode([5, 4, 6]).narrow(1, 0, 1));
        let difference = (here - there).abs().max().into_scalar::<f32>();
        println!("{name} positions, `dog` at 1 and at 0 differ by {difference:.3}");
    }
    HeatMap::new("A sentence through one layer", Scale::Signed, "token", "feature")
        .panel("input, with positions", &WORDS, &["0", "1", "2", "3"], &input.reshape([3, 4]))
        .panel("output", &WORDS, &["0", "1", "2", "3"], &x.reshape([3, 4]))
        .save("encoder-layer")
}
