//! [`TrainingText`]: the pairs of each update from the token store, with noise and [`BpeDropout`] if they are set.
//!
//! Provilkov et al. 2020, "BPE-Dropout: Simple and Effective Subword Regularization",
//! <https://arxiv.org/abs/1910.13267>.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use derive_new::new;
use serde_json::Value;
use transformer_core::random::{SplitMix64, hash};
use transformer_core::text::special::{byte_of, is_special};
use transformer_core::text::{Tokenizer, UNK};

use crate::corpus::{SentencePair, SourceNoise, TokenStore};
use crate::error::TrainError;

/// Makes the random numbers of BPE-dropout independent of all others with the same seed: "subwords" in ASCII.
const SUBWORDS: u64 = 0x7375_6277_6f72_6473;

#[derive(Debug, new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct TrainingText {
    store: TokenStore,
    noise: Option<SourceNoise>,
    dropout: Option<PairDropout>,
}

#[derive(Debug)]
pub(crate) struct PairDropout {
    pub(crate) src: BpeDropout,
    pub(crate) tgt: BpeDropout,
    pub(crate) rate: f64,
    pub(crate) seed: u64,
    /// Maximum length of a side, in tokens. A side that dropout would make longer is not changed.
    pub(crate) max_len: usize,
}

impl TrainingText {
    pub(crate) fn store(&self) -> &TokenStore {
        &self.store
    }

    /// Returns these pairs, with the noise and the dropout of `update`. The result depends only on the arguments
    /// and the seed.
    pub(crate) fn pairs(
        &self,
        sentences: &[u32],
        update: u64,
    ) -> Result<Vec<SentencePair>, TrainError> {
        let pairs = sentences.iter().zip(0..).map(|(&sentence, position)| {
            let mut pair = self.store.pair(sentence as usize)?;
            if let Some(noise) = &self.noise {
                pair.src = noise.apply(&pair.src, update, position);
            }
            Ok(match &self.dropout {
                Some(dropout) => dropout.apply(&pair, update, position),
                None => pair,
            })
        });
        pairs.collect()
    }
}

impl PairDropout {
    fn apply(&self, pair: &SentencePair, update: u64, position: u64) -> SentencePair {
        let seed = hash(hash(self.seed ^ SUBWORDS, update), position);
        let side = |dropout: &BpeDropout, ids: &[u32], index| {
            let tokens = dropout.tokenize_again(ids, self.rate, hash(seed, index));
            match tokens.len() > self.max_len {
                true => ids.to_vec(),
                false => tokens,
            }
        };
        SentencePair {
            src: side(&self.src, &pair.src, 0),
            tgt: side(&self.tgt, &pair.tgt, 1),
        }
    }
}

/// The first character of the first token of a word.
const WORD_START: char = '▁';

/// Splits token ids into characters and merges them again, skipping merges at random.
///
/// It needs no text: the tokens of a word spell it, and no merge crosses a word boundary.
#[derive(Clone, Debug)]
pub(crate) struct BpeDropout(Arc<Merges>);

#[derive(Debug)]
struct Merges {
    /// For each pair of tokens that can be merged: the rank of the merge (lower ranks are merged
    /// first) and the merged token.
    of_pair: HashMap<(u32, u32), (u32, u32)>,
    /// The characters of each token, as ids. A special token, a byte token and a user-defined symbol each count as one
    /// character.
    characters: Vec<Vec<u32>>,
    begins_word: Vec<bool>,
}

impl BpeDropout {
    /// Reads the merges of a tokenizer; `None` if it is not a BPE tokenizer.
    pub(crate) fn new(tokenizer: &Tokenizer) -> Option<Self> {
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
        let symbols = tokenizer.user_symbols();
        let is_whole = |token: u32, spelling: &str| {
            is_special(token)
                || byte_of(spelling).is_some()
                || symbols.binary_search(&token).is_ok()
        };
        let mut characters = Vec::new();
        let mut begins_word = Vec::new();
        for token in (0..).take(tokenizer.vocab_size()) {
            let spelling = tokenizer.token(token)?;
            let whole = vec![token];
            let of_token = spelling.chars().map(|c| id(c.encode_utf8(&mut [0; 4])));
            let of_token: Option<Vec<u32>> = of_token.collect();
            begins_word.push(spelling.starts_with(WORD_START));
            characters.push(match of_token {
                Some(of_token) if !is_whole(token, &spelling) => of_token,
                _ => whole,
            });
        }
        Some(Self(Arc::new(Merges {
            of_pair,
            characters,
            begins_word,
        })))
    }

