//! From text to the token store: tokenize, filter, count.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::corpus::{CorpusError, EncodedCorpus, ParallelText};

/// Number of pairs tokenized at a time: enough for threads, little in memory.
const CHUNK_PAIRS: usize = 4096;

/// Says which pairs of a corpus are trained on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Longest source and longest target, in tokens without `BOS` and `EOS`. Default 256.
    pub max_len: usize,
    /// What happens to a pair with a longer side.
    pub over_long: OverLong,
    /// What happens to a pair that came before.
    pub duplicates: Duplicates,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            max_len: 256,
            over_long: OverLong::Drop,
            duplicates: Duplicates::Keep,
        }
    }
}

/// Says what happens to a pair that is over-long on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverLong {
    /// The pair is left out.
    #[default]
    Drop,
    /// The over-long side keeps its first tokens. The pair is then no longer a translation.
    Cut,
}

/// Says what happens to a pair whose two lines both came before as a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// It is trained on again.
    #[default]
    Keep,
    /// It is left out.
    Drop,
}

/// Counts what became of the pairs of a corpus.
///
/// Every pair read is kept or counted in exactly one reason for dropping it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusSummary {
    /// Pairs read.
    pub read: u64,
    /// Pairs in the token store.
    pub kept: u64,
    /// Pairs dropped because the source is empty or blank.
    pub empty_src: u64,
    /// Pairs dropped because the target, but not the source, is empty or blank.
    pub empty_tgt: u64,
    /// Pairs dropped because a side is over-long.
    pub too_long: u64,
    /// Pairs kept with a side cut short.
    pub cut: u64,
    /// Pairs, neither side empty, that came before.
    pub identical: u64,
    /// Pairs dropped because they came before.
    pub identical_dropped: u64,
    /// Tokens in the sources kept, `EOS` not counted.
    pub src_tokens: u64,
    /// Tokens in the targets kept, `BOS` and `EOS` not counted.
    pub tgt_tokens: u64,
}

impl fmt::Display for CorpusSummary {
    /// Writes one line; what did not happen is not mentioned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pairs read, {} kept", self.read, self.kept)?;
        let dropped = [
            (self.empty_src, "with an empty source dropped"),
            (self.empty_tgt, "with an empty target dropped"),
            (self.too_long, "too long, dropped"),
            (self.cut, "too long, cut"),
            (self.identical_dropped, "identical to another, dropped"),
            (
                self.identical - self.identical_dropped,
                "identical to another",
            ),
        ];
        for (count, what) in dropped.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}

/// Tokenizes a corpus into a token store.
///
/// `encode_src` and `encode_tgt` get a few thousand lines at a time and return the ids of each, without
/// `BOS` and `EOS`. The text is not held.
///
/// # Errors
///
/// Returns the first [`CorpusError`] found in the files, or
/// [`NothingKept`](CorpusError::NothingKept) when no pair passes the filter.
///
/// # Panics
///
/// Panics when `encode_src` or `encode_tgt` returns another number of lines than it was given.
pub fn encode(
    text: &ParallelText,
    filter: &Filter,
    mut encode_src: impl FnMut(&[String]) -> Vec<Vec<u32>>,
    mut encode_tgt: impl FnMut(&[String]) -> Vec<Vec<u32>>,
) -> Result<(EncodedCorpus, CorpusSummary), CorpusError> {
    let mut encoder = Encoder::new(filter);
    let mut pairs = text.pairs()?;
    loop {
        let chunk: Result<Vec<_>, _> = pairs.by_ref().take(CHUNK_PAIRS).collect();
        let chunk = chunk?;
        if chunk.is_empty() {
            break;
        }
        let (src_lines, tgt_lines): (Vec<String>, Vec<String>) =
            chunk.into_iter().filter(|pair| encoder.admit(pair)).unzip();
        let src = encode_src(&src_lines);
        let tgt = encode_tgt(&tgt_lines);
        assert_eq!(
            src.len(),
            src_lines.len(),
            "`encode_src` must return one item a line"
        );
        assert_eq!(
            tgt.len(),
            tgt_lines.len(),
            "`encode_tgt` must return one item a line"
        );
        for (src, tgt) in src.iter().zip(&tgt) {
            encoder.push(src, tgt);
        }
    }
    let Encoder {
        mut corpus,
        summary,
        ..
    } = encoder;
    if corpus.is_empty() {
        return Err(CorpusError::NothingKept { summary });
    }
    corpus.shrink_to_fit();
    Ok((corpus, summary))
}

struct Encoder<'a> {
    filter: &'a Filter,
    corpus: EncodedCorpus,
    summary: CorpusSummary,
    /// 64 bits of each pair: among four million pairs two different ones meet once in a million runs.
    seen: HashSet<u64>,
}

impl<'a> Encoder<'a> {
    fn new(filter: &'a Filter) -> Self {
        Self {
            filter,
            corpus: EncodedCorpus::default(),
            summary: CorpusSummary::default(),
            seen: HashSet::new(),
        }
    }

    /// Decides, before tokenizing, whether a pair stays.
    fn admit(&mut self, pair: &(String, String)) -> bool {
        let summary = &mut self.summary;
        summary.read += 1;
        if pair.0.trim().is_empty() {
            summary.empty_src += 1;
            return false;
        }
        if pair.1.trim().is_empty() {
            summary.empty_tgt += 1;
            return false;
        }
        let mut hasher = DefaultHasher::new();
        pair.hash(&mut hasher);
        if self.seen.insert(hasher.finish()) {
            return true;
        }
        summary.identical += 1;
        let dropped = self.filter.duplicates == Duplicates::Drop;
        summary.identical_dropped += u64::from(dropped);
        !dropped
    }

