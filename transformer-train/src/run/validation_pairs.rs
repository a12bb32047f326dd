//! The validation pairs of a run, as ids and as text.

use std::collections::HashSet;

use transformer_core::directory::Tokenizers;
use transformer_core::text::Tokenizer;

use super::error::TrainError;
use crate::config::Filter;
use crate::corpus::{CorpusError, CorpusSummary, ParallelText, SentencePair, TokenStore, encode};

/// The validation pairs that pass the filter.
pub(super) struct ValidationPairs {
    pub(super) pairs: Vec<SentencePair>,
    pub(super) text: Vec<(String, String)>,
    pub(super) summary: CorpusSummary,
}

impl ValidationPairs {
    /// Encodes pairs and keeps their text: BLEU compares text, and a tokenizer may lose characters.
    pub(super) fn encode(
        text: &ParallelText,
        filter: &Filter,
        tokenizers: &Tokenizers,
    ) -> Result<Self, TrainError> {
        let mut sources: Vec<(Vec<u32>, String)> = Vec::new();
        let mut targets: Vec<(Vec<u32>, String)> = Vec::new();
        let keep = |tokenizer: &Tokenizer, lines: &[String], kept: &mut Vec<_>| {
            let ids = tokenizer.encode_all(lines);
            kept.extend(ids.iter().cloned().zip(lines.iter().cloned()));
            ids
        };
        let src = |lines: &[String]| keep(tokenizers.src(), lines, &mut sources);
        let tgt = |lines: &[String]| keep(tokenizers.tgt(), lines, &mut targets);
        let (corpus, summary) = encode(text, filter, src, tgt)?;
        // The filter keeps the order, so each pair belongs to the next text whose ids equal or
        // begin with its own.
        let over_long = filter.over_long;
        let mut texts = sources.into_iter().zip(targets);
        let mut pairs = Vec::new();
        let mut kept = Vec::new();
        for pair in 0..corpus.len() {
            let (src, tgt) = (corpus.src(pair), corpus.tgt(pair));
            let text =
                texts.find(|(a, b)| over_long.keeps(&src, &a.0) && over_long.keeps(&tgt, &b.0));
            let ((_, src_text), (_, tgt_text)) = text.unwrap_or_default();
            pairs.push(SentencePair { src, tgt });
            kept.push((src_text, tgt_text));
        }
        Ok(Self {
            pairs,
            text: kept,
            summary,
        })
    }
}

/// Counts the validation pairs that are in the training text.
pub(super) fn n_seen(store: &TokenStore, valid: &[SentencePair]) -> Result<usize, CorpusError> {
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
