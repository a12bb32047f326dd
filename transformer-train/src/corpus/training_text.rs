//! What is trained on: the pairs of the token store, with BPE-dropout if that is asked for.

use derive_new::new;
use transformer_core::random::hash;

use crate::corpus::{CorpusError, SentencePair, SubwordDropout, TokenStore};

/// Sets the draws of BPE-dropout apart from all others of the same seed: "subwords" in ASCII.
const SUBWORDS: u64 = 0x7375_6277_6f72_6473;

/// Gives the pairs of an update.
#[derive(Debug, new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct TrainingText {
    store: TokenStore,
    subwords: Option<Subwords>,
}

/// Says how lines are cut anew each time.
#[derive(Debug)]
pub(crate) struct Subwords {
    pub(crate) src: SubwordDropout,
    pub(crate) tgt: SubwordDropout,
    /// Probability that a merge is left out.
    pub(crate) rate: f64,
    pub(crate) seed: u64,
    /// Longest side, in tokens; one that would get longer stays as it is.
    pub(crate) max_len: usize,
}

impl TrainingText {
    /// Returns where the pairs are.
    pub(crate) fn store(&self) -> &TokenStore {
        &self.store
    }

    /// Returns these pairs, cut as `update` has them: a pure function of both and the seed.
    pub(crate) fn pairs(
        &self,
        sentences: &[u32],
        update: u64,
    ) -> Result<Vec<SentencePair>, CorpusError> {
        let pairs = sentences.iter().zip(0..).map(|(&sentence, place)| {
            let pair = self.store.pair(sentence as usize)?;
            Ok(match &self.subwords {
                Some(subwords) => subwords.cut(&pair, update, place),
                None => pair,
            })
        });
        pairs.collect()
    }
}

impl Subwords {
    fn cut(&self, pair: &SentencePair, update: u64, place: u64) -> SentencePair {
        let seed = hash(hash(self.seed ^ SUBWORDS, update), place);
        let side = |dropout: &SubwordDropout, ids: &[u32], number| {
            let cut = dropout.cut(ids, self.rate, hash(seed, number));
            match cut.len() > self.max_len {
                true => ids.to_vec(),
                false => cut,
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
        let dropout = SubwordDropout::new(&tokenizer).expect("it is one of byte pairs");
        let subwords = Subwords {
            src: dropout.clone(),
            tgt: dropout,
            rate,
            seed: 5,
            max_len,
        };
        let pair = SentencePair {
            src: ids.clone(),
            tgt: ids,
        };
        (
            TrainingText::new(TokenStore::Memory(corpus), Some(subwords)),
            pair,
        )
    }

    fn cut(text: &TrainingText, update: u64) -> Vec<SentencePair> {
        text.pairs(&[0, 0], update).expect("memory can be read")
    }

    #[test]
    fn an_update_is_cut_the_same_every_time() {
        let (text, _) = text(0.5, 99);
        assert_eq!(cut(&text, 7), cut(&text, 7));
    }

    #[test]
    fn updates_places_and_sides_are_cut_each_in_its_way() {
        let (text, _) = text(0.5, 99);
        let (one, other) = (cut(&text, 7), cut(&text, 8));
        let mut all: Vec<&Vec<u32>> = one
            .iter()
            .chain(&other)
            .flat_map(|pair| [&pair.src, &pair.tgt])
            .collect();
        all.sort();
        all.dedup();
        // Eight cuts of a line of seven words at even odds: two that are equal would be a wonder.
        assert_eq!(all.len(), 8);
    }

    #[test]
    fn a_side_that_would_get_too_long_stays() {
        let (text, pair) = text(1.0 - 1e-9, 20);
        assert_eq!(cut(&text, 7), [pair.clone(), pair]);
    }
}
