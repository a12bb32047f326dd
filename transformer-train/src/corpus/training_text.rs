//! [`TrainingText`]: the pairs of each update from the token store, with noise and BPE-dropout if they are set.

use derive_new::new;
use transformer_core::random::hash;

use crate::corpus::{BpeDropout, CorpusError, SentencePair, SourceNoise, TokenStore};

/// Makes the random numbers of BPE-dropout independent of all others with the same seed: "subwords" in ASCII.
const SUBWORDS: u64 = 0x7375_6277_6f72_6473;

/// The source of the pairs of each update.
#[derive(Debug, new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct TrainingText {
    store: TokenStore,
    noise: Option<SourceNoise>,
    dropout: Option<PairDropout>,
}

/// BPE-dropout of both sides of a pair.
#[derive(Debug)]
pub(crate) struct PairDropout {
    pub(crate) src: BpeDropout,
    pub(crate) tgt: BpeDropout,
    /// Probability of skipping a merge.
    pub(crate) rate: f64,
    pub(crate) seed: u64,
    /// Maximum length of a side, in tokens. A side that dropout would make longer is not changed.
    pub(crate) max_len: usize,
}

impl TrainingText {
    /// Returns the token store, without noise and dropout.
    pub(crate) fn store(&self) -> &TokenStore {
        &self.store
    }

    /// Returns these pairs, with the noise and the dropout of `update`. The result depends only on the arguments
    /// and the seed.
    pub(crate) fn pairs(
        &self,
        sentences: &[u32],
        update: u64,
    ) -> Result<Vec<SentencePair>, CorpusError> {
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
    /// Returns the pair at a position of an update with dropout.
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

#[cfg(test)]
mod tests {
    use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};

    use super::*;
    use crate::corpus::EncodedCorpus;

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
        let mut corpus = EncodedCorpus::default();
        corpus.push(&ids, &ids);
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
            TrainingText::new(TokenStore::Memory(corpus), None, Some(dropout)),
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
