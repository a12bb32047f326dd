//! Chapter 3: attention over three words, with numbers that fit on paper (§3.2.1, Eq. 1).

use anyhow::Result;
use book::{HeatMap, Scale, figures, table};
use burn::tensor::{Tensor, activation};
use transformer_core::device;

const WORDS: [&str; 3] = ["dogs", "chase", "cats"];
const D_K: usize = 2;
/// The query of each word: (a noun, a verb).
const QUERIES: [[f32; D_K]; 3] = [[0.0, 2.0], [2.0, 0.0], [0.0, 2.0]];
/// The key of each word: (a noun, a verb).
const KEYS: [[f32; D_K]; 3] = [[3.0, 0.0], [0.0, 3.0], [2.0, 0.0]];
/// The value of each word: (about dogs, about chasing, about cats).
const VALUES: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn main() -> Result<()> {
    // By hand, for the query of one word.
    let query = QUERIES[1];
    let scores = KEYS.map(|key| (query[0] * key[0] + query[1] * key[1]) / (D_K as f32).sqrt());
    let powers = scores.map(f32::exp);
    let weights = powers.map(|power| power / powers.iter().sum::<f32>());
    println!("`{}` looks for a noun:", WORDS[1]);
    for (index, word) in WORDS.iter().enumerate() {
        let (score, power, weight) = (scores[index], powers[index], weights[index]);
        println!("{word:>7}: score {score:.3}, e^score {power:>6.3}, weight {weight:.3}");
    }
    let mut output = [0.0; 3];
    for (value, weight) in VALUES.iter().zip(weights) {
        for (sum, feature) in output.iter_mut().zip(value) {
            *sum += weight * feature;
        }
    }
    println!("{:>7}: {:.3} {:.3} {:.3}\n", "output", output[0], output[1], output[2]);

    // As matrices, for all words at once: softmax(QKᵀ/√d_k)·V.
    let (_, device) = device::choose(Some("flex"))?;
    let q = Tensor::<2>::from_data(QUERIES, &device);
    let k = Tensor::<2>::from_data(KEYS, &device);
    let v = Tensor::<2>::from_data(VALUES, &device);
    let scores = q.matmul(k.transpose()) / (D_K as f64).sqrt(); // [query, key]
    let weights = activation::softmax(scores.clone(), 1);
    table("scores", &WORDS, &WORDS, &scores);
    table("\nweights", &WORDS, &WORDS, &weights);
    table("\noutput", &WORDS, &["dogs", "chasing", "cats"], &weights.clone().matmul(v));

    HeatMap::new("Who attends to whom", Scale::Share, "query", "key")
        .cells(60.0, 36.0)
        .panel("attention weights", &WORDS, &WORDS, &weights)
        .save("three-words")?;
    figures::scaled_dot_products().save("scaled-dot-products")
}
