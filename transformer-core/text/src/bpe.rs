//! Training of byte pair merges (Sennrich et al. 2016, Algorithm 1).
//!
//! The trainer of the `tokenizers` crate iterates over hash maps with random seeds. This one uses a total order
//! everywhere, so the same words give the same merges on every machine.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

type Pair = (u32, u32);

/// Minimum count of a pair that is merged: the token of a pair that occurs once would occur in only one word.
const MIN_COUNT: u64 = 2;

#[derive(Debug)]
pub(super) struct Bpe {
    pub(super) vocab: Vec<String>,
    /// The merges, in order of priority.
    pub(super) merges: Vec<(String, String)>,
}

/// Learns merges from counted words until the vocabulary has `vocab_size` tokens.
///
/// `vocab` is the initial vocabulary: the special tokens, then every character of the words. Among equally frequent
/// pairs, the one with the smaller ids is merged first. No word may contain the spelling of a special token.
pub(super) fn train(
    words: &[(String, u64)],
    vocab: Vec<String>,
    vocab_size: usize,
    on_progress: &mut dyn FnMut(f64),
) -> Bpe {
    let mut ids: HashMap<String, u32> = vocab.iter().cloned().zip(0..).collect();
    let mut corpus = Corpus::new(words, &ids);
    let mut bpe = Bpe {
        vocab,
        merges: Vec::new(),
    };
    let mut learned = HashSet::new();
    let n_to_learn = vocab_size.saturating_sub(bpe.vocab.len());
    while bpe.vocab.len() < vocab_size {
        let n_left = vocab_size - bpe.vocab.len();
        on_progress(1.0 - n_left as f64 / n_to_learn as f64);
        let Some(pair) = corpus.most_frequent_pair() else {
            break;
        };
        let left = bpe.vocab[pair.0 as usize].clone();
        let right = bpe.vocab[pair.1 as usize].clone();
        // Two merges can give the same token: `ab` + `c` and `a` + `bc` are both `abc`.
        let id = *ids
            .entry(format!("{left}{right}"))
            .or_insert_with_key(|merged| {
                bpe.vocab.push(merged.clone());
                (bpe.vocab.len() - 1) as u32
            });
        corpus.merge(pair, id);
        // Such a token can restore a pair that was merged before; each merge is recorded once.
        if learned.insert(pair) {
            bpe.merges.push((left, right));
        }
    }
    bpe
}

/// The distinct words as tokens, with an index of their pairs.
struct Corpus {
    words: Vec<(Vec<u32>, u64)>,
    counts: HashMap<Pair, u64>,
    /// Indices of words that contain the pair, or did before a merge; may contain duplicates.
    word_indices: HashMap<Pair, Vec<usize>>,
    /// Every pair with a count that may be outdated; among equal counts the smaller ids come first.
    queue: BinaryHeap<(u64, Reverse<Pair>)>,
}

impl Corpus {
    fn new(words: &[(String, u64)], ids: &HashMap<String, u32>) -> Self {
        let id = |c: char| ids[c.encode_utf8(&mut [0; 4]) as &str];
        let words = words
            .iter()
            .map(|(word, n)| (word.chars().map(id).collect(), *n))
            .collect();
        let mut corpus = Self {
            words,
            counts: HashMap::new(),
            word_indices: HashMap::new(),
            queue: BinaryHeap::new(),
        };
        for (index, (word, count)) in corpus.words.iter().enumerate() {
            for pair in pairs(word) {
                *corpus.counts.entry(pair).or_default() += count;
                add_index(corpus.word_indices.entry(pair).or_default(), index);
            }
        }
        corpus.queue = corpus
            .counts
            .iter()
            .map(|(&pair, &n)| (n, Reverse(pair)))
            .collect();
        corpus
    }

    fn most_frequent_pair(&mut self) -> Option<Pair> {
        while let Some((queued, Reverse(pair))) = self.queue.pop() {
            let count = self.counts.get(&pair).copied().unwrap_or(0);
            if count != queued {
                // The entry is outdated. If the count grew, a newer entry is already in the queue; if it fell, the pair
                // is queued again with the lower count.
                if (MIN_COUNT..queued).contains(&count) {
                    self.queue.push((count, Reverse(pair)));
                }
            } else if count >= MIN_COUNT {
                return Some(pair);
            }
        }
        None
    }

