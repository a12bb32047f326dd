//! [`SearchTree`]: the steps of a recorded beam search as a picture, and as data for the interactive one.

use anyhow::Result;
use serde_json::json;
use transformer_core::text::EOS;
use transformer_infer::search::{Hypothesis, NEVER_GENERATED, SearchStep};

use crate::drawing::Tree;
use crate::save_data;

/// The continuations that a beam search of one sentence ranked at each step, and their fates.
#[derive(Clone, Debug)]
pub struct SearchTree {
    title: String,
    beam_size: usize,
    nodes: Vec<Node>,
    /// The hypotheses that the search found, with the index of their last node.
    found: Vec<(usize, Hypothesis)>,
}

/// A ranked continuation.
#[derive(Clone, Debug)]
struct Node {
    /// The index of the node that it continues.
    parent: usize,
    /// The step in which it was ranked, from 1; 0 for the root.
    step: usize,
    id: u32,
    text: String,
    /// The log-probability of all tokens up to here.
    log_prob: f32,
    fate: Fate,
}

/// The fate of a continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is a row of the next step.
    Kept,
    /// It ends with EOS, and is among the finished hypotheses.
    Finished,
    /// It was in the beam when the search ended.
    Left,
    Dropped,
}

impl SearchTree {
    /// Creates the tree of a search with one row at first; `text` spells a token.
    ///
    /// Like [`beam_search`](transformer_infer::search::beam_search), it ranks `2 · beam_size` continuations at a step.
    /// The next recorded step shows which of them were kept.
    ///
    /// # Panics
    ///
    /// Panics if a kept row is not among the ranked ones, because then it is another search.
    pub fn new(
        title: &str,
        steps: &[SearchStep],
        beam_size: usize,
        found: &[Hypothesis],
        text: impl Fn(u32) -> String,
    ) -> Self {
        let root = Node {
            parent: 0,
            step: 0,
            id: 0,
            text: "<s>".to_owned(),
            log_prob: 0.0,
            fate: Fate::Kept,
        };
        let mut nodes = vec![root];
        let mut rows = vec![0];
        for (index, step) in steps.iter().enumerate() {
            if index > 0 {
                let kept = step.parents.iter().zip(&step.tokens);
                rows = kept.map(|(row, id)| child(&nodes, rows[*row], *id)).collect();
                rows.iter().for_each(|row| nodes[*row].fate = Fate::Kept);
            }
            let is_last = index + 1 == steps.len();
            let mut n_open = 0;
            let ranked = ranked(step, &rows, &nodes).into_iter().take(2 * beam_size);
            for (rank, (row, id, log_prob)) in ranked.enumerate() {
                n_open += usize::from(id != EOS);
                let fate = match id {
                    EOS if rank < beam_size => Fate::Finished,
                    EOS => Fate::Dropped,
                    _ if is_last && n_open <= beam_size => Fate::Left,
                    _ => Fate::Dropped,
                };
                let (step, text) = (index + 1, text(id));
                nodes.push(Node { parent: rows[row], step, id, text, log_prob, fate });
            }
        }
        let end = |hypothesis: &Hypothesis| {
            let ids = hypothesis.ids.iter().chain(hypothesis.finished.then_some(&EOS));
            ids.fold(0, |node, id| child(&nodes, node, *id))
        };
        let found = found.iter().map(|hypothesis| (end(hypothesis), hypothesis.clone())).collect();
        Self { title: title.to_owned(), beam_size, nodes, found }
    }

    /// Draws the tree with probabilities, and writes it like [`Picture::save`](crate::Picture::save).
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save(&self, name: &str) -> Result<()> {
        let mut tree = Tree::new(&self.title, &self.nodes[0].text);
        let best = self.found.first().map(|(node, _)| *node);
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            let mark = if best == Some(index) { "best: " } else { "" };
            let probability = format!("{mark}{:.3}", node.log_prob.exp());
            tree.node(node.parent, &node.text, &probability, node.fate != Fate::Dropped);
        }
        tree.save(name)
    }

    /// Writes the data of the interactive tree like [`save_data`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save_data(&self, name: &str) -> Result<()> {
        let node = |node: &Node| {
            let log_prob = (f64::from(node.log_prob) * 1e4).round() / 1e4;
            let fate = match node.fate {
                Fate::Kept => "kept",
                Fate::Finished => "finished",
                Fate::Left => "left",
                Fate::Dropped => "dropped",
            };
            let (parent, step, text) = (node.parent, node.step, &node.text);
            json!({"parent": parent, "step": step, "text": text, "log_prob": log_prob, "fate": fate}).to_string()
        };
        let found = self.found.iter().map(|(node, hypothesis)| {
            json!({"node": node, "score": (hypothesis.score * 1e4).round() / 1e4}).to_string()
        });
        let nodes: Vec<String> = self.nodes.iter().map(node).collect();
        let found: Vec<String> = found.collect();
        let head = format!("\"beam_size\": {}", self.beam_size);
        let (nodes, found) = (nodes.join(",\n"), found.join(",\n"));
        save_data(name, &format!("{{{head},\n\"nodes\": [\n{nodes}],\n\"found\": [\n{found}]}}"))
    }
}

/// Returns the continuations of all rows, the likeliest first: row, token and log-probability.
fn ranked(step: &SearchStep, rows: &[usize], nodes: &[Node]) -> Vec<(usize, u32, f32)> {
    let mut all = Vec::new();
    let vocab_size = step.log_probs.len() / rows.len();
    for (row, log_probs) in step.log_probs.chunks(vocab_size).enumerate() {
        for (id, log_prob) in (0..).zip(log_probs) {
            if log_prob.is_finite() && !NEVER_GENERATED.contains(&id) {
                all.push((row, id, nodes[rows[row]].log_prob + log_prob));
            }
        }
    }
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    all
}

/// Returns the index of the node that continues another by a token.
fn child(nodes: &[Node], parent: usize, id: u32) -> usize {
    let index = nodes.iter().skip(1).position(|node| node.parent == parent && node.id == id);
    index.map(|index| index + 1).expect("the search kept what is ranked here")
}
