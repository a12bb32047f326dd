//! Training of the pieces of a unigram language model (Kudo 2018, §3.2).
//!
//! Starts from all frequent substrings, then alternates between re-estimating the probabilities of pieces (EM) and
//! pruning the pieces that cost the least likelihood. Characters are never removed, so all text with the characters of
//! the training text can be encoded.
//!
//! The trainer of the `tokenizers` crate adds floats in the order in which threads finish, and scores rare characters
//! in the order of a hash map. This one has a fixed order everywhere, so the same words give the same pieces on every
//! machine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Maximum length of a piece, in characters.
const MAX_PIECE_LEN: usize = 16;
const MAX_SEEDS: usize = 1_000_000;
/// Share of the pieces that one round of pruning keeps.
const KEPT_SHARE: f64 = 0.75;
/// Rounds of EM between two prunings.
const EM_ROUNDS: usize = 2;
/// Pieces with a lower expected count are removed in the M step.
const MIN_EXPECTED: f64 = 0.5;
/// Pruning stops at this multiple of the final size; the least probable pieces are removed last.
const SURPLUS: f64 = 1.1;

/// A word as characters, and its count.
type Word = (Vec<char>, f64);

/// Learns at most `n_pieces` pieces with their natural-log probabilities, in descending order.
///
/// `n_pieces` must be at least the number of distinct characters.
pub(super) fn train(
    words: &[(String, u64)],
    n_pieces: usize,
    on_progress: &mut dyn FnMut(f64),
) -> Vec<(String, f64)> {
    let words: Vec<Word> = words
        .iter()
        .map(|(word, n)| (word.chars().collect(), *n as f64))
        .collect();
    let mut model = Unigram::new(seeds(&words));
    let target = (n_pieces as f64 * SURPLUS) as usize;
    // Each round keeps the same share of the pieces and takes about equally long.
    let left = |n_pieces: usize| (n_pieces as f64 / target as f64).ln().max(0.0);
    let all = left(model.pieces.len()).max(f64::MIN_POSITIVE);
    loop {
        on_progress(1.0 - left(model.pieces.len()) / all);
        for _ in 0..EM_ROUNDS {
            let expected = model.expected_counts(&words);
            model.reestimate(&expected);
        }
        if model.pieces.len() <= target {
            break;
        }
        let kept = (model.pieces.len() as f64 * KEPT_SHARE) as usize;
        model = model.prune(&words, kept.max(target));
    }
    model.best(n_pieces)
}

#[derive(Debug, Clone, PartialEq)]
struct Piece {
    chars: Vec<char>,
    log_prob: f64,
}

impl Piece {
    fn is_char(&self) -> bool {
        self.chars.len() == 1
    }
}

/// Returns the initial pieces: every character, and the substrings with the largest count times length.
fn seeds(words: &[Word]) -> Vec<Piece> {
    let mut chars: BTreeMap<char, f64> = BTreeMap::new();
    for (word, n) in words {
        for &c in word {
            *chars.entry(c).or_default() += n;
        }
    }
    let mut seeds: Vec<(Vec<char>, f64)> = frequent_substrings(words);
    seeds.sort_by(|(a, n), (b, m)| m.total_cmp(n).then_with(|| a.cmp(b)));
    seeds.truncate(MAX_SEEDS);
    seeds.extend(chars.into_iter().map(|(c, n)| (vec![c], n)));
    let total: f64 = seeds.iter().map(|(_, n)| n).sum();
    let piece = |(chars, n): (Vec<char>, f64)| Piece {
        chars,
        log_prob: (n / total).ln(),
    };
    seeds.into_iter().map(piece).collect()
}

/// Returns the substrings of at least two characters that occur at least twice, with count times length.
///
/// Proceeds by length: a string can be frequent only if it is frequent without its first and without its last
/// character. This keeps the table small.
fn frequent_substrings(words: &[Word]) -> Vec<(Vec<char>, f64)> {
    // True for each start if the substring of the previous length was frequent.
    let mut frequent: Vec<Vec<bool>> = words
        .iter()
        .map(|(word, _)| vec![true; word.len()])
        .collect();
    let mut found = Vec::new();
    for len in 2..=MAX_PIECE_LEN {
        let mut counts: HashMap<&[char], f64> = HashMap::new();
        for ((word, n), frequent) in words.iter().zip(&mut frequent) {
            let windows = word.windows(len).zip(frequent.windows(2));
            for (window, _) in windows.filter(|(_, frequent)| frequent[0] && frequent[1]) {
                *counts.entry(window).or_default() += n;
            }
        }
        counts.retain(|_, n| *n >= 2.0);
        if counts.is_empty() {
            break;
        }
        for ((word, _), frequent) in words.iter().zip(&mut frequent) {
            *frequent = word
                .windows(len)
                .map(|window| counts.contains_key(window))
                .collect();
        }
        found.extend(
            counts
                .into_iter()
                .map(|(chars, n)| (chars.to_vec(), n * len as f64)),
        );
    }
    found
}