    fn merge(&mut self, pair: Pair, id: u32) {
        let mut indices = self.word_indices.remove(&pair).unwrap_or_default();
        indices.sort_unstable();
        indices.dedup();
        let mut grown = HashSet::new();
        for index in indices {
            let (word, count) = &mut self.words[index];
            let Merged {
                word: merged,
                is_replaced,
                is_new,
            } = merge_in(word, pair, id);
            if merged.len() == word.len() {
                continue;
            }
            for old in changed_pairs(word, &is_replaced) {
                if let Some(n) = self.counts.get_mut(&old) {
                    *n -= *count;
                }
            }
            for new in changed_pairs(&merged, &is_new) {
                *self.counts.entry(new).or_default() += *count;
                add_index(self.word_indices.entry(new).or_default(), index);
                grown.insert(new);
            }
            *word = merged;
        }
        self.counts.remove(&pair);
        for new in grown {
            if let Some(&n) = self.counts.get(&new) {
                self.queue.push((n, Reverse(new)));
            }
        }
    }
}

fn pairs(word: &[u32]) -> impl Iterator<Item = Pair> {
    word.windows(2).map(|pair| (pair[0], pair[1]))
}

/// Returns the pairs in which at least one token is marked.
fn changed_pairs(word: &[u32], is_marked: &[bool]) -> impl Iterator<Item = Pair> {
    let marks = is_marked.windows(2).map(|marks| marks[0] || marks[1]);
    let pairs = pairs(word).zip(marks);
    pairs.filter_map(|(pair, is_changed)| is_changed.then_some(pair))
}

/// Adds an index to a list unless it is the last one there: a pair can occur in a word many times.
fn add_index(indices: &mut Vec<usize>, index: usize) {
    if indices.last() != Some(&index) {
        indices.push(index);
    }
}

struct Merged {
    word: Vec<u32>,
    /// True for each token of the word before the merge that was replaced.
    is_replaced: Vec<bool>,
    /// True for each token of the word that is new.
    is_new: Vec<bool>,
}

/// Merges `pair` in a word, from left to right.
fn merge_in(word: &[u32], pair: Pair, id: u32) -> Merged {
    let mut merged = Merged {
        word: Vec::with_capacity(word.len()),
        is_replaced: Vec::with_capacity(word.len()),
        is_new: Vec::with_capacity(word.len()),
    };
    let mut rest = word;
    while let [first, tail @ ..] = rest {
        let is_pair = tail.first().is_some_and(|second| (*first, *second) == pair);
        let n_replaced = if is_pair { 2 } else { 1 };
        merged.word.push(if is_pair { id } else { *first });
        merged.is_new.push(is_pair);
        merged.is_replaced.extend((0..n_replaced).map(|_| is_pair));
        rest = &rest[n_replaced..];
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(words: &[(&str, u64)], vocab_size: usize) -> Bpe {
        let words: Vec<_> = words
            .iter()
            .map(|(word, n)| ((*word).to_owned(), *n))
            .collect();
        let mut alphabet: Vec<String> = words
            .iter()
            .flat_map(|(word, _)| word.chars().map(String::from))
            .collect();
        alphabet.sort();
        alphabet.dedup();
        train(&words, alphabet, vocab_size, &mut |_| ())
    }

    fn merges(bpe: &Bpe) -> Vec<String> {
        bpe.merges
            .iter()
            .map(|(left, right)| format!("{left}+{right}"))
            .collect()
    }

    #[test]
    fn the_papers_example_gives_the_papers_merges() {
        // Sennrich et al. 2016, Algorithm 1 (`·` ends a word), and a word that breaks the tie between `es+t` and `t+·`.
        let words = [
            ("low·", 5),
            ("lower·", 2),
            ("newest·", 6),
            ("widest·", 3),
            ("est", 1),
        ];
        let bpe = learn(&words, 11 + 5);
        assert_eq!(merges(&bpe), ["e+s", "es+t", "est+·", "l+o", "lo+w"]);
    }

    #[test]
    fn a_pair_that_occurs_once_is_not_merged() {
        assert_eq!(merges(&learn(&[("abc", 1), ("ab", 1)], 100)), ["a+b"]);
    }

    #[test]
    fn overlapping_pairs_are_merged_from_the_left() {
        assert_eq!(merges(&learn(&[("aaa", 2)], 100)), ["a+a", "aa+a"]);
    }

    #[test]
    fn a_token_of_two_merges_is_in_the_vocabulary_once() {
        let words = [
            ("abc", 9),
            ("xab", 8),
            ("bc", 30),
            ("bcd", 5),
            ("zabc", 4),
            ("ab", 33),
        ];
        let bpe = learn(&words, 100);
        let mut unique = bpe.vocab.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), bpe.vocab.len());
    }
}
