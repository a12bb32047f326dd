//! Chapter 13: greedy search misses the likeliest sentence, beam search finds it (§6.1).

use anyhow::Result;
use book::Tree;
use transformer_core::text::{BOS, EOS};
use transformer_infer::search::{
    LengthPenalty, NextToken, Request, Search, beam_search, greedy_search,
};

/// The vocabulary: four special tokens, then words.
const WORDS: [&str; 8] = ["", "", "", "</s>", "ein", "der", "Hund", "Katze"];

/// A model that is a table: the probabilities of the next token depend on the tokens so far.
struct Table(Vec<Vec<u32>>);

fn next(tokens: &[u32]) -> Vec<(u32, f32)> {
    match tokens {
        [] => vec![(4, 0.6), (5, 0.4)],                // ein, der
        [4] => vec![(6, 0.36), (7, 0.34), (EOS, 0.3)], // nothing is likely after "ein"
        [5] => vec![(6, 0.9), (7, 0.1)],               // "Hund" is after "der"
        _ => vec![(EOS, 1.0)],
    }
}

impl NextToken for Table {
    fn n_rows(&self) -> usize {
        self.0.len()
    }

    fn vocab_size(&self) -> usize {
        WORDS.len()
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        let mut log_probs = Vec::new();
        for (row, token) in self.0.iter_mut().zip(last_tokens) {
            row.extend((*token != BOS).then_some(*token));
            let mut row_probs = vec![f32::NEG_INFINITY; WORDS.len()];
            for (id, probability) in next(row) {
                row_probs[id as usize] = probability.ln();
            }
            log_probs.extend(row_probs);
        }
        log_probs
    }

    fn select(&mut self, rows: &[usize]) {
        self.0 = rows.iter().map(|row| self.0[*row].clone()).collect();
    }
}

fn text(ids: &[u32]) -> String {
    ids.iter().map(|id| WORDS[*id as usize]).collect::<Vec<_>>().join(" ")
}

fn main() -> Result<()> {
    let search = Search {
        length_penalty: LengthPenalty::None,
        beam_size: 2,
        n_best: 2,
        ..Search::default()
    };
    let requests = [Request::up_to(4)];
    let greedy = greedy_search(&mut Table(vec![vec![]]), &requests, &search);
    println!("greedy: {} ({:.3})", text(&greedy[0].ids), greedy[0].log_prob.exp());
    let beam = beam_search(&mut Table(vec![vec![]]), &requests, &search);
    for hypothesis in &beam[0] {
        println!("beam of 2: {} ({:.3})", text(&hypothesis.ids), hypothesis.log_prob.exp());
    }

    // Every sentence, by walking the whole tree; the two likeliest prefixes of a length are kept.
    let mut tree = Tree::new("All sentences; blue: the beam of 2", "<s>");
    let mut level: Vec<(usize, Vec<u32>, f32, bool)> = vec![(0, vec![], 1.0, true)];
    let mut all = Vec::new();
    while !level.is_empty() {
        let grown = level.iter().flat_map(|(node, tokens, p, kept)| {
            next(tokens)
                .into_iter()
                .map(move |(id, q)| (*node, [tokens, &[id][..]].concat(), p * q, *kept))
        });
        let grown: Vec<_> = grown.collect();
        let mut best: Vec<f32> = grown.iter().filter(|it| it.3).map(|it| it.2).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        level.clear();
        for (parent, tokens, p, kept) in grown {
            let id = tokens.last().copied().unwrap_or(BOS);
            let is_kept = kept && best.iter().take(2).any(|it| *it <= p);
            let node = tree.node(parent, WORDS[id as usize], &format!("{p:.3}"), is_kept);
            match id {
                EOS => all.push((p, text(&tokens))),
                _ => level.push((node, tokens, p, is_kept)),
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (p, sentence) in &all {
        println!("{p:.3} {sentence}");
    }

    // Longer sentences have smaller probabilities: the penalty makes up for it.
    for (log_prob, n_tokens) in [(-3.0, 4), (-3.5, 8)] {
        let penalty = LengthPenalty::default();
        println!(
            "{n_tokens} tokens, log-probability {log_prob:.1}: score {:.3}",
            penalty.score(log_prob, n_tokens)
        );
    }
    tree.save("search")
}