/// The pieces, and a trie of their characters.
struct Unigram {
    pieces: Vec<Piece>,
    /// Maps a node and a character to the next node; node 0 is the empty string.
    children: HashMap<(u32, char), u32>,
    /// Index of the piece that ends at a node.
    ends: Vec<Option<usize>>,
}

/// A match of a piece in a word: start, end and index of the piece.
type Edge = (usize, usize, usize);

impl Unigram {
    fn new(pieces: Vec<Piece>) -> Self {
        let mut model = Self {
            pieces,
            children: HashMap::new(),
            ends: vec![None],
        };
        for (index, piece) in model.pieces.iter().enumerate() {
            let mut node = 0;
            for &c in &piece.chars {
                node = *model.children.entry((node, c)).or_insert_with(|| {
                    model.ends.push(None);
                    (model.ends.len() - 1) as u32
                });
            }
            model.ends[node as usize] = Some(index);
        }
        model
    }

    fn edges(&self, word: &[char], edges: &mut Vec<Edge>) {
        edges.clear();
        for start in 0..word.len() {
            let mut node = 0;
            for (end, &c) in (start + 1..).zip(&word[start..]) {
                let Some(&child) = self.children.get(&(node, c)) else {
                    break;
                };
                node = child;
                if let Some(piece) = self.ends[node as usize] {
                    edges.push((start, end, piece));
                }
            }
        }
    }

    /// Computes the expected count of each piece over all segmentations of all words (E step).
    fn expected_counts(&self, words: &[Word]) -> Vec<f64> {
        let mut expected = vec![0.0; self.pieces.len()];
        let mut edges = Vec::new();
        for (word, n) in words {
            self.edges(word, &mut edges);
            let mut forward = vec![f64::NEG_INFINITY; word.len() + 1];
            let mut backward = forward.clone();
            forward[0] = 0.0;
            backward[word.len()] = 0.0;
            for &(start, end, piece) in &edges {
                let path = forward[start] + self.pieces[piece].log_prob;
                forward[end] = log_add(forward[end], path);
            }
            for &(start, end, piece) in edges.iter().rev() {
                let path = backward[end] + self.pieces[piece].log_prob;
                backward[start] = log_add(backward[start], path);
            }
            let all = forward[word.len()];
            for &(start, end, piece) in &edges {
                let path = forward[start] + self.pieces[piece].log_prob + backward[end];
                expected[piece] += n * (path - all).exp();
            }
        }
        expected
    }

    /// Re-estimates the log-probabilities (M step), with a sparse prior: the digamma function instead of ln.
    fn reestimate(&mut self, expected: &[f64]) {
        let mut total = 0.0;
        let mut kept = Vec::with_capacity(self.pieces.len());
        for (piece, &n) in self.pieces.drain(..).zip(expected) {
            if n >= MIN_EXPECTED || piece.is_char() {
                let n = n.max(MIN_EXPECTED);
                total += n;
                kept.push(Piece {
                    log_prob: digamma(n),
                    ..piece
                });
            }
        }
        let normalizer = digamma(total);
        for piece in &mut kept {
            piece.log_prob -= normalizer;
        }
        *self = Self::new(kept);
    }

    /// Returns the most probable segmentation of a word, last piece first, that does not use piece `without`.
    fn segment(&self, word: &[char], without: Option<usize>, edges: &mut Vec<Edge>) -> Vec<usize> {
        self.edges(word, edges);
        let mut best = vec![(f64::NEG_INFINITY, None); word.len() + 1];
        best[0].0 = 0.0;
        for &(start, end, piece) in edges.iter().filter(|edge| Some(edge.2) != without) {
            let path = best[start].0 + self.pieces[piece].log_prob;
            if path > best[end].0 {
                best[end] = (path, Some((start, piece)));
            }
        }
        let mut pieces = Vec::new();
        let mut end = word.len();
        while let Some((start, piece)) = best[end].1 {
            pieces.push(piece);
            end = start;
        }
        pieces
    }