    /// Decides about a tokenized pair and stores it.
    fn push(&mut self, src: &[u32], tgt: &[u32]) {
        let summary = &mut self.summary;
        let max_len = self.filter.max_len;
        // A tokenizer may drop characters until nothing is left of a line that is not blank.
        if src.is_empty() {
            summary.empty_src += 1;
            return;
        }
        if tgt.is_empty() {
            summary.empty_tgt += 1;
            return;
        }
        let too_long = src.len().max(tgt.len()) > max_len;
        if too_long && self.filter.over_long == OverLong::Drop {
            summary.too_long += 1;
            return;
        }
        summary.cut += u64::from(too_long);
        let src = &src[..src.len().min(max_len)];
        let tgt = &tgt[..tgt.len().min(max_len)];
        summary.kept += 1;
        summary.src_tokens += src.len() as u64;
        summary.tgt_tokens += tgt.len() as u64;
        self.corpus.push(src, tgt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One id for each letter; digits are dropped.
    fn letters(lines: &[String]) -> Vec<Vec<u32>> {
        let ids = |line: &String| {
            line.chars()
                .filter(char::is_ascii_lowercase)
                .map(u32::from)
                .collect()
        };
        lines.iter().map(ids).collect()
    }

    fn encode_pairs(
        pairs: &[(&str, &str)],
        filter: &Filter,
    ) -> Result<(EncodedCorpus, CorpusSummary), CorpusError> {
        let pairs = pairs
            .iter()
            .map(|&(src, tgt)| (src.to_owned(), tgt.to_owned()))
            .collect();
        encode(&ParallelText::from_pairs(pairs), filter, letters, letters)
    }

    const PAIRS: [(&str, &str); 7] = [
        ("abc", "de"),
        ("", "x"),
        ("x", " \t"),
        ("abcd", "e"),
        ("abc", "de"),
        ("12", "x"),
        ("f", "ghijk"),
    ];

    #[test]
    fn over_long_and_empty_pairs_are_dropped_and_counted() {
        let filter = Filter {
            max_len: 3,
            ..Filter::default()
        };
        let (corpus, summary) = encode_pairs(&PAIRS, &filter).expect("two pairs are fine");
        assert_eq!(corpus.all_lengths(), [(3, 2), (3, 2)]);
        let expected = CorpusSummary {
            read: 7,
            kept: 2,
            empty_src: 2,
            empty_tgt: 1,
            too_long: 2,
            identical: 1,
            src_tokens: 6,
            tgt_tokens: 4,
            ..CorpusSummary::default()
        };
        assert_eq!(summary, expected);
    }

    #[test]
    fn over_long_pairs_are_cut_when_asked() {
        let filter = Filter {
            max_len: 3,
            over_long: OverLong::Cut,
            ..Filter::default()
        };
        let (corpus, summary) = encode_pairs(&PAIRS, &filter).expect("four pairs are fine");
        assert_eq!(corpus.all_lengths(), [(3, 2), (3, 1), (3, 2), (1, 3)]);
        assert_eq!((summary.cut, summary.too_long, summary.kept), (2, 0, 4));
    }

    #[test]
    fn identical_pairs_are_dropped_when_asked() {
        let filter = Filter {
            duplicates: Duplicates::Drop,
            ..Filter::default()
        };
        let (_, summary) = encode_pairs(&PAIRS, &filter).expect("three pairs are fine");
        assert_eq!(
            (summary.kept, summary.identical, summary.identical_dropped),
            (3, 1, 1)
        );
    }

    #[test]
    fn every_dropped_pair_has_one_reason() {
        for duplicates in [Duplicates::Keep, Duplicates::Drop] {
            let filter = Filter {
                max_len: 3,
                duplicates,
                ..Filter::default()
            };
            let (_, summary) = encode_pairs(&PAIRS, &filter).expect("a pair is fine");
            let dropped = summary.empty_src
                + summary.empty_tgt
                + summary.too_long
                + summary.identical_dropped;
            assert_eq!(summary.read, summary.kept + dropped);
        }
    }

    #[test]
    fn the_summary_is_one_line_of_what_happened() {
        let filter = Filter {
            max_len: 3,
            ..Filter::default()
        };
        let (_, summary) = encode_pairs(&PAIRS, &filter).expect("two pairs are fine");
        assert_eq!(
            summary.to_string(),
            "7 pairs read, 2 kept, 2 with an empty source dropped, 1 with an empty target dropped, \
             2 too long, dropped, 1 identical to another"
        );
    }

    #[test]
    fn a_corpus_of_which_nothing_is_left_is_an_error() {
        let error = encode_pairs(&[("", "x")], &Filter::default()).expect_err("it is empty");
        assert_eq!(
            error.to_string(),
            "no pair is left to train on: 1 pairs read, 0 kept, 1 with an empty source dropped; \
             raise `max_len`, or look at the files"
        );
    }

    #[test]
    fn pairs_stay_in_order_across_chunks() {
        let n = CHUNK_PAIRS + 5;
        let pairs = (0..n)
            .map(|i| ("a".repeat(1 + i % 7), "b".repeat(1 + i % 5)))
            .collect();
        let text = ParallelText::from_pairs(pairs);
        let (corpus, _) =
            encode(&text, &Filter::default(), letters, letters).expect("they are fine");
        let expected: Vec<_> = (0..n as u32).map(|i| (1 + i % 7, 1 + i % 5)).collect();
        assert_eq!(corpus.all_lengths(), expected);
    }
}
