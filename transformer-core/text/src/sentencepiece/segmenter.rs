//! [`Segmenter`]: splits normalized text into pieces.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use super::normalizer::char_len;
use super::proto::{ModelKind, Piece, PieceKind};
use super::trie::Trie;

/// Score of an unknown character, below the lowest score of a piece, in nats.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Splits normalized text into the pieces of a model.
#[derive(Clone, Debug)]
pub(super) struct Segmenter {
    pub(super) is_bpe: bool,
    scores: Vec<f32>,
    pub(super) kinds: Vec<PieceKind>,
    pieces: Trie,
    user_defined: Trie,
    /// The lowest score of a normal piece.
    pub(super) min_score: f32,
    max_score: f32,
}

/// A part of the text: its range of bytes, and whether it is a piece of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) range: Range<usize>,
    pub(super) is_known: bool,
}

/// The last part of the best segmentation of a prefix.
#[derive(Clone, Copy, Debug)]
struct Path {
    score: f32,
    start: usize,
    is_known: bool,
}

/// Two adjacent symbols that form a piece together.
#[derive(Debug)]
struct Pair {
    left: usize,
    right: usize,
    score: f32,
    len: usize,
}

/// A run of characters during merging; an empty one was merged into its left neighbor.
#[derive(Debug)]
struct Symbol {
    range: Range<usize>,
    prev: Option<usize>,
    next: Option<usize>,
    is_frozen: bool,
}

impl Segmenter {
    pub(super) fn new(kind: ModelKind, pieces: &[Piece], user_defined: Trie) -> Self {
        let of_text = pieces.iter().enumerate();
        let of_text = of_text.filter(|(_, it)| it.kind().is_text());
        let of_text = of_text.map(|(id, piece)| (piece.text.as_str(), id));
        let normal = pieces.iter().filter(|it| it.kind() == PieceKind::Normal);
        // As in SentencePiece: the maximum starts at the smallest positive float, not at the lowest.
        let extremes = (f32::MAX, f32::MIN_POSITIVE);
        let (min_score, max_score) = normal.fold(extremes, |(min, max), piece| {
            (min.min(piece.score), max.max(piece.score))
        });
        Self {
            is_bpe: kind == ModelKind::Bpe,
            scores: pieces.iter().map(|piece| piece.score).collect(),
            kinds: pieces.iter().map(Piece::kind).collect(),
            pieces: Trie::new(of_text),
            user_defined,
            min_score,
            max_score,
        }
    }

    /// Returns the kind of a piece that can occur in a segmentation.
    pub(super) fn kind(&self, piece: &str) -> Option<PieceKind> {
        self.pieces.get(piece).map(|id| self.kinds[id])
    }

    pub(super) fn score(&self, piece: &str) -> Option<f32> {
        let id = self.pieces.get(piece)?;
        (self.kinds[id] == PieceKind::Normal).then(|| self.scores[id])
    }

    /// Splits a text into parts without gaps. Adjacent unknown characters are one part.
    pub(super) fn segment(&self, text: &str) -> Vec<Part> {
        let parts = match self.is_bpe {
            true => self.merge(text),
            false => self.best_segmentation(text),
        };
        let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
        for part in parts {
            match joined.last_mut() {
                Some(last) if !last.is_known && !part.is_known => last.range.end = part.range.end,
                _ => joined.push(part),
            }
        }
        joined
    }

    /// Returns the segmentation with the highest sum of scores (Kudo 2018, §3.1). Sums are rounded to single
    /// precision at every step, as in SentencePiece; this decides between similar scores.
    fn best_segmentation(&self, text: &str) -> Vec<Part> {
        let bytes = text.as_bytes();
        let unknown_score = self.min_score - UNKNOWN_PENALTY;
        let mut best: Vec<Option<Path>> = vec![None; bytes.len() + 1];
        let mut start = 0;
        while start < bytes.len() {
            let before = best[start].map_or(0.0, |path| path.score);
            let one_char = char_len(bytes[start]);
            let mut has_one_char = false;
            for (len, id) in self.pieces.prefixes(&bytes[start..]) {
                let score = match self.kinds[id] {
                    PieceKind::Unused => continue,
                    // A bonus, so that it is always used.
                    PieceKind::UserDefined => f64::from(len as f32 * self.max_score) - 0.1,
                    _ => f64::from(self.scores[id]),
                };
                let path = Path {
                    score: 0.0,
                    start,
                    is_known: true,
                };
                update(&mut best[start + len], score + f64::from(before), path);
                has_one_char |= len == one_char;
            }
            if !has_one_char {
                let path = Path {
                    score: 0.0,
                    start,
                    is_known: false,
                };
                let score = f64::from(unknown_score + before);
                update(&mut best[start + one_char], score, path);
            }
            start += one_char;
        }
        let mut parts = Vec::new();
        let mut end = bytes.len();
        while let Some(path) = best[end].filter(|_| end > 0) {
            parts.push(Part {
                range: path.start..end,
                is_known: path.is_known,
            });
            end = path.start;
        }
        parts.reverse();
        parts
    }

