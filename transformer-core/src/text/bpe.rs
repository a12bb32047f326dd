//! Learns byte pair merges (Sennrich et al. 2016, Algorithm 1).
//!
//! The trainer of the `tokenizers` crate walks hash maps with random seeds; here everything is
//! done in a total order, so the same words give the same merges on every machine.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Two neighboring tokens.
type Pair = (u32, u32);

/// A pair that occurs only once is no pattern: its token would be seen in one word only.
const MIN_COUNT: u64 = 2;

/// What training learns.
#[derive(Debug)]
pub(super) struct Bpe {
    /// Every token, in order of its id.
    pub(super) vocab: Vec<String>,
    /// The pairs to merge, the most important first.
    pub(super) merges: Vec<(String, String)>,
}

/// Learns merges from counted words until the vocabulary holds `vocab_size` tokens.
///
/// `vocab` is what it starts from: the special tokens and then every character of the words.
/// Among equally frequent pairs the one with the smaller ids comes first. No word may contain the
/// spelling of a special token.
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
        // `abc` can come from `ab` and `c` as well as from `a` and `bc`: one token, two merges.
        let id = *ids
            .entry(format!("{left}{right}"))
            .or_insert_with_key(|merged| {
                bpe.vocab.push(merged.clone());
                (bpe.vocab.len() - 1) as u32
            });
        corpus.merge(pair, id);
        // Such a second way can bring back a pair that was merged before.
        if learned.insert(pair) {
            bpe.merges.push((left, right));
        }
    }
    bpe
}

/// The distinct words as tokens, and where each pair of tokens stands.
struct Corpus {
    words: Vec<(Vec<u32>, u64)>,
    counts: HashMap<Pair, u64>,
    /// Words that contain the pair, or did so before a merge; may name a word twice.
    places: HashMap<Pair, Vec<usize>>,
    /// Every pair with its count at some time; the smaller ids first among equals.
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
            places: HashMap::new(),
            queue: BinaryHeap::new(),
        };
        for (place, (word, count)) in corpus.words.iter().enumerate() {
            for pair in pairs(word) {
                *corpus.counts.entry(pair).or_default() += count;
                corpus.places.entry(pair).or_default().push(place);
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
                // Growth queues the pair anew, so only a count that fell has to go back.
                if (MIN_COUNT..queued).contains(&count) {
                    self.queue.push((count, Reverse(pair)));
                }
            } else if count >= MIN_COUNT {
                return Some(pair);
            }
        }
        None
    }

    /// Replaces `pair` by `id` wherever it stands.
    fn merge(&mut self, pair: Pair, id: u32) {
        let mut places = self.places.remove(&pair).unwrap_or_default();
        places.sort_unstable();
        places.dedup();
        let mut grown = HashSet::new();
        for place in places {
            let (word, count) = &mut self.words[place];
            let merged = merge_in(word, pair, id);
            if merged.len() == word.len() {
                continue;
            }
            for old in pairs(word) {
                if let Some(n) = self.counts.get_mut(&old) {
                    *n -= *count;
                }
            }
            for new in pairs(&merged) {
                *self.counts.entry(new).or_default() += *count;
                if new.0 == id || new.1 == id {
                    self.places.entry(new).or_default().push(place);
                    grown.insert(new);
                }
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

/// The word with `pair` merged, from left to right.
fn merge_in(word: &[u32], pair: Pair, id: u32) -> Vec<u32> {
    let mut merged = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, tail @ ..] = rest {
        match tail {
            [second, tail @ ..] if (*first, *second) == pair => {
                merged.push(id);
                rest = tail;
            }
            _ => {
                merged.push(*first);
                rest = tail;
            }
        }
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
        // Sennrich et al. 2016, Algorithm 1 (`·` ends a word), and a word that settles the tie
        // between `es+t` and `t+·`.
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
    fn a_pair_seen_once_is_not_merged() {
        assert_eq!(merges(&learn(&[("abc", 1), ("ab", 1)], 100)), ["a+b"]);
    }

    #[test]
    fn overlapping_pairs_are_merged_from_the_left() {
        assert_eq!(merges(&learn(&[("aaa", 2)], 100)), ["a+a", "aa+a"]);
    }

    #[test]
    fn a_token_with_two_derivations_stands_in_the_vocabulary_once() {
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
