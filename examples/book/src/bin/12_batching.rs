//! Chapter 12: batches of equal numbers of tokens, not of sentences (§5.1).

use anyhow::Result;
use book::{HeatMap, Scale};
use burn::tensor::{Device, Tensor, TensorData};
use transformer_core::device;
use transformer_core::random::SplitMix64;
use transformer_train::batching::Plan;
use transformer_train::config::TrainingSettings;

const N_SENTENCES: usize = 2000;
const BUDGET: usize = 256;

/// Returns the tokens of a batch with and without padding: the tensor has the length of the longest sentence.
fn tokens(batch: &[u32]) -> (u32, u32) {
    let longest = batch.iter().max().copied().unwrap_or(0);
    (longest * batch.len() as u32, batch.iter().sum())
}

fn report(name: &str, batches: &[Vec<u32>]) {
    let (padded, real) =
        batches.iter().map(|batch| tokens(batch)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let sizes = batches.iter().map(|batch| tokens(batch).1);
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    let padding = 100.0 * f64::from(padded - real) / f64::from(padded);
    println!(
        "{name:<28}{:>4} batches, {padding:>4.1}% padding, {least:>3} to {most:>3} words each",
        batches.len()
    );
}

/// Returns a batch as a matrix: 0.6 for a word, 0 for padding.
fn rectangle(batch: &[u32], device: &Device) -> Tensor<2> {
    let width = batch.iter().max().copied().unwrap_or(0);
    let cells =
        batch.iter().flat_map(|len| (0..width).map(move |at| if at < *len { 0.6 } else { 0.0 }));
    let data = TensorData::new(cells.collect::<Vec<f32>>(), [batch.len(), width as usize]);
    Tensor::from_data(data, device)
}

fn main() -> Result<()> {
    // Sentences are mostly short: the product of two dice, and some more.
    let mut random = SplitMix64::new(1);
    let lengths: Vec<u32> = (0..N_SENTENCES)
        .map(|_| 2 + ((1 + random.below(6)) * (1 + random.below(6))) as u32)
        .collect();

    let by_sentences: Vec<Vec<u32>> = lengths.chunks(16).map(|it| it.to_vec()).collect();
    report("16 sentences, as they come", &by_sentences);
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let by_length: Vec<Vec<u32>> = sorted.chunks(16).map(|it| it.to_vec()).collect();
    report("16 sentences, sorted", &by_length);

    // The trainer's plan: sentences of like length, up to the budget; the order of the batches is random.
    let pairs: Vec<(u32, u32)> = lengths.iter().map(|len| (*len, *len)).collect();
    let settings = TrainingSettings { tokens_per_batch: BUDGET, ..TrainingSettings::default() };
    let mut plan = Plan::new(&pairs, &settings)?;
    let by_tokens: Vec<Vec<u32>> = (0..plan.batches_per_pass(0))
        .map(|k| plan.batch(k).iter().map(|index| lengths[*index as usize]).collect())
        .collect();
    report("256 tokens, like length", &by_tokens);
    for batch in by_tokens.iter().take(5) {
        let longest = batch.iter().max().copied().unwrap_or(0);
        println!("{:>3} sentences of at most {longest} words", batch.len());
    }

    let (_, device) = device::choose(Some("flex"))?;
    HeatMap::new("Words (blue) and padding (grey) of a batch", Scale::Share, "sentence", "position")
        .cells(6.0, 12.0)
        .numbered("16 sentences, as they come", &rectangle(&by_sentences[0], &device))
        .numbered("256 tokens, like length", &rectangle(&by_tokens[0], &device))
        .save("batches")
}
