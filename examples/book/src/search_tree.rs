//! [`SearchTree`]: the steps of a recorded beam search as a picture, and as data for the interactive one.

use anyhow::Result;
use serde_json::json;
use transformer_core::text::EOS;
use transformer_infer::search::{Hypothesis, NEVER_GENERATED, SearchStep};

use crate::{Picture, save_data};

// Of the picture, in pixels.
const LEFT: f64 = 30.0;
const TOP: f64 = 60.0;
const COLUMN: f64 = 165.0;
const ROW: f64 = 46.0;
const WIDTH: f64 = 116.0;

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
        self.draw().save(name)
    }

    /// Draws boxes of two lines, from left to right in the order of the steps; grey ones were dropped.
    fn draw(&self) -> Picture {
        let mut rows = vec![0.0; self.nodes.len()];
        let n_leaves = self.layout(0, &mut rows, 0);
        let depth = self.nodes.iter().map(|node| node.step).max().unwrap_or(0) as f64;
        let width =
            (LEFT + COLUMN * depth + WIDTH + 30.0).max(10.0 * self.title.chars().count() as f64);
        let mut picture = Picture::new(width, TOP + ROW * n_leaves as f64 + 15.0, &self.title);
        let at =
            |index: usize| (LEFT + COLUMN * self.nodes[index].step as f64, TOP + ROW * rows[index]);
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            let ((from_x, from_y), (x, y)) = (at(node.parent), at(index));
            let class = if node.fate == Fate::Dropped { "grid" } else { "line s0" };
            picture.line(&[(from_x + WIDTH, from_y + 17.0), (x, y + 17.0)], class);
        }
        let best = self.found.first().map(|(node, _)| *node);
        for (index, node) in self.nodes.iter().enumerate() {
            let (x, y) = at(index);
            let class = if node.fate == Fate::Dropped { "off" } else { "on" };
            picture.rectangle([x, y, WIDTH, 34.0], class);
            let middle = x + WIDTH / 2.0;
            let (height, probability) = match index {
                0 => (22.0, String::new()),
                _ => {
                    let mark = if best == Some(index) { "best: " } else { "" };
                    (15.0, format!("{mark}{:.3}", node.log_prob.exp()))
                }
            };
            picture.text(middle, y + height, "middle", &node.text);
            picture.text(middle, y + 29.0, "small middle", probability);
        }
        picture
    }

    /// Sets the row of a node and of those that continue it: leaves one below the other, others in the middle of their
    /// children. Takes and returns the number of leaves so far.
    fn layout(&self, index: usize, rows: &mut [f64], mut n_leaves: usize) -> usize {
        let children: Vec<usize> =
            (1..self.nodes.len()).filter(|child| self.nodes[*child].parent == index).collect();
        for &child in &children {
            n_leaves = self.layout(child, rows, n_leaves);
        }
        match (children.first(), children.last()) {
            (Some(&first), Some(&last)) => rows[index] = f64::midpoint(rows[first], rows[last]),
            _ => {
                rows[index] = n_leaves as f64;
                n_leaves += 1;
            }
        }
        n_leaves
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
