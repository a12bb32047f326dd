//! [`encode`]: tokenizes and filters a corpus.

use transformer_core::text::Tokenizer;

use crate::config::{DataSettings, Empty};
use crate::corpus::summary::CountedFilter;
use crate::corpus::{CorpusSummary, Fingerprint, Pairs, ParallelText, StoreWriter, TokenStore};
use crate::error::TrainError;

/// Number of pairs that are tokenized or judged together: enough to keep all threads busy in little memory.
const CHUNK_PAIRS: usize = 4096;

/// Size of the text, in bytes, above which there are fewer pairs.
const CHUNK_BYTES: usize = 1 << 22;

pub(crate) struct KeptPair<'a> {
    /// The ids of the source, without `EOS`.
    pub(crate) src: &'a [u32],
    /// The ids of the target, without `BOS` and `EOS`.
    pub(crate) tgt: &'a [u32],
    /// The lines, with their tags.
    pub(crate) text: (&'a str, &'a str),
    /// The number of the lines in a single corpus, from 1.
    pub(crate) line: u64,
    pub(crate) corpus: usize,
}

pub(crate) fn tokenized(tokenizer: &Tokenizer) -> impl Fn(&[String]) -> Vec<Vec<u32>> {
    |lines| tokenizer.encode_all(lines)
}

/// Like [`encode_into`], but stores the token ids in memory. All are below `vocab_size`.
pub(crate) fn encode(
    text: &ParallelText,
    filter: &DataSettings,
    vocab_size: usize,
    encode_src: impl FnMut(&[String]) -> Vec<Vec<u32>>,
    encode_tgt: impl FnMut(&[String]) -> Vec<Vec<u32>>,
) -> Result<(TokenStore, CorpusSummary, Fingerprint), TrainError> {
    let mut writer = StoreWriter::in_memory(vocab_size);
    let sink = |pair: KeptPair<'_>| {
        let written = writer.push(pair.src, pair.tgt);
        written.expect("memory is writable");
        Ok(())
    };
    let (summary, fingerprint) = encode_into(text, filter, encode_src, encode_tgt, sink)?;
    Ok((writer.finish(), summary, fingerprint))
}

/// Tokenizes and filters a corpus, and passes each kept pair to `sink`. Also returns the fingerprint of the kept pairs.
///
/// `encode_src` and `encode_tgt` receive a few thousand lines at a time and return the ids of each line, without `BOS`
/// and `EOS`. The tags of a corpus are passed once, as separate lines.
pub(crate) fn encode_into(
    text: &ParallelText,
    filter: &DataSettings,
    mut encode_src: impl FnMut(&[String]) -> Vec<Vec<u32>>,
    mut encode_tgt: impl FnMut(&[String]) -> Vec<Vec<u32>>,
    mut sink: impl FnMut(KeptPair<'_>) -> Result<(), TrainError>,
) -> Result<(CorpusSummary, Fingerprint), TrainError> {
    let tags = text.tags();
    let ids = [
        tags.iter()
            .map(|tags| encode_src(tags.src.as_slice()).concat())
            .collect(),
        tags.iter()
            .map(|tags| encode_tgt(tags.tgt.as_slice()).concat())
            .collect(),
    ];
    let mut counted = CountedFilter::new(filter, ids);
    let mut fingerprint = Fingerprint::default();
    let mut pairs = text.pairs()?;
    loop {
        let mut chunk = next_chunk(&mut pairs, filter.empty)?;
        if chunk.is_empty() {
            break;
        }
        chunk.retain(|read| counted.keeps_text(&read.pair, read.is_copy));
        let origins: Vec<_> = chunk.iter().map(|it| (it.corpus, it.line)).collect();
        let lines = chunk.into_iter().map(|read| read.pair);
        let (src_lines, tgt_lines): (Vec<String>, Vec<String>) = lines.unzip();
        let src = encode_src(&src_lines);
        let tgt = encode_tgt(&tgt_lines);
        let n_lines = [src_lines.len(), tgt_lines.len()];
        assert_eq!([src.len(), tgt.len()], n_lines, "each line has one item");
        let lines = src_lines.iter().zip(&tgt_lines);
        let pairs = src.iter().zip(&tgt).zip(lines).zip(origins);
        for (((src, tgt), (src_line, tgt_line)), (corpus, line)) in pairs {
            if let Some((src, tgt)) = counted.filter_tokens(corpus, src, tgt) {
                fingerprint.push(src, tgt);
                sink(KeptPair {
                    src,
                    tgt,
                    text: (src_line, tgt_line),
                    line,
                    corpus,
                })?;
            }
        }
    }
    let mut summary = counted.summary;
    summary.long_lines = pairs.n_long();
    summary.read += summary.long_lines;
    // The sampling frequency of a pair depends on its corpus.
    if let counts @ [_, _, ..] = summary.kept_of.as_slice() {
        fingerprint.push_counts(counts);
    }
    match summary.kept {
        0 => Err(TrainError::NothingKept {
            file: text.name().to_owned(),
            summary: Box::new(summary),
        }),
        _ => Ok((summary, fingerprint)),
    }
}

/// A pair with the index of its corpus, its number from 1, and whether its sides are equal without their tags.
pub(super) struct ReadPair {
    corpus: usize,
    pub(super) line: u64,
    is_copy: bool,
    pub(super) pair: (String, String),
}

/// Reads the next pairs; none at the end.
pub(super) fn next_chunk(pairs: &mut Pairs, empty: Empty) -> Result<Vec<ReadPair>, TrainError> {
    let mut chunk = Vec::new();
    let mut n_bytes = 0;
    while chunk.len() < CHUNK_PAIRS
        && n_bytes < CHUNK_BYTES
        && let Some(pair) = pairs.next()
    {
        let pair = pair?;
        if empty == Empty::Refuse
            && let Some(side) = empty_side(&pair)
        {
            let (file, pair) = pairs.origin();
            let file = file.to_owned();
            return Err(TrainError::EmptySide { file, pair, side });
        }
        n_bytes += pair.0.len() + pair.1.len();
        chunk.push(ReadPair {
            corpus: pairs.corpus(),
            line: pairs.n_read(),
            is_copy: pairs.is_copy(),
            pair,
        });
    }
    Ok(chunk)
}

pub(super) fn empty_side((src, tgt): &(String, String)) -> Option<&'static str> {
    let sides = [(src, "source"), (tgt, "target")];
    let empty = sides.into_iter().find(|(line, _)| line.trim().is_empty());
    empty.map(|(_, side)| side)
}

