//! Chapter 0: the cost of a layer, and the distance that it leaves between two words (Table 1 of the paper).

use anyhow::Result;
use book::{Chart, figures};

/// Features of a token, as in the paper's base model.
const D: f64 = 512.0;
/// Number of words that a convolution sees at once, and of tokens that restricted attention sees.
const KERNEL: f64 = 3.0;
const WINDOW: f64 = 32.0;

/// Multiplications of one layer over `n` tokens.
fn self_attention(n: f64) -> f64 {
    n * n * D
}

fn recurrence(n: f64) -> f64 {
    n * D * D
}

fn convolution(n: f64) -> f64 {
    KERNEL * n * D * D
}

fn restricted(n: f64) -> f64 {
    WINDOW.min(n) * n * D
}

fn main() -> Result<()> {
    println!(
        "{:<22}{:>9}{:>9}{:>9}{:>12}{:>9}",
        "layer", "n = 30", "n = 512", "n = 4096", "steps", "path"
    );
    let million = |operations: f64| format!("{:.1} M", operations / 1e6);
    let line = |name: &str, cost: fn(f64) -> f64, steps: &str, path: f64| {
        let [short, middle, long] = [30.0, 512.0, 4096.0].map(|n| million(cost(n)));
        println!("{name:<22}{short:>9}{middle:>9}{long:>9}{steps:>12}{path:>9}");
    };
    // The path joins the two ends of a sentence of 30 words.
    line("self-attention", self_attention, "1", 1.0);
    line("recurrence", recurrence, "n", 29.0);
    line("convolution of 3", convolution, "1", (30_f64.ln() / KERNEL.ln()).ceil());
    line("attention within 32", restricted, "1", (30.0 / WINDOW).ceil());

    let curve = |cost: fn(f64) -> f64| {
        (1..=100).map(move |step| (f64::from(step) * 20.0, cost(f64::from(step) * 20.0) / 1e9))
    };
    Chart::new(
        "Cost of one layer, d_model = 512",
        "n, tokens of the sentence",
        "10⁹ multiplications",
    )
    .line("self-attention: n²·d", curve(self_attention))
    .line("recurrence: n·d²", curve(recurrence))
    .line("convolution: k·n·d²", curve(convolution))
    .line("restricted: r·n·d", curve(restricted))
    .save("cost")?;
    figures::architecture().save("architecture")
}