    /// Segments by byte pair encoding (Sennrich et al. 2016): repeatedly merges the adjacent symbols that form the
    /// piece with the highest score, the leftmost among equal ones.
    fn merge(&self, text: &str) -> Vec<Part> {
        let mut symbols = self.symbols(text);
        let mut agenda = BinaryHeap::new();
        // Where unused pieces were merged: they are split again in the end.
        let mut halves: HashMap<&str, usize> = HashMap::new();
        for right in 1..symbols.len() {
            self.propose(text, &symbols, right - 1, right, &mut agenda, &mut halves);
        }
        while let Some(Pair {
            left, right, len, ..
        }) = agenda.pop()
        {
            let (first, second) = (symbols[left].range.clone(), symbols[right].range.clone());
            if first.is_empty() || second.is_empty() || first.len() + second.len() != len {
                continue;
            }
            symbols[left].range.end = second.end;
            symbols[right].range.start = second.end;
            let next = symbols[right].next;
            symbols[left].next = next;
            if let Some(next) = next {
                symbols[next].prev = Some(left);
                self.propose(text, &symbols, left, next, &mut agenda, &mut halves);
            }
            if let Some(prev) = symbols[left].prev {
                self.propose(text, &symbols, prev, left, &mut agenda, &mut halves);
            }
        }
        let mut parts = Vec::new();
        for symbol in symbols.iter().filter(|symbol| !symbol.range.is_empty()) {
            self.split_unused(text, symbol.range.clone(), &halves, &mut parts);
        }
        parts
    }

    /// Splits a text into characters and user-defined symbols.
    fn symbols(&self, text: &str) -> Vec<Symbol> {
        let bytes = text.as_bytes();
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let symbol = self.user_defined.longest(&bytes[start..]);
            let end = start + symbol.unwrap_or_else(|| char_len(bytes[start]));
            symbols.push(Symbol {
                range: start..end,
                prev: symbols.len().checked_sub(1),
                next: (end < bytes.len()).then_some(symbols.len() + 1),
                is_frozen: symbol.is_some(),
            });
            start = end;
        }
        symbols
    }

    fn propose<'a>(
        &self,
        text: &'a str,
        symbols: &[Symbol],
        left: usize,
        right: usize,
        agenda: &mut BinaryHeap<Pair>,
        halves: &mut HashMap<&'a str, usize>,
    ) {
        let (first, second) = (&symbols[left], &symbols[right]);
        if first.is_frozen || second.is_frozen {
            return;
        }
        let piece = &text[first.range.start..second.range.end];
        let Some(id) = self.pieces.get(piece) else {
            return;
        };
        agenda.push(Pair {
            left,
            right,
            // SentencePiece compares floats, where zeros of both signs are equal.
            score: self.scores[id] + 0.0,
            len: piece.len(),
        });
        if self.kinds[id] == PieceKind::Unused {
            halves.insert(piece, first.range.len());
        }
    }

    fn split_unused(
        &self,
        text: &str,
        range: Range<usize>,
        halves: &HashMap<&str, usize>,
        parts: &mut Vec<Part>,
    ) {
        let piece = &text[range.clone()];
        let id = self.pieces.get(piece);
        let is_unused = id.is_some_and(|id| self.kinds[id] == PieceKind::Unused);
        match halves.get(piece).filter(|_| is_unused) {
            Some(len) => {
                let middle = range.start + len;
                self.split_unused(text, range.start..middle, halves, parts);
                self.split_unused(text, middle..range.end, halves, parts);
            }
            None => parts.push(Part {
                is_known: id.is_some(),
                range,
            }),
        }
    }
}

/// Replaces the best path if there is none or this one has a higher score.
fn update(best: &mut Option<Path>, score: f64, path: Path) {
    if best.is_none_or(|best| score > f64::from(best.score)) {
        *best = Some(Path {
            score: score as f32,
            ..path
        });
    }
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}
