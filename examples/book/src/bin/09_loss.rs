//! Chapter 9: the loss, and why the paper makes it worse on purpose (§5.4).

use anyhow::Result;
use book::{BarChart, Chart};
use burn::tensor::{Int, Tensor};
use transformer_core::device;
use transformer_train::config::SmoothingForm;
use transformer_train::step::{LabelSmoothing, Projection, projected_loss};

const VOCAB: usize = 8;
const GOLD: usize = 2;

/// Returns the target distribution: the gold token, and a little of every token.
fn target(epsilon: f64) -> [f64; VOCAB] {
    std::array::from_fn(|id| epsilon / VOCAB as f64 + if id == GOLD { 1.0 - epsilon } else { 0.0 })
}

/// Returns a prediction: a probability for the gold token, and the same for each of the others.
fn prediction(gold: f64) -> [f64; VOCAB] {
    std::array::from_fn(|id| if id == GOLD { gold } else { (1.0 - gold) / (VOCAB - 1) as f64 })
}

/// The cross-entropy of a target and a prediction, in nats.
fn cross_entropy(target: [f64; VOCAB], prediction: [f64; VOCAB]) -> f64 {
    -target.iter().zip(prediction).map(|(target, p)| target * p.ln()).sum::<f64>()
}

fn main() -> Result<()> {
    for gold in [0.125, 0.5, 0.9, 0.9999] {
        let [sharp, smooth] =
            [0.0, 0.1].map(|epsilon| cross_entropy(target(epsilon), prediction(gold)));
        println!(
            "p(gold) {gold:<6}: loss {sharp:.3}, smoothed {smooth:.3}, perplexity {:.3}",
            sharp.exp()
        );
    }
    let best = (1..10_000).map(|step| f64::from(step) / 10_000.0);
    let loss = |gold: &f64| cross_entropy(target(0.1), prediction(*gold));
    let best = best.min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap_or(0.0);
    println!("the smoothed loss is least at p(gold) = {best:.4}: {:.3}", loss(&best));

    // The crate's loss computes the same from features and the pre-softmax matrix.
    let (_, device) = device::choose(Some("flex"))?;
    let logits = prediction(0.9).map(f64::ln);
    let features = Tensor::<2>::from_data([logits], &device);
    let projection = Projection::new(Tensor::eye(VOCAB, &device), None);
    let smoothing = LabelSmoothing { epsilon: 0.1, form: SmoothingForm::AllTokens };
    let label = Tensor::<1, Int>::from_data([GOLD as i32], &device);
    let sums = projected_loss(features, projection, label, &smoothing);
    println!("transformer-train at p(gold) 0.9: {:.3}", sums.smoothed.into_scalar::<f32>());

    let names: Vec<String> =
        (0..VOCAB).map(|id| if id == GOLD { "gold".into() } else { id.to_string() }).collect();
    BarChart::new("The target distribution of one token, 8 tokens", "probability", &names)
        .bars("ε = 0", target(0.0))
        .bars("ε = 0.1", target(0.1))
        .bars("ε = 0.4", target(0.4))
        .save("targets")?;
    let curve = |epsilon: f64| {
        (40..1000).map(move |step| {
            let gold = f64::from(step) / 1000.0;
            (gold, cross_entropy(target(epsilon), prediction(gold)))
        })
    };
    Chart::new("Loss of one token", "probability of the gold token", "nats")
        .line("ε = 0", curve(0.0))
        .line("ε = 0.1", curve(0.1))
        .line("ε = 0.4", curve(0.4))
        .save("loss")
}
