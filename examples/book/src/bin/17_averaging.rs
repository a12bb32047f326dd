//! Chapter 17: the mean of several checkpoints is better than each of them (§6.1).

use anyhow::Result;
use book::Chart;
use transformer_core::random::SplitMix64;

const N_STEPS: usize = 200;
const RATE: f64 = 0.05;

/// A loss with its minimum, 0, where all ten weights are 1. Some directions are steep, some are flat.
fn loss(weights: &[f64; 10]) -> f64 {
    let terms =
        weights.iter().zip(1..).map(|(weight, index)| f64::from(index) * (weight - 1.0).powi(2));
    terms.sum()
}

/// The gradient of a batch: the true one, and noise.
fn gradient(weights: &[f64; 10], random: &mut SplitMix64) -> [f64; 10] {
    std::array::from_fn(|at| {
        2.0 * (at + 1) as f64 * (weights[at] - 1.0) + 20.0 * (random.uniform() - 0.5)
    })
}

fn mean(checkpoints: &[[f64; 10]]) -> [f64; 10] {
    std::array::from_fn(|at| {
        checkpoints.iter().map(|it| it[at]).sum::<f64>() / checkpoints.len() as f64
    })
}

fn main() -> Result<()> {
    let mut random = SplitMix64::new(1);
    let mut weights = [4.0; 10];
    let mut checkpoints = Vec::new();
    for _ in 0..N_STEPS {
        let gradient = gradient(&weights, &mut random);
        for (weight, slope) in weights.iter_mut().zip(gradient) {
            *weight -= RATE * slope;
        }
        checkpoints.push(weights);
    }
    let last_five: Vec<[f64; 10]> = checkpoints.iter().rev().step_by(10).take(5).copied().collect();
    for (number, weights) in last_five.iter().enumerate() {
        println!("checkpoint of step {:>3}: loss {:.2}", N_STEPS - 10 * number, loss(weights));
    }
    println!("mean of the five:       loss {:.2}", loss(&mean(&last_five)));
    println!("mean of their losses:        {:.2}", last_five.iter().map(loss).sum::<f64>() / 5.0);
    let early: Vec<[f64; 10]> = checkpoints.iter().take(5).copied().collect();
    println!(
        "steps 1 to 5: loss {:.2} at last, {:.2} of the mean",
        loss(&early[4]),
        loss(&mean(&early))
    );

    let running = (50..=N_STEPS).map(|step| {
        let window: Vec<[f64; 10]> =
            checkpoints[..step].iter().rev().step_by(10).take(5).copied().collect();
        (step as f64, loss(&mean(&window)))
    });
    Chart::new("One checkpoint, and the mean of five", "step", "loss")
        .line(
            "each step",
            checkpoints
                .iter()
                .enumerate()
                .skip(5)
                .map(|(step, weights)| (step as f64, loss(weights))),
        )
        .line("mean of five", running)
        .save("averaging")
}