    /// Keeps `n_kept` pieces in total: all characters, and the pieces that would cost the words the most likelihood if
    /// removed, given the most probable segmentation of each word.
    fn prune(self, words: &[Word], n_kept: usize) -> Self {
        let mut edges = Vec::new();
        let mut counts = vec![0.0; self.pieces.len()];
        for (word, n) in words {
            for piece in self.segment(word, None, &mut edges) {
                counts[piece] += n;
            }
        }
        let total: f64 = counts.iter().sum();
        let mut losses = Vec::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            let n = counts[index];
            if n == 0.0 || piece.is_char() {
                continue;
            }
            let alternative = self.segment(&piece.chars, Some(index), &mut edges);
            // The pieces of the alternative replace each use of the piece.
            let new_total = (total + n * (alternative.len() as f64 - 1.0)).ln();
            let new: f64 = alternative
                .iter()
                .map(|&i| (counts[i] + n).ln() - new_total)
                .sum();
            losses.push((n * (n.ln() - total.ln() - new), index));
        }
        losses.sort_by(|(a, i), (b, j)| b.total_cmp(a).then_with(|| i.cmp(j)));
        let n_chars = self.pieces.iter().filter(|piece| piece.is_char()).count();
        losses.truncate(n_kept.saturating_sub(n_chars));
        let mut is_kept: Vec<bool> = self.pieces.iter().map(Piece::is_char).collect();
        for (_, index) in losses {
            is_kept[index] = true;
        }
        let kept = self.pieces.into_iter().zip(is_kept);
        Self::new(
            kept.filter_map(|(piece, is_kept)| is_kept.then_some(piece))
                .collect(),
        )
    }

    fn best(mut self, n_pieces: usize) -> Vec<(String, f64)> {
        let in_order = |a: &Piece, b: &Piece| {
            let by_probability = b.log_prob.total_cmp(&a.log_prob);
            by_probability.then_with(|| a.chars.cmp(&b.chars))
        };
        self.pieces.sort_by(in_order);
        self.pieces.sort_by_key(|piece| Reverse(piece.is_char()));
        self.pieces.truncate(n_pieces);
        self.pieces.sort_by(in_order);
        // Every JSON reader parses six decimals exactly, but not seventeen.
        let round = |log_prob: f64| (log_prob * 1e6).round() / 1e6;
        let text = |piece: Piece| (piece.chars.into_iter().collect(), round(piece.log_prob));
        self.pieces.into_iter().map(text).collect()
    }
}

/// Computes `ln(eᵃ + eᵇ)`; one of them may be −∞.
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high + (low - high).exp().ln_1p()
}

/// Computes the digamma function of a positive argument: recurrence up to 6, then the asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 6.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)));
    shift + x.ln() - 0.5 / x - series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(words: &[(&str, u64)]) -> Vec<(String, u64)> {
        words
            .iter()
            .map(|(word, n)| ((*word).to_owned(), *n))
            .collect()
    }

    fn piece(text: &str, prob: f64) -> Piece {
        Piece {
            chars: text.chars().collect(),
            log_prob: prob.ln(),
        }
    }

    #[test]
    fn digamma_has_its_known_values() {
        // ψ(1) = −γ, ψ(1/2) = −γ − 2 ln 2; the error of the series is below 1e-9.
        let gamma = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + gamma).abs() < 1e-9);
        assert!((digamma(0.5) + gamma + 2.0 * 2f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn expected_counts_weigh_every_segmentation() {
        let model = Unigram::new(vec![piece("a", 0.4), piece("b", 0.4), piece("ab", 0.2)]);
        let expected = model.expected_counts(&[("ab".chars().collect(), 9.0)]);
        // P(a b) = 0.16, P(ab) = 0.2: shares 4/9 and 5/9 of nine words.
        for (found, expected) in expected.iter().zip([4.0, 4.0, 5.0]) {
            assert!(
                (found - expected).abs() < 1e-12,
                "{found} is not {expected}"
            );
        }
    }

    #[test]
    fn the_most_probable_segmentation_is_returned() {
        let model = Unigram::new(vec![piece("a", 0.4), piece("b", 0.4), piece("ab", 0.2)]);
        let word: Vec<char> = "aab".chars().collect();
        assert_eq!(model.segment(&word, None, &mut Vec::new()), [2, 0]);
        assert_eq!(model.segment(&word, Some(2), &mut Vec::new()), [1, 0, 0]);
    }

    #[test]
    fn frequent_words_become_pieces() {
        let pieces = train(
            &counted(&[("▁the", 50), ("▁then", 2), ("▁hat", 3)]),
            9,
            &mut |_| (),
        );
        assert!(pieces.iter().any(|(text, _)| text == "▁the"), "{pieces:?}");
        assert!(pieces.len() <= 9);
    }

    #[test]
    fn characters_are_never_removed() {
        let words = counted(&[("abab", 100), ("q", 1), ("ab", 50)]);
        let pieces = train(&words, 3, &mut |_| ());
        let mut texts: Vec<_> = pieces.iter().map(|(text, _)| text.as_str()).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["a", "b", "q"]);
    }
}
