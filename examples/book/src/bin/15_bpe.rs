//! Chapter 15: byte pair encoding by hand (§5.1, Sennrich et al. 2016).

use std::collections::BTreeMap;

use anyhow::Result;
use book::Chart;
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};

const TEXT: &str = "low low low low low lower lower newest newest newest newest newest newest widest widest widest";

/// Joins every occurrence of a pair of neighbors.
fn merge(tokens: &[String], pair: &(String, String)) -> Vec<String> {
    let mut merged: Vec<String> = Vec::new();
    for token in tokens {
        match merged.last_mut() {
            Some(last) if *last == pair.0 && *token == pair.1 => last.push_str(token),
            _ => merged.push(token.clone()),
        }
    }
    merged
}

fn main() -> Result<()> {
    // A word is its letters; `▁` before it is the space.
    let letters = |word: &str| format!("▁{word}").chars().map(String::from).collect();
    let mut words: Vec<Vec<String>> = TEXT.split(' ').map(letters).collect();
    let mut merges = Vec::new();
    let n_tokens = |words: &[Vec<String>]| words.iter().map(Vec::len).sum::<usize>();
    let mut curve = vec![(0.0, n_tokens(&words) as f64)];
    for step in 1..=10 {
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for word in &words {
            for pair in word.windows(2) {
                *counts.entry((pair[0].clone(), pair[1].clone())).or_default() += 1;
            }
        }
        // The most frequent pair; among equals, the first in the alphabet.
        let best = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
        let Some((pair, count)) = best else { break };
        words = words.iter().map(|word| merge(word, &pair)).collect();
        println!(
            "merge {step:>2}: {} + {} ({count} times), {} tokens",
            pair.0,
            pair.1,
            n_tokens(&words)
        );
        curve.push((f64::from(step), n_tokens(&words) as f64));
        merges.push(pair);
    }

    // A word that was never seen: the same merges, in the same order.
    let mut word: Vec<String> = letters("lowest");
    for pair in &merges {
        word = merge(&word, pair);
    }
    println!("lowest → {}", word.join(" "));

    // The crate's tokenizer, with as many tokens as it wants.
    let config =
        TokenizerConfig { kind: TokenizerKind::Bpe, vocab_size: 300, ..TokenizerConfig::default() };
    let tokenizer = Tokenizer::train(&config, [TEXT])?;
    for word in ["low", "newest", "lowest", "wow"] {
        let ids = tokenizer.encode(word);
        let tokens: Vec<String> = ids.iter().filter_map(|id| tokenizer.token(*id)).collect();
        println!("{word} → {} → {}", tokens.join(" "), tokenizer.decode(&ids));
    }
    Chart::new("Tokens of the text", "merges", "tokens").line("tokens", curve).save("bpe")
}
