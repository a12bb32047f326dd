//! [`TrainedTokens`]: the tokens with embeddings that are trained besides adapters.

use std::iter;

use transformer_core::TransformerConfig;
use transformer_core::config::Tying;
use transformer_core::text::{BOS, EOS};

use crate::batching::CorpusWeight;
use crate::config::ConfigError;
use crate::corpus::TokenStore;
use crate::error::TrainError;

pub(super) struct TrainedTokens {
    pub(super) src: Vec<u32>,
    pub(super) tgt: Vec<u32>,
}

impl TrainedTokens {
    /// Returns the most frequent tokens of each side of the corpora, or of both sides together if one matrix is tied
    /// for all. A sentence counts by the weight of its corpus. Among equally frequent tokens the lower id comes first.
    /// `BOS` and `EOS` are in every sentence.
    pub(super) fn most_frequent(
        n_tokens: usize,
        config: &TransformerConfig,
        store: &TokenStore,
        corpora: &[CorpusWeight],
    ) -> Result<Self, TrainError> {
        let mut src = vec![0.0; config.src_vocab_size];
        let mut tgt = vec![0.0; config.tgt_vocab_size];
        let weights = corpora
            .iter()
            .flat_map(|it| iter::repeat_n(it.weight, it.n_sentences));
        for (index, weight) in weights.enumerate() {
            let pair = store.pair(index)?;
            count(&mut src, pair.src.iter().chain(&[EOS]), weight);
            count(&mut tgt, pair.tgt.iter().chain(&[BOS, EOS]), weight);
        }
        if config.tying == Tying::All {
            for (src, tgt) in src.iter_mut().zip(&tgt) {
                *src += tgt;
            }
            tgt.clone_from(&src);
        }
        Ok(Self {
            src: largest(n_tokens, &src)?,
            tgt: largest(n_tokens, &tgt)?,
        })
    }

    /// Returns placeholders for tokens that are in a checkpoint.
    pub(super) fn placeholder(n_tokens: usize) -> Self {
        let ids: Vec<u32> = (0..n_tokens as u32).collect();
        Self {
            src: ids.clone(),
            tgt: ids,
        }
    }
}

fn count<'a>(counts: &mut [f64], ids: impl Iterator<Item = &'a u32>, weight: f64) {
    for id in ids {
        counts[*id as usize] += weight;
    }
}

/// Returns the indices of the `n` largest counts, if so many are not zero.
fn largest(n: usize, counts: &[f64]) -> Result<Vec<u32>, ConfigError> {
    let mut ids: Vec<u32> = (0..counts.len() as u32).collect();
    ids.retain(|id| counts[*id as usize] > 0.0);
    if ids.len() < n {
        return Err(ConfigError::TooLarge {
            key: "adapters.trained_tokens",
            value: n as u64,
            max: ids.len() as u64,
        });
    }
    // Stable: of equal counts the lower id stays the first.
    ids.sort_by(|a, b| counts[*b as usize].total_cmp(&counts[*a as usize]));
    ids.truncate(n);
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::StoreWriter;

    fn store() -> TokenStore {
        let mut writer = StoreWriter::in_memory(10);
        for (src, tgt) in [([5, 5, 6], [7, 8, 8]), ([5, 6, 9], [7, 8, 8])] {
            writer.push(&src, &tgt).expect("memory is writable");
        }
        writer.finish()
    }

    fn config(tying: Tying) -> TransformerConfig {
        TransformerConfig {
            tying,
            ..TransformerConfig::tiny(10, 10)
        }
    }

    fn corpora(weights: [f64; 2]) -> [CorpusWeight; 2] {
        weights.map(|weight| CorpusWeight {
            n_sentences: 1,
            weight,
        })
    }

    fn most_frequent(
        n_tokens: usize,
        tying: Tying,
        weights: [f64; 2],
    ) -> Result<[Vec<u32>; 2], String> {
        let config = config(tying);
        let tokens = TrainedTokens::most_frequent(n_tokens, &config, &store(), &corpora(weights));
        let tokens = tokens.map(|TrainedTokens { src, tgt }| [src, tgt]);
        tokens.map_err(|error| error.to_string())
    }

    #[test]
    fn the_most_frequent_tokens_of_each_side_are_chosen() {
        for tying in [Tying::Decoder, Tying::None] {
            let expected = [vec![5, EOS, 6, 9], vec![8, BOS, EOS, 7]];
            assert_eq!(most_frequent(4, tying, [1.0, 1.0]), Ok(expected));
        }
    }

    #[test]
    fn one_matrix_for_both_languages_has_the_tokens_of_both() {
        let expected = vec![EOS, 8, 5];
        let found = most_frequent(3, Tying::All, [1.0, 1.0]);
        assert_eq!(found, Ok([expected.clone(), expected]));
    }

    #[test]
    fn a_sentence_counts_by_the_weight_of_its_corpus() {
        // Token 9 is in the second corpus alone, and token 5 is more frequent in the first.
        let found = most_frequent(4, Tying::None, [0.1, 5.0]);
        assert_eq!(found.map(|[src, _]| src), Ok(vec![5, EOS, 6, 9]));
        let found = most_frequent(3, Tying::None, [5.0, 0.0]);
        assert_eq!(found.map(|[src, _]| src), Ok(vec![5, EOS, 6]));
    }

    #[test]
    fn more_tokens_than_occur_are_refused() {
        assert!(most_frequent(4, Tying::None, [1.0, 1.0]).is_ok());
        let expected = "`adapters.trained_tokens` is 5; choose at most 4";
        assert_eq!(
            most_frequent(5, Tying::None, [1.0, 1.0]),
            Err(expected.to_owned())
        );
    }
}
