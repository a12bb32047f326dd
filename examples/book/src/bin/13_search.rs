//! Chapter 13: greedy search misses the likeliest sentence, beam search finds it (§6.1).

use anyhow::Result;
use book::SearchTree;
use transformer_core::text::EOS;
use transformer_infer::search::{
    LengthPenalty, PrefixScorer, Recorder, Request, Search, beam_search, greedy_search,
};

/// The vocabulary: four special tokens, then words.
const WORDS: [&str; 8] = ["", "", "", "</s>", "ein", "der", "Hund", "Katze"];

/// The model: the probabilities of the next word, given the words so far.
fn next(tokens: &[u32]) -> Vec<(u32, f32)> {
    match tokens {
        [] => vec![(4, 0.6), (5, 0.4)],                // ein, der
        [4] => vec![(6, 0.36), (7, 0.34), (EOS, 0.3)], // nothing is likely after "ein"
        [5] => vec![(6, 0.9), (7, 0.1)],               // "Hund" is after "der"
        _ => vec![(EOS, 1.0)],
    }
}

/// The same in the form for a search: a logarithm for every token.
fn log_probs(tokens: &[u32]) -> Vec<f32> {
    let mut row = vec![f32::NEG_INFINITY; WORDS.len()];
    next(tokens).into_iter().for_each(|(id, probability)| row[id as usize] = probability.ln());
    row
}

/// Returns all sentences that begin with these tokens of probability `p`.
fn sentences(tokens: &[u32], p: f32) -> Vec<(f32, String)> {
    match tokens.last() {
        Some(&EOS) => vec![(p, text(tokens))],
        _ => next(tokens)
            .iter()
            .flat_map(|(id, q)| sentences(&[tokens, &[*id]].concat(), p * q))
            .collect(),
    }
}

fn text(ids: &[u32]) -> String {
    ids.iter().map(|id| WORDS[*id as usize]).collect::<Vec<_>>().join(" ")
}

fn main() -> Result<()> {
    let length_penalty = LengthPenalty::None;
    let search = Search { length_penalty, beam_size: 2, n_best: 2, ..Search::default() };
    let model = PrefixScorer::new(1, WORDS.len(), log_probs);
    let greedy = greedy_search(&mut model.clone(), &[Request::up_to(4)], &search);
    println!("greedy: {} ({:.3})", text(&greedy[0].ids), greedy[0].log_prob.exp());
    let mut recorder = Recorder::new(model);
    let beam = beam_search(&mut recorder, &[Request::up_to(4)], &search).remove(0);
    for hypothesis in &beam {
        println!("beam of 2: {} ({:.3})", text(&hypothesis.ids), hypothesis.log_prob.exp());
    }
    let mut all = sentences(&[], 1.0);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.iter().for_each(|(p, sentence)| println!("{p:.3} {sentence}"));

    // Longer sentences have smaller probabilities; the penalty compensates for that.
    for (log_prob, n) in [(-3.0, 4), (-3.5, 8)] {
        let score = LengthPenalty::default().score(log_prob, n);
        println!("{n} tokens, log-probability {log_prob:.1}: score {score:.3}");
    }
    let title = "What a beam of 2 ranked; blue: what it kept";
    let tree = SearchTree::new(title, recorder.steps(), 2, &beam, |id| text(&[id]));
    tree.save_data("search")?;
    tree.save("search")
}