#[cfg(test)]
mod tests {
    use transformer_core::text::UNK;

    use super::*;
    use crate::config::{Copies, Duplicates, LineLimit, OverLong, Tags};

    /// Returns one id per lower-case letter; other characters are dropped.
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
        filter: &DataSettings,
    ) -> Result<(TokenStore, CorpusSummary), TrainError> {
        let pairs = pairs
            .iter()
            .map(|&(src, tgt)| (src.to_owned(), tgt.to_owned()))
            .collect();
        let text = ParallelText::from_pairs(pairs);
        let encoded = encode(&text, filter, 128, letters, letters);
        encoded.map(|(corpus, summary, _)| (corpus, summary))
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
        let filter = DataSettings {
            max_len: 3,
            ..DataSettings::default()
        };
        let (corpus, summary) = encode_pairs(&PAIRS, &filter).expect("two pairs are fine");
        assert_eq!(*corpus.lengths(), [(3, 2), (3, 2)]);
        let expected = CorpusSummary {
            read: 7,
            kept: 2,
            empty_src: 2,
            empty_tgt: 1,
            too_long: 2,
            identical: 1,
            src_tokens: 6,
            tgt_tokens: 4,
            longest: 5,
            kept_of: vec![2],
            ..CorpusSummary::default()
        };
        assert_eq!(summary, expected);
    }

    #[test]
    fn a_line_of_which_only_the_tag_is_left_is_empty() {
        let pairs = [("ab", "x"), ("12", "x"), ("c", "34")];
        let pairs = pairs.map(|(src, tgt)| (src.to_owned(), tgt.to_owned()));
        let tags = Tags {
            src: Some("<2de>".to_owned()),
            tgt: Some("<de>".to_owned()),
        };
        let text = ParallelText::from_pairs(pairs.into()).tagged(&tags);
        let (corpus, summary, _) =
            encode(&text, &DataSettings::default(), 128, letters, letters).expect("a pair is fine");
        assert_eq!(*corpus.lengths(), [(4, 3)]);
        assert_eq!((summary.empty_src, summary.empty_tgt), (1, 1));
    }

    #[test]
    fn over_long_pairs_are_cut_if_the_filter_says_so() {
        let filter = DataSettings {
            max_len: 3,
            over_long: OverLong::Cut,
            ..DataSettings::default()
        };
        let (corpus, summary) = encode_pairs(&PAIRS, &filter).expect("four pairs are fine");
        assert_eq!(*corpus.lengths(), [(3, 2), (3, 1), (3, 2), (1, 3)]);
        assert_eq!((summary.cut, summary.too_long, summary.kept), (2, 0, 4));
    }

    #[test]
    fn identical_pairs_are_dropped_if_the_filter_says_so() {
        let filter = DataSettings {
            duplicates: Duplicates::Drop,
            ..DataSettings::default()
        };
        let (_, summary) = encode_pairs(&PAIRS, &filter).expect("three pairs are fine");
        assert_eq!(
            (summary.kept, summary.identical, summary.identical_dropped),
            (3, 1, 1)
        );
    }

    #[test]
    fn pairs_above_the_ratio_are_dropped_whichever_side_is_longer() {
        let pairs = [("abc", "d"), ("a", "bcd"), ("abc", "de"), ("ab", "cdef")];
        let filter = DataSettings {
            max_ratio: Some(2.0),
            ..DataSettings::default()
        };
        let (corpus, summary) = encode_pairs(&pairs, &filter).expect("two pairs are fine");
        assert_eq!(*corpus.lengths(), [(3, 2), (2, 4)]);
        assert_eq!((summary.unbalanced, summary.kept), (2, 2));
    }

    #[test]
    fn copies_are_counted_and_dropped_if_the_filter_says_so() {
        let pairs = [("abc", "abc"), ("a", "b"), ("d ", " d"), ("E", "e")];
        let count = |copies| {
            let filter = DataSettings {
                copies,
                ..DataSettings::default()
            };
            let (_, summary) = encode_pairs(&pairs, &filter).expect("a pair is fine");
            (summary.copies, summary.copies_dropped, summary.kept)
        };
        // The source `E` has no tokens, because the tokenizer knows only lower-case letters.
        assert_eq!(count(Copies::Keep), (2, 0, 3));
        assert_eq!(count(Copies::Drop), (2, 2, 1));
    }

    #[test]
    fn unknown_tokens_are_counted_on_both_sides() {
        let text = ParallelText::from_pairs(vec![("ab".into(), "c".into())]);
        let unknown = |lines: &[String]| lines.iter().map(|_| vec![UNK, 9, UNK]).collect();
        let known = |lines: &[String]| lines.iter().map(|_| vec![9]).collect();
        let filter = DataSettings::default();
        let (_, summary, _) = encode(&text, &filter, 10, unknown, known).expect("a pair is fine");
        assert_eq!((summary.src_unknown, summary.tgt_unknown), (2, 0));
    }

    #[test]
    fn every_dropped_pair_is_counted_once() {
        for duplicates in [Duplicates::Keep, Duplicates::Drop] {
            let filter = DataSettings {
                max_len: 3,
                max_ratio: Some(2.0),
                duplicates,
                copies: Copies::Drop,
                ..DataSettings::default()
            };
            let (_, summary) = encode_pairs(&PAIRS, &filter).expect("a pair is fine");
            let dropped = summary.empty_src
                + summary.empty_tgt
                + summary.too_long
                + summary.unbalanced
                + summary.copies_dropped
                + summary.identical_dropped;
            assert_eq!(summary.read, summary.kept + dropped);
        }
    }

    #[test]
    fn the_summary_is_one_line_without_zero_counts() {
        let filter = DataSettings {
            max_len: 3,
            ..DataSettings::default()
        };
        let (_, summary) = encode_pairs(&PAIRS, &filter).expect("two pairs are fine");
        assert_eq!(
            summary.to_string(),
            "7 pairs read, 2 kept, 2 with an empty source dropped, 1 with an empty target dropped, \
             2 too long, dropped, 1 identical to another"
        );
    }

    #[test]
    fn an_empty_line_is_refused_with_its_number_if_the_filter_says_so() {
        let filter = DataSettings {
            empty: Empty::Refuse,
            ..DataSettings::default()
        };
        let pairs = [("a", "x"), ("b", " "), ("", "y")];
        let error = encode_pairs(&pairs, &filter).expect_err("two lines are blank");
        assert_eq!(
            error.to_string(),
            "pair 2 of the list of pairs has an empty target; correct the files, or set `data.empty` to `drop`"
        );
        assert!(encode_pairs(&pairs[..1], &filter).is_ok());
    }

    #[test]
    fn an_empty_line_of_several_corpora_has_its_number_in_its_own_file() {
        let filter = DataSettings {
            empty: Empty::Refuse,
            ..DataSettings::default()
        };
        let corpora = [("one", ["x", "y"]), ("two", ["z", ""])].map(|(name, targets)| {
            let pairs = targets.map(|tgt| ("a".to_owned(), tgt.to_owned()));
            ParallelText::from_pairs(pairs.into()).named(name.to_owned())
        });
        let text = ParallelText::concatenated(corpora.into(), LineLimit::default());
        let error = encode(&text, &filter, 128, letters, letters).expect_err("a line is blank");
        let start = "pair 2 of two has an empty target;";
        assert!(error.to_string().starts_with(start), "{error}");
    }

    #[test]
    fn a_corpus_without_a_kept_pair_is_an_error() {
        let error = encode_pairs(&[("", "x")], &DataSettings::default()).expect_err("it is empty");
        assert_eq!(
            error.to_string(),
            "no pair of the list of pairs is left: 1 pairs read, 0 kept, 1 with an empty source dropped; \
             check the files, and `max_len` and the other filters in `[data]`"
        );
    }

    #[test]
    fn pairs_stay_in_order_across_chunks() {
        let n = CHUNK_PAIRS + 5;
        let pairs = (0..n)
            .map(|i| ("a".repeat(1 + i % 7), "b".repeat(1 + i % 5)))
            .collect();
        let text = ParallelText::from_pairs(pairs);
        let (corpus, ..) =
            encode(&text, &DataSettings::default(), 128, letters, letters).expect("they are fine");
        let expected: Vec<_> = (0..n as u32).map(|i| (1 + i % 7, 1 + i % 5)).collect();
        assert_eq!(*corpus.lengths(), expected);
    }
}