    /// Tokenizes the words of these ids again, with each possible merge skipped with probability `rate` at each step.
    /// The result depends only on the arguments. A `rate` of 0 returns the same ids.
    pub(crate) fn tokenize_again(&self, ids: &[u32], rate: f64, seed: u64) -> Vec<u32> {
        let mut random = SplitMix64::new(seed);
        let mut tokens = Vec::with_capacity(2 * ids.len());
        for word in self.words(ids) {
            let characters = ids[word]
                .iter()
                .flat_map(|&id| &self.0.characters[id as usize]);
            tokens.extend(self.merge(characters.copied().collect(), rate, &mut random));
        }
        tokens
    }

    /// Returns the range of each word. Punctuation without a space before it is part of the word,
    /// although no merge joins the two.
    fn words(&self, ids: &[u32]) -> Vec<Range<usize>> {
        let begins = |index: &usize| {
            *index == 0 || ids[*index] == UNK || self.0.begins_word[ids[*index] as usize]
        };
        let starts: Vec<usize> = (0..ids.len()).filter(begins).collect();
        let ends = starts.iter().skip(1).copied().chain([ids.len()]);
        starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| start..end)
            .collect()
    }

    /// Applies the merge of the lowest rank that is not skipped, until there is none (Algorithm 1).
    fn merge(&self, mut tokens: Vec<u32>, rate: f64, random: &mut SplitMix64) -> Vec<u32> {
        loop {
            let mut best: Option<(u32, usize, u32)> = None;
            for (index, pair) in tokens.windows(2).enumerate() {
                let Some(&(rank, merged)) = self.0.of_pair.get(&(pair[0], pair[1])) else {
                    continue;
                };
                if rate > 0.0 && random.uniform() < rate {
                    continue;
                }
                if best.is_none_or(|(best, ..)| rank < best) {
                    best = Some((rank, index, merged));
                }
            }
            let Some((_, index, merged)) = best else {
                return tokens;
            };
            tokens[index] = merged;
            tokens.remove(index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};

    use super::*;
    use crate::corpus::StoreWriter;

    const LINE: &str = "the rose rises, the prose is theirs";

    fn tokenizer() -> Tokenizer {
        let config = TokenizerConfig {
            kind: TokenizerKind::Bpe,
            vocab_size: 80,
            ..TokenizerConfig::default()
        };
        Tokenizer::train(&config, [LINE, LINE]).expect("the line is text")
    }

    fn text(rate: f64, max_len: usize) -> (TrainingText, SentencePair) {
        let tokenizer = tokenizer();
        let ids = tokenizer.encode(LINE);
        let mut writer = StoreWriter::in_memory(80);
        writer.push(&ids, &ids).expect("memory is writable");
        let bpe_dropout = BpeDropout::new(&tokenizer).expect("its kind is BPE");
        let dropout = PairDropout {
            src: bpe_dropout.clone(),
            tgt: bpe_dropout,
            rate,
            seed: 5,
            max_len,
        };
        let pair = SentencePair {
            src: ids.clone(),
            tgt: ids,
        };
        (
            TrainingText::new(writer.finish(), None, Some(dropout)),
            pair,
        )
    }

    fn pairs_of(text: &TrainingText, update: u64) -> Vec<SentencePair> {
        text.pairs(&[0, 0], update).expect("memory can be read")
    }

    #[test]
    fn an_update_has_the_same_tokens_every_time() {
        let (text, _) = text(0.5, 99);
        assert_eq!(pairs_of(&text, 7), pairs_of(&text, 7));
    }

    #[test]
    fn updates_positions_and_sides_have_different_tokens() {
        let (text, _) = text(0.5, 99);
        let (one, other) = (pairs_of(&text, 7), pairs_of(&text, 8));
        let mut all: Vec<&Vec<u32>> = one
            .iter()
            .chain(&other)
            .flat_map(|pair| [&pair.src, &pair.tgt])
            .collect();
        all.sort();
        all.dedup();
        // At rate 0.5, equal tokens are very unlikely for a line of seven words.
        assert_eq!(all.len(), 8);
    }

    #[test]
    fn a_side_that_would_get_too_long_is_not_changed() {
        let (text, pair) = text(1.0 - 1e-9, 20);
        assert_eq!(pairs_of(&text, 7), [pair.clone(), pair]);
    }
}

#[cfg(test)]
mod bpe_dropout_tests {
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

    fn dropout() -> (Tokenizer, BpeDropout) {
        let tokenizer = tokenizer(TokenizerKind::Bpe);
        let dropout = BpeDropout::new(&tokenizer).expect("its kind is BPE");
        (tokenizer, dropout)
    }

    #[test]
    fn a_user_symbol_is_never_split() {
        let config = TokenizerConfig {
            kind: TokenizerKind::Bpe,
            vocab_size: 60,
            user_symbols: vec!["ros".to_owned()],
            ..TokenizerConfig::default()
        };
        let tokenizer = Tokenizer::train(&config, LINES).expect("the lines are text");
        let dropout = BpeDropout::new(&tokenizer).expect("its kind is BPE");
        let ids = tokenizer.encode("ros a rose");
        for seed in 0..20 {
            let again = dropout.tokenize_again(&ids, 0.9, seed);
            assert_eq!(again.iter().filter(|id| **id == 4).count(), 2);
            assert_eq!(tokenizer.decode(&again), tokenizer.decode(&ids));
        }
    }

    #[test]
    fn rate_0_gives_the_ids_of_the_tokenizer() {
        let (tokenizer, dropout) = dropout();
        for line in LINES {
            let ids = tokenizer.encode(line);
            assert_eq!(dropout.tokenize_again(&ids, 0.0, 1), ids, "{line}");
        }
    }

    #[test]
    fn rate_1_gives_characters() {
        let (tokenizer, dropout) = dropout();
        let tokens = dropout.tokenize_again(&tokenizer.encode("the rose"), 1.0, 1);
        let spellings = tokens.iter().filter_map(|&id| tokenizer.token(id));
        let spellings: Vec<String> = spellings.collect();
        assert_eq!(spellings, ["▁", "t", "h", "e", "▁", "r", "o", "s", "e"]);
    }

    #[test]
    fn tokenizers_of_other_kinds_are_refused() {
        for kind in [
            TokenizerKind::Word,
            TokenizerKind::Char,
            TokenizerKind::Unigram,
        ] {
            assert!(BpeDropout::new(&tokenizer(kind)).is_none());
        }
    }

    #[test]
    fn unknown_characters_keep_their_positions() {
        let (tokenizer, dropout) = dropout();
        // Adjacent unknown characters are one token.
        let ids = tokenizer.encode("ro漢se is 漢漢");
        assert_eq!(ids.iter().filter(|&&id| id == UNK).count(), 2);
        assert_eq!(dropout.tokenize_again(&ids, 0.0, 1), ids);
        let tokens = dropout.tokenize_again(&ids, 0.5, 3);
        assert_eq!(tokens.iter().filter(|&&id| id == UNK).count(), 2);
    }

    /// With the merges `ab`, then `abc`, three characters can be split in three ways. Their probabilities follow from
    /// Algorithm 1: `a b c` with p, `ab c` with (1 − p)·p, `abc` with (1 − p)².
    #[test]
    fn splits_have_the_probabilities_of_the_algorithm() {
        let merges = Merges {
            of_pair: HashMap::from([((4, 5), (0, 7)), ((7, 6), (1, 8))]),
            characters: (0..7)
                .map(|id| vec![id])
                .chain([vec![4, 5], vec![4, 5, 6]])
                .collect(),
            begins_word: vec![false; 9],
        };
        let dropout = BpeDropout(Arc::new(merges));
        let (rate, n) = (0.3, 20_000);
        let mut counts = HashMap::new();
        for seed in 0..n {
            *counts
                .entry(dropout.tokenize_again(&[8], rate, seed))
                .or_insert(0_u64) += 1;
        }
        let expected = [(vec![4, 5, 6], 0.3), (vec![7, 6], 0.21), (vec![8], 0.49)];
        for (tokens, probability) in expected {
            let share = counts.remove(&tokens).unwrap_or(0) as f64 / n as f64;
            // The standard deviation of a share is at most 0.0036; five of these.
            assert!((share - probability).abs() < 0.018, "{tokens:?}: {share}");
        }
        assert!(counts.is_empty());
    }

    proptest! {
        #[test]
        fn dropout_does_not_change_the_text(rate in 0.0..1.0_f64, seed: u64, line in 0_usize..4) {
            let (tokenizer, dropout) = dropout();
            let ids = tokenizer.encode(LINES[line]);
            let tokens = dropout.tokenize_again(&ids, rate, seed);
            prop_assert_eq!(tokenizer.decode(&tokens), tokenizer.decode(&ids));
            prop_assert!(tokens.len() >= ids.len());
            prop_assert_eq!(dropout.tokenize_again(&ids, rate, seed), tokens);
        }
    }
}
