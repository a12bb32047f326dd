//! BPE-dropout: the same line cut otherwise every time it is trained on (Provilkov et al. 2020, "BPE-Dropout:
//! Simple and Effective Subword Regularization", <https://arxiv.org/abs/1910.13267>).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use transformer_core::random::SplitMix64;
use transformer_core::text::special::is_special;
use transformer_core::text::{Tokenizer, UNK};

/// What a word's first token begins with.
const WORD_START: char = '▁';

/// Cuts token ids into characters and merges them anew, leaving out merges by chance.
///
/// It needs no text: the tokens of a word spell it, and no merge goes beyond a word.
#[derive(Clone, Debug)]
pub struct SubwordDropout(Arc<Merges>);

#[derive(Debug)]
struct Merges {
    /// Rank, the smaller the earlier, and result of the merge of two tokens.
    of_pair: HashMap<(u32, u32), (u32, u32)>,
    /// The characters of each token, as ids. Special tokens are one character of their own.
    characters: Vec<Vec<u32>>,
    begins_word: Vec<bool>,
}

impl SubwordDropout {
    /// Reads the merges of a tokenizer; `None` if it is not one of byte pairs.
    pub fn new(tokenizer: &Tokenizer) -> Option<Self> {
        let json: Value = serde_json::from_str(&tokenizer.to_json()).ok()?;
        let model = &json["model"];
        if model["type"] != "BPE" {
            return None;
        }
        let id = |spelling: &str| tokenizer.id(spelling);
        let mut of_pair = HashMap::new();
        for (merge, rank) in model["merges"].as_array()?.iter().zip(0..) {
            let (left, right) = match merge {
                Value::String(both) => both.split_once(' ')?,
                both => (both[0].as_str()?, both[1].as_str()?),
            };
            let merged = id(&format!("{left}{right}"))?;
            of_pair.insert((id(left)?, id(right)?), (rank, merged));
        }
        let mut characters = Vec::new();
        let mut begins_word = Vec::new();
        for token in (0..).take(tokenizer.vocab_size()) {
            let spelling = tokenizer.token(token)?;
            let whole = vec![token];
            let of_token = spelling.chars().map(|c| id(c.encode_utf8(&mut [0; 4])));
            let of_token: Option<Vec<u32>> = of_token.collect();
            begins_word.push(spelling.starts_with(WORD_START));
            characters.push(match of_token {
                Some(of_token) if !is_special(token) => of_token,
                _ => whole,
            });
        }
        Some(Self(Arc::new(Merges {
            of_pair,
            characters,
            begins_word,
        })))
    }

    /// Cuts the words of these ids again. Each merge that could be made is left out with probability
    /// `rate` at each step; the seed decides which. With a rate of 0 the ids come back.
    ///
    /// # Panics
    ///
    /// Panics when an id is not one of the tokenizer.
    pub fn cut(&self, ids: &[u32], rate: f64, seed: u64) -> Vec<u32> {
        let mut draws = SplitMix64::new(seed);
        let mut cut = Vec::with_capacity(2 * ids.len());
        for word in self.words(ids) {
            let characters = ids[word]
                .iter()
                .flat_map(|&id| &self.0.characters[id as usize]);
            cut.extend(self.merge(characters.copied().collect(), rate, &mut draws));
        }
        cut
    }

