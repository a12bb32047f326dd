//! Chapter 14: keys and values of earlier tokens do not change, so they are kept.

use anyhow::Result;
use book::Chart;
use burn::tensor::{Int, Tensor, TensorData};
use transformer_core::text::{BOS, EOS};
use transformer_core::{Padded, TransformerConfig, device};

const LEN: usize = 12;

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    device.seed(1);
    let config = TransformerConfig {
        n_encoder_layers: 2,
        n_decoder_layers: 2,
        ..TransformerConfig::tiny(50, 50)
    };
    let model = config.init(&device)?;
    let memory = model.encode(&Padded::new(&[[7, 8, 9, EOS]], &device));

    // Without a cache: every step decodes the whole prefix again.
    let mut prefix = vec![BOS];
    let mut n_computed = 0;
    let mut without = Vec::new();
    for _ in 0..LEN {
        let data = TensorData::new(prefix.clone(), [1, prefix.len()]);
        let tgt = Tensor::<2, Int>::from_data(data, &device);
        let logits = model.decode(tgt, &mut model.begin(&memory)).narrow(1, prefix.len() - 1, 1);
        n_computed += prefix.len();
        prefix.push(logits.clone().argmax(2).into_scalar::<u32>());
        without.push(logits);
    }
    println!("without a cache: {n_computed} positions decoded for {LEN} tokens");

    // With the cache: `state` holds the keys and values of every layer; a step adds one position.
    let mut state = model.begin(&memory);
    let mut largest = 0.0_f32;
    for (token, expected) in prefix.iter().zip(without) {
        let one = Tensor::<2, Int>::full([1, 1], *token, &device);
        let logits = model.decode(one, &mut state);
        largest = largest.max((logits - expected).abs().max().into_scalar::<f32>());
    }
    println!("with the cache: {LEN} positions decoded");
    println!("largest difference of a logit: {largest:.4}");

    // What it costs: keys and values of every position in every decoder layer.
    let base = TransformerConfig::default();
    let floats = |len: usize| 2 * base.n_decoder_layers * base.d_model * len;
    for len in [1, 50, 1000] {
        println!(
            "base model, {len:>4} tokens of source or target: {:>5} KiB of keys and values",
            floats(len) * 4 / 1024
        );
    }
    let positions =
        |cost: fn(f64) -> f64| (1..=100).map(move |n| (f64::from(n), cost(f64::from(n))));
    Chart::new("Positions that pass through the decoder", "tokens generated", "positions")
        .line("without a cache", positions(|n| n * (n + 1.0) / 2.0))
        .line("with the cache", positions(|n| n))
        .save("cache")
}
