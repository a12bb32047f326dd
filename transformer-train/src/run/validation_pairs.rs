//! The validation pairs of a run, as ids and as text.

use std::collections::{HashMap, HashSet};

use transformer_core::directory::Tokenizers;

use crate::config::DataSettings;
use crate::corpus::{
    CorpusSummary, KeptPair, ParallelText, SentencePair, TokenStore, encode_into, tokenized,
};
use crate::error::TrainError;

pub(crate) struct ValidationPairs {
    pub(super) pairs: Vec<SentencePair>,
    /// The text of each pair, without the tag of its target.
    pub(super) text: Vec<(String, String)>,
    /// The index of each pair's corpus in `numbers`; 0 if there are none. Corpora alternate, so that the first pairs
    /// include every corpus.
    pub(super) corpora: Vec<usize>,
    /// The numbers of the training corpora that are validated separately, from 1.
    pub(super) numbers: Vec<usize>,
    pub(super) summary: CorpusSummary,
}

impl ValidationPairs {
    /// Encodes pairs and keeps their text: BLEU compares text, and a tokenizer may lose characters. `numbers` are the
    /// numbers of the pairs' training corpora, if these are scored separately.
    pub(super) fn encode(
        text: &ParallelText,
        filter: &DataSettings,
        tokenizers: &Tokenizers,
        numbers: Vec<usize>,
    ) -> Result<Self, TrainError> {
        let mut in_turn = Vec::new();
        let mut n_kept: HashMap<usize, usize> = HashMap::new();
        let sink = |pair: KeptPair<'_>| {
            let nth = n_kept.entry(pair.corpus).or_default();
            *nth += 1;
            let (src, tgt) = (pair.src.to_vec(), pair.tgt.to_vec());
            let text = (pair.text.0.to_owned(), pair.text.1.to_owned());
            in_turn.push(((*nth, pair.corpus), (SentencePair { src, tgt }, text)));
            Ok(())
        };
        let [src, tgt] = [tokenizers.src(), tokenizers.tgt()].map(tokenized);
        let (summary, _) = encode_into(text, filter, src, tgt, sink)?;
        let kept_of = |index| summary.kept_of.get(index).copied().unwrap_or(0);
        if let Some((_, &number)) = (0..).zip(&numbers).find(|(index, _)| kept_of(*index) == 0) {
            return Err(TrainError::NothingToValidate { number });
        }
        in_turn.sort_by_key(|(turn, _)| *turn);
        let corpora = in_turn.iter().map(|((_, corpus), _)| *corpus).collect();
        let (pairs, text) = in_turn.into_iter().map(|(_, pair)| pair).unzip();
        Ok(Self {
            pairs,
            text,
            corpora,
            numbers,
            summary,
        })
    }

    /// Removes these tags from the text of targets, because translations are scored without them.
    pub(super) fn without_tags(mut self, tags: &[String]) -> Self {
        for (_, tgt) in &mut self.text {
            *tgt = without_tag(tgt, tags).to_owned();
        }
        self
    }
}

/// Returns a line without its tag, if it begins with one of these.
pub(super) fn without_tag<'a>(line: &'a str, tags: &[String]) -> &'a str {
    let rests = tags
        .iter()
        .filter_map(|tag| line.strip_prefix(tag.as_str()));
    // One tag can be a prefix of another.
    let rest = rests.min_by_key(|rest| rest.len());
    rest.map_or(line, str::trim_start)
}

/// Maximum size of a corpus in which the validation pairs are looked up, in pairs: this takes about a second.
const MAX_PAIRS_TO_COMPARE: usize = 1_000_000;

/// Counts the validation pairs that are in the training text; 0 if it is too large to look them up.
pub(super) fn n_seen(store: &TokenStore, valid: &[SentencePair]) -> Result<usize, TrainError> {
    if store.lengths().len() > MAX_PAIRS_TO_COMPARE {
        return Ok(0);
    }
    let lengths_of = |pair: &SentencePair| (pair.src.len() as u32, pair.tgt.len() as u32);
    let valid_lengths: HashSet<(u32, u32)> = valid.iter().map(lengths_of).collect();
    let both = |pair: &SentencePair| (pair.src.clone(), pair.tgt.clone());
    let valid_ids: HashSet<_> = valid.iter().map(both).collect();
    let mut seen = HashSet::new();
    for (index, lengths) in store.lengths().iter().enumerate() {
        if valid_lengths.contains(lengths) {
            let SentencePair { src, tgt } = store.pair(index)?;
            seen.extend(valid_ids.get(&(src, tgt)));
        }
    }
    Ok(valid
        .iter()
        .filter(|pair| seen.contains(&both(pair)))
        .count())
}
