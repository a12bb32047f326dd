//! Chapter 10: the learning rate rises, then falls (§5.3, Eq. 3).

use anyhow::Result;
use book::Chart;
use transformer_train::config::TrainingSettings;
use transformer_train::optim::Schedule;

/// Equation 3: `d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)`.
fn equation_3(d_model: f64, warmup: f64, step: f64) -> f64 {
    d_model.powf(-0.5) * step.powf(-0.5).min(step * warmup.powf(-1.5))
}

fn main() -> Result<()> {
    let mut chart = Chart::new("Noam's schedule", "update", "learning rate");
    println!("{:>8}{:>8}{:>12}{:>12}{:>12}", "d_model", "warmup", "at 1000", "peak", "at 20000");
    for (d_model, warmup) in [(512, 4000), (512, 8000), (256, 4000)] {
        let rate = |step: f64| equation_3(d_model as f64, f64::from(warmup), step);
        let [early, peak, late] = [1000.0, f64::from(warmup), 20_000.0].map(rate);
        println!("{d_model:>8}{warmup:>8}{early:>12.6}{peak:>12.6}{late:>12.6}");
        let points = (0..=200).map(|step| f64::from(step * 100 + 1)).map(|step| (step, rate(step)));
        chart = chart.line(&format!("d_model {d_model}, warmup {warmup}"), points);
    }
    chart.save("schedule")?;

    // The trainer's schedule is the same function.
    let settings = TrainingSettings { warmup_steps: 4000, ..TrainingSettings::default() };
    let schedule = Schedule::new(&settings, 512);
    let differences = (1..=20_000)
        .map(|step| (schedule.learning_rate(step) - equation_3(512.0, 4000.0, step as f64)).abs());
    println!("largest difference from transformer-train: {:.12}", differences.fold(0.0, f64::max));
    Ok(())
}
