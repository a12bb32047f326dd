//! Chapter 20: a GPU is fast in training and mostly waits in translation.

use anyhow::Result;
use book::Chart;
use transformer_core::TransformerConfig;

/// Multiplications and bytes of a product of `[rows, inner]` and `[inner, columns]`, in 32-bit floats.
fn product(rows: f64, inner: f64, columns: f64) -> (f64, f64) {
    let bytes = 4.0 * (rows * inner + inner * columns + rows * columns);
    (rows * inner * columns, bytes)
}

/// The products of one decoder layer over `rows` tokens: projections of attention, and the feed-forward network.
///
/// Training projects 8 times, a step of decoding 6 times, since keys and values of the memory are cached.
fn layer(rows: f64, n_projections: f64) -> (f64, f64) {
    let config = TransformerConfig::default(); // the base model
    let (d, inner) = (config.d_model as f64, config.d_ff as f64);
    let (attention, there, back) =
        (product(rows, d, d), product(rows, d, inner), product(rows, inner, d));
    let operations = n_projections * attention.0 + there.0 + back.0;
    (operations, n_projections * attention.1 + there.1 + back.1)
}

/// Attention to cached keys and values, in the middle of a translation: 25 tokens of each row, and the 50 of each
/// source, which the rows of its beam share.
fn cached(rows: f64, n_sentences: f64) -> (f64, f64) {
    let width = 2.0 * TransformerConfig::default().d_model as f64;
    (rows * 75.0 * width, 4.0 * (rows * 25.0 + n_sentences * 50.0) * width)
}

fn main() -> Result<()> {
    println!(
        "{:<34}{:>8}{:>16}{:>10}{:>10}",
        "one decoder layer, base model", "tokens", "multiplications", "bytes", "ratio"
    );
    let decoding = |rows, n_sentences| {
        let (layer, cached) = (layer(rows, 6.0), cached(rows, n_sentences));
        (layer.0 + cached.0, layer.1 + cached.1)
    };
    for (name, rows, (operations, bytes)) in [
        ("one sentence, one step", 1.0, decoding(1.0, 1.0)),
        ("beam of 4, one step", 4.0, decoding(4.0, 1.0)),
        ("64 sentences, beam of 4, one step", 256.0, decoding(256.0, 64.0)),
        ("training, 25,000 tokens", 25_000.0, layer(25_000.0, 8.0)),
    ] {
        let (operations_m, bytes_m) = (operations / 1e6, bytes / 1e6);
        println!(
            "{name:<34}{rows:>8}{operations_m:>14.1} M{bytes_m:>8.1} M{:>10.2}",
            operations / bytes
        );
    }

    // A processor computes at its peak only if each byte that it loads is used often enough.
    let processors = [("desktop CPU", 0.5e12_f64, 50e9), ("large GPU", 78e12, 2000e9)];
    let mut chart = Chart::new(
        "What a processor can reach in these products",
        "log₂ tokens in a product",
        "10⁹ multiplications/s",
    )
    .logarithmic();
    for (name, peak, bandwidth) in processors {
        let speed = |rows: f64| {
            let (operations, bytes) = layer(rows, 8.0);
            peak.min(operations / bytes * bandwidth) / 1e9
        };
        let needed = (1..30_000).find(|rows| speed(f64::from(*rows)) >= peak / 1e9);
        println!(
            "{name}: {:.0} G/s for 1 token, {:.0} G/s at its peak, from {} tokens",
            speed(1.0),
            peak / 1e9,
            needed.unwrap_or(0)
        );
        chart =
            chart.line(name, (0..=15).map(|power| (f64::from(power), speed(2_f64.powi(power)))));
    }
    chart.save("gpu")
}
