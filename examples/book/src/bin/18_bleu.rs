//! Chapter 18: BLEU by hand (Papineni et al. 2002; §6.1).

use std::collections::BTreeMap;

use anyhow::Result;
use book::BarChart;
use transformer_infer::metrics::{Bleu, Smoothing};

/// The n-grams of a sentence, with their counts.
fn ngrams(sentence: &str, n: usize) -> BTreeMap<Vec<&str>, usize> {
    let words: Vec<&str> = sentence.split(' ').collect();
    let mut counts = BTreeMap::new();
    for ngram in words.windows(n) {
        *counts.entry(ngram.to_vec()).or_insert(0) += 1;
    }
    counts
}

/// Returns the numbers of a translation's n-grams that are in the reference, and of all. Each one of the reference
/// counts once.
fn matches(translation: &str, reference: &str, n: usize) -> (usize, usize) {
    let allowed = ngrams(reference, n);
    let found = ngrams(translation, n);
    let matched = found.iter().map(|(ngram, count)| *count.min(allowed.get(ngram).unwrap_or(&0)));
    (matched.sum(), found.values().sum())
}

/// Computes BLEU of a text: all sentences together.
fn bleu(pairs: &[(&str, &str)]) -> (f64, Vec<f64>) {
    let len = |text: &str| text.split(' ').count() as f64;
    let mut precisions = Vec::new();
    for n in 1..=4 {
        let counts =
            pairs.iter().map(|(translation, reference)| matches(translation, reference, n));
        let (matched, total) = counts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        println!("  {n}-grams: {matched:>2} of {total:>2}");
        precisions.push(100.0 * matched as f64 / total as f64);
    }
    let (ours, theirs) =
        pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + len(pair.0), sum.1 + len(pair.1)));
    let brevity = if ours < theirs { f64::exp(1.0 - theirs / ours) } else { 1.0 };
    let mean = precisions.iter().map(|precision| precision.ln()).sum::<f64>() / 4.0;
    println!("  {ours} words for {theirs}: brevity penalty {brevity:.3}");
    (brevity * mean.exp(), precisions)
}

fn main() -> Result<()> {
    let references = ["a small dog runs over the green grass", "two men are talking in the street"];
    let systems = [
        ("good", ["a small dog runs on the green grass", "two men are talking in the street"]),
        ("short", ["a small dog runs", "two men are talking in the street"]),
        (
            "shuffled",
            ["the green grass runs over a small dog", "in the street two men are talking"],
        ),
    ];
    let mut chart = BarChart::new(
        "Share of n-grams that are in the reference",
        "percent",
        &["words", "runs of 2", "runs of 3", "runs of 4"],
    );
    for (name, translations) in systems {
        println!("{name}");
        let pairs: Vec<(&str, &str)> = translations.into_iter().zip(references).collect();
        let (score, precisions) = bleu(&pairs);
        let metric = Bleu { smoothing: Smoothing::None, ..Bleu::default() };
        let theirs = metric.corpus_score(
            pairs.iter().map(|(translation, reference)| (*translation, [*reference])),
        );
        println!("  BLEU {score:.2}, transformer-infer {:.2}", theirs.score);
        chart = chart.bars(name, precisions);
    }
    println!(
        "`the the the` has {:?} of its words in the first reference",
        matches("the the the", references[0], 1)
    );
    chart.save("bleu")
}
