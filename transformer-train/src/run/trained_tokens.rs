//! [`TrainedTokens`]: the tokens whose embeddings are trained beside adapters.

use std::cmp::Reverse;

use transformer_core::TransformerConfig;
use transformer_core::config::Tying;
use transformer_core::text::{BOS, EOS};

use crate::config::ConfigError;
use crate::corpus::{CorpusError, TokenStore};

/// Tokens of the source and of the target vocabulary.
pub(super) struct TrainedTokens {
    pub(super) src: Vec<u32>,
    pub(super) tgt: Vec<u32>,
}

impl TrainedTokens {
    /// Checks that the vocabularies have this number of tokens.
    pub(super) fn check(n_tokens: usize, config: &TransformerConfig) -> Result<(), ConfigError> {
        let max = config.src_vocab_size.min(config.tgt_vocab_size);
        match n_tokens <= max {
            true => Ok(()),
            false => Err(ConfigError::TooLarge {
                key: "adapters.trained_tokens",
                value: n_tokens as u64,
                max: max as u64,
            }),
        }
    }

    /// Returns the most frequent tokens of each side of a corpus, or of both sides together if one matrix is tied for
    /// all. Of equally frequent ones the lower id is the first. `BOS` and `EOS` are in every sentence.
    pub(super) fn most_frequent(
        n_tokens: usize,
        config: &TransformerConfig,
        store: &TokenStore,
    ) -> Result<Self, CorpusError> {
        let mut src = vec![0_u64; config.src_vocab_size];
        let mut tgt = vec![0_u64; config.tgt_vocab_size];
        for index in 0..store.lengths().len() {
            let pair = store.pair(index)?;
            count(&mut src, pair.src.iter().chain(&[EOS]));
            count(&mut tgt, pair.tgt.iter().chain(&[BOS, EOS]));
        }
        if config.tying == Tying::All {
            for (src, tgt) in src.iter_mut().zip(&tgt) {
                *src += tgt;
            }
        }
        Ok(Self {
            src: largest(n_tokens, &src),
            tgt: largest(n_tokens, &tgt),
        })
    }

    /// Returns some tokens in place of those that are in a checkpoint.
    pub(super) fn placeholder(n_tokens: usize) -> Self {
        let ids: Vec<u32> = (0..n_tokens as u32).collect();
        Self {
            src: ids.clone(),
            tgt: ids,
        }
    }
}

fn count<'a>(counts: &mut [u64], ids: impl Iterator<Item = &'a u32>) {
    for id in ids {
        counts[*id as usize] += 1;
    }
}

/// Returns the indices of the largest counts.
fn largest(n: usize, counts: &[u64]) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..counts.len() as u32).collect();
    ids.sort_by_key(|id| Reverse(counts[*id as usize]));
    ids.truncate(n);
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::EncodedCorpus;

    fn store() -> TokenStore {
        let mut corpus = EncodedCorpus::default();
        for (src, tgt) in [([5, 5, 6], [7, 8, 8]), ([5, 6, 9], [7, 8, 8])] {
            corpus.push(&src, &tgt);
        }
        TokenStore::Memory(corpus)
    }

    fn config(tying: Tying) -> TransformerConfig {
        TransformerConfig {
            tying,
            ..TransformerConfig::tiny(10, 10)
        }
    }

    #[test]
    fn the_most_frequent_tokens_of_each_side_are_chosen() {
        for tying in [Tying::Decoder, Tying::None] {
            let tokens = TrainedTokens::most_frequent(4, &config(tying), &store());
            let TrainedTokens { src, tgt } = tokens.expect("they are in memory");
            assert_eq!(src, [5, EOS, 6, 9]);
            assert_eq!(tgt, [8, BOS, EOS, 7]);
        }
    }

    #[test]
    fn one_matrix_for_both_languages_has_the_tokens_of_both() {
        let tokens = TrainedTokens::most_frequent(3, &config(Tying::All), &store());
        let TrainedTokens { src, .. } = tokens.expect("they are in memory");
        assert_eq!(src, [EOS, 8, 5]);
    }

    #[test]
    fn more_tokens_than_a_vocabulary_has_are_refused() {
        let config = TransformerConfig {
            tgt_vocab_size: 9,
            ..config(Tying::None)
        };
        assert!(TrainedTokens::check(9, &config).is_ok());
        let message = TrainedTokens::check(10, &config).map_err(|error| error.to_string());
        let expected = "`adapters.trained_tokens` is 10; choose at most 9";
        assert_eq!(message, Err(expected.to_owned()));
    }
}
