//! Chapter 2: the encoding of a position (§3.5).

use anyhow::{Context, Result};
use book::{Chart, HeatMap, Scale, show, values};
use transformer_core::config::Positions;
use transformer_core::model::{PositionalEncoding, sinusoids};
use transformer_core::{TransformerConfig, device};

const LEN: usize = 100;
const D_MODEL: usize = 32;

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    show("positions 0 to 3, d_model = 4", &sinusoids(0, 4, 4, &device));

    // One curve for each feature: sines and cosines in pairs, each pair slower than the previous one.
    let table = sinusoids(0, LEN, D_MODEL, &device); // [len, d_model]
    let rows = values(&table);
    let curve = |feature: usize| {
        let point =
            |position: usize| (position as f64, f64::from(rows[position * D_MODEL + feature]));
        (0..LEN).map(point).collect::<Vec<_>>()
    };
    Chart::new("Features 4 to 7 of 32 over 100 positions", "position, tokens", "value")
        .line("4: sine", curve(4))
        .line("5: cosine", curve(5))
        .line("6: sine, slower", curve(6))
        .line("7: cosine, slower", curve(7))
        .save("sinusoids")?;

    // The dot product of two positions depends only on their distance.
    println!("\nd_model = {D_MODEL}, dot products:");
    let products = table.clone().matmul(table.clone().transpose()) / (D_MODEL as f64 / 2.0); // [len, len]
    for distance in [0, 1, 2, 5, 20] {
        let at = |position: usize| {
            products.clone().slice([position..=position, position + distance..=position + distance])
        };
        let [first, middle, later] = [0, 10, 50].map(|position| at(position).into_scalar::<f32>());
        println!(
            "distance {distance:>2}: {first:.3} from 0, {middle:.3} from 10, {later:.3} from 50"
        );
    }

    // The same features in another order: Marian's models have all sines first.
    let config = TransformerConfig {
        d_model: D_MODEL,
        positions: Positions::SinusoidalHalves,
        ..TransformerConfig::tiny(9, 9)
    };
    let halves = PositionalEncoding::init(&config, &device)?.forward(0, LEN, &device);
    HeatMap::new("Sinusoids of 100 positions", Scale::Signed, "position", "feature")
        .cells(9.0, 4.0)
        .numbered("interleaved, as in the paper", &table)
        .numbered("sines, then cosines", &halves.context("there are positions")?)
        .save("positions")
}