    /// Returns where each word stands. Punctuation without a space before it stays with its word; no merge
    /// joins the two.
    fn words(&self, ids: &[u32]) -> Vec<Range<usize>> {
        let begins = |place: &usize| {
            *place == 0 || ids[*place] == UNK || self.0.begins_word[ids[*place] as usize]
        };
        let starts: Vec<usize> = (0..ids.len()).filter(begins).collect();
        let ends = starts.iter().skip(1).copied().chain([ids.len()]);
        starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| start..end)
            .collect()
    }

    /// Makes the best merge that is not left out, until none is there (the paper's Algorithm 1).
    fn merge(&self, mut tokens: Vec<u32>, rate: f64, draws: &mut SplitMix64) -> Vec<u32> {
        loop {
            let mut best: Option<(u32, usize, u32)> = None;
            for (place, pair) in tokens.windows(2).enumerate() {
                let Some(&(rank, merged)) = self.0.of_pair.get(&(pair[0], pair[1])) else {
                    continue;
                };
                if rate > 0.0 && draws.uniform() < rate {
                    continue;
                }
                if best.is_none_or(|(best, ..)| rank < best) {
                    best = Some((rank, place, merged));
                }
            }
            let Some((_, place, merged)) = best else {
                return tokens;
            };
            tokens[place] = merged;
            tokens.remove(place + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use transformer_core::text::{TokenizerConfig, TokenizerKind};

    use super::*;

    const LINES: [&str; 4] = [
        "a rose is a rose, is a rose.",
        "the (roses) are rising; the prose is theirs!",
        "rose rose rose rises <s> the the a",
        "Is it theirs? — it is: 1999, 2999.",
    ];

    fn tokenizer(kind: TokenizerKind) -> Tokenizer {
        let config = TokenizerConfig {
            kind,
            vocab_size: 90,
            ..TokenizerConfig::default()
        };
        Tokenizer::train(&config, LINES).expect("the lines are text")
    }

    fn dropout() -> (Tokenizer, SubwordDropout) {
        let tokenizer = tokenizer(TokenizerKind::Bpe);
        let dropout = SubwordDropout::new(&tokenizer).expect("it is one of byte pairs");
        (tokenizer, dropout)
    }

    #[test]
    fn nothing_left_out_gives_the_ids_of_the_tokenizer() {
        let (tokenizer, dropout) = dropout();
        for line in LINES {
            let ids = tokenizer.encode(line);
            assert_eq!(dropout.cut(&ids, 0.0, 1), ids, "{line}");
        }
    }

    #[test]
    fn everything_left_out_gives_characters() {
        let (tokenizer, dropout) = dropout();
        let cut = dropout.cut(&tokenizer.encode("the rose"), 1.0, 1);
        let spellings = cut.iter().filter_map(|&id| tokenizer.token(id));
        let spellings: Vec<String> = spellings.collect();
        assert_eq!(spellings, ["▁", "t", "h", "e", "▁", "r", "o", "s", "e"]);
    }

    #[test]
    fn other_kinds_of_tokenizers_have_no_merges() {
        for kind in [
            TokenizerKind::Word,
            TokenizerKind::Char,
            TokenizerKind::Unigram,
        ] {
            assert!(SubwordDropout::new(&tokenizer(kind)).is_none());
        }
    }

    #[test]
    fn unknown_characters_stay_where_they_are() {
        let (tokenizer, dropout) = dropout();
        // Neighbors that are unknown are one token.
        let ids = tokenizer.encode("ro漢se is 漢漢");
        assert_eq!(ids.iter().filter(|&&id| id == UNK).count(), 2);
        assert_eq!(dropout.cut(&ids, 0.0, 1), ids);
        let cut = dropout.cut(&ids, 0.5, 3);
        assert_eq!(cut.iter().filter(|&&id| id == UNK).count(), 2);
    }

    /// Of three characters with the merges `ab`, then `abc`, there are three cuts, whose probabilities follow from
    /// Algorithm 1: `a b c` with p, `ab c` with (1 − p)·p, `abc` with (1 − p)².
    #[test]
    fn each_cut_comes_as_often_as_the_algorithm_says() {
        let merges = Merges {
            of_pair: HashMap::from([((4, 5), (0, 7)), ((7, 6), (1, 8))]),
            characters: (0..7)
                .map(|id| vec![id])
                .chain([vec![4, 5], vec![4, 5, 6]])
                .collect(),
            begins_word: vec![false; 9],
        };
        let dropout = SubwordDropout(Arc::new(merges));
        let (rate, n) = (0.3, 20_000);
        let mut counts = HashMap::new();
        for seed in 0..n {
            *counts.entry(dropout.cut(&[8], rate, seed)).or_insert(0_u64) += 1;
        }
        let expected = [(vec![4, 5, 6], 0.3), (vec![7, 6], 0.21), (vec![8], 0.49)];
        for (cut, probability) in expected {
            let share = counts.remove(&cut).unwrap_or(0) as f64 / n as f64;
            // The deviation of a share is at most 0.0036; five of them.
            assert!((share - probability).abs() < 0.018, "{cut:?}: {share}");
        }
        assert!(counts.is_empty());
    }

    proptest! {
        #[test]
        fn the_text_is_the_same_however_it_is_cut(rate in 0.0..1.0_f64, seed: u64, line in 0_usize..4) {
            let (tokenizer, dropout) = dropout();
            let ids = tokenizer.encode(LINES[line]);
            let cut = dropout.cut(&ids, rate, seed);
            prop_assert_eq!(tokenizer.decode(&cut), tokenizer.decode(&ids));
            prop_assert!(cut.len() >= ids.len());
            prop_assert_eq!(dropout.cut(&ids, rate, seed), cut);
        }
    }
}
