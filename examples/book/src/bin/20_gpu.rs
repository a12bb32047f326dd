//! Chapter 20: why a GPU is fast in training and bored in translation.

use anyhow::Result;
use book::Chart;
use transformer_core::TransformerConfig;

/// Multiplications and bytes of a product of `[rows, inner]` and `[inner, columns]`, in 32-bit floats.
fn product(rows: f64, inner: f64, columns: f64) -> (f64, f64) {
    let bytes = 4.0 * (rows * inner + inner * columns + rows * columns);
    (rows * inner * columns, bytes)
}

/// The products of one decoder layer over so many tokens: projections of attention, and the feed-forward network.
///
/// Training projects 8 times. A step of decoding projects 6 times, since keys and values of the memory are cached, and
/// each of its tokens reads so many cached keys and values.
fn layer(rows: f64, n_projections: f64, n_cached: f64) -> (f64, f64) {
    let config = TransformerConfig::default(); // the base model
    let (d, inner) = (config.d_model as f64, config.d_ff as f64);
    let (attention, there, back) =
        (product(rows, d, d), product(rows, d, inner), product(rows, inner, d));
    let cached = rows * n_cached * 2.0 * d;
    (
        n_projections * attention.0 + there.0 + back.0 + cached,
        n_projections * attention.1 + there.1 + back.1 + 4.0 * cached,
    )
}

fn main() -> Result<()> {
    println!(
        "{:<34}{:>8}{:>16}{:>10}{:>10}",
        "one decoder layer, base model", "tokens", "multiplications", "bytes", "ratio"
    );
    // A step in the middle of a translation: 25 tokens are written, and the source has 50.
    for (name, rows, n_projections, n_cached) in [
        ("one sentence, one step", 1.0, 6.0, 75.0),
        ("beam of 4, one step", 4.0, 6.0, 75.0),
        ("64 sentences, beam of 4, one step", 256.0, 6.0, 75.0),
        ("training, 25,000 tokens", 25_000.0, 8.0, 0.0),
    ] {
        let (operations, bytes) = layer(rows, n_projections, n_cached);
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
            let (operations, bytes) = layer(rows, 8.0, 0.0);
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
