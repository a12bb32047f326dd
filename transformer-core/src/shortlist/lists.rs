//! [`Shortlist`]: a list of target tokens for each source token.

use std::collections::{BTreeSet, HashMap};

use thiserror::Error;

use crate::text::EOS;

/// The first 8 bytes of a file, as an integer.
const MAGIC: u64 = 0xF11A_48D5_0134_17F5;

/// Number of bytes before the offsets: magic number, checksum, number of common tokens, largest number of tokens of a
/// list when the file was made, number of offsets and number of ids.
const HEADER_BYTES: usize = 48;

/// For each source token a list of target tokens, and common tokens for all sentences.
///
/// The output of a sentence is limited to the common tokens and the lists of its source tokens, so that few rows of the
/// output matrix are needed. Marian's lexical shortlists, `lex.*.s2t.bin`, have this form and this file format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortlist {
    /// The tokens below this id are common.
    n_common: u32,
    n_best: u64,
    /// The list of source token `i` is `ids[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
    ids: Vec<u32>,
}

/// The reason why a file is not the shortlist of a model.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum ShortlistError {
    #[error(
        "it is not a shortlist in Marian's binary format; give a `lex.*.bin` that is not compressed"
    )]
    Magic,
    #[error("its sizes do not add up to its {n_bytes} bytes; get it again")]
    Size { n_bytes: usize },
    #[error("it was changed, because its checksum is another; get it again")]
    Checksum,
    #[error(
        "it has lists for {found} source tokens, but the model has {expected}; take both from one model"
    )]
    Vocabulary { found: u64, expected: usize },
    #[error(
        "the list of source token {token} does not begin where the previous one ends; get it again"
    )]
    Offsets { token: usize },
    #[error("it has the target token {id}, but the model has {n_tokens}; take both from one model")]
    Token { id: u64, n_tokens: usize },
}

impl Shortlist {
    /// Makes a shortlist of a list for each source token, in ascending order and of the `n_best` likeliest tokens when it
    /// was made. Only special tokens are common; tokens for all sentences are those of the list of EOS.
    pub(super) fn new<L: IntoIterator<Item = u32>>(
        n_best: usize,
        lists: impl Iterator<Item = L>,
    ) -> Self {
        let (mut offsets, mut ids) = (vec![0], Vec::new());
        for list in lists {
            ids.extend(list);
            offsets.push(ids.len());
        }
        Self {
            n_common: EOS + 1,
            n_best: n_best as u64,
            offsets,
            ids,
        }
    }

    /// Parses a file for vocabularies of these sizes.
    ///
    /// # Errors
    ///
    /// Returns a [`ShortlistError`] if the file is damaged or belongs to another model.
    pub fn parse(file: &[u8], n_src: usize, n_tgt: usize) -> Result<Self, ShortlistError> {
        let wrong_size = ShortlistError::Size {
            n_bytes: file.len(),
        };
        let (header, lists) = file.split_at_checked(HEADER_BYTES).ok_or(wrong_size)?;
        let mut numbers = u64s(header);
        let mut number = || numbers.next().unwrap_or_default();
        let (magic, checksum) = (number(), number());
        let (n_common, n_best, n_offsets, n_ids) = (number(), number(), number(), number());
        if magic != MAGIC {
            return Err(ShortlistError::Magic);
        }
        if n_offsets.checked_sub(1) != Some(n_src as u64) {
            return Err(ShortlistError::Vocabulary {
                found: n_offsets.saturating_sub(1),
                expected: n_src,
            });
        }
        let (offsets, ids) = lists.split_at_checked((n_src + 1) * 8).ok_or(wrong_size)?;
        if n_ids.checked_mul(4) != Some(ids.len() as u64) {
            return Err(wrong_size);
        }
        if self::checksum(&file[16..]) != checksum {
            return Err(ShortlistError::Checksum);
        }
        let unknown = |id| ShortlistError::Token {
            id,
            n_tokens: n_tgt,
        };
        let n_common = u32::try_from(n_common)
            .ok()
            .filter(|n| *n as usize <= n_tgt);
        let n_common = n_common.ok_or(unknown(u64s(&header[16..]).next().unwrap_or_default()))?;
        let (ids, _) = ids.as_chunks();
        let ids: Vec<u32> = ids.iter().map(|id| u32::from_le_bytes(*id)).collect();
        if let Some(id) = ids.iter().find(|id| **id as usize >= n_tgt) {
            return Err(unknown((*id).into()));
        }
        let mut last = 0;
        let mut checked = Vec::with_capacity(n_src + 1);
        for (token, offset) in u64s(offsets).enumerate() {
            let offset = usize::try_from(offset)
                .ok()
                .filter(|it| (last..=ids.len()).contains(it));
            last = offset.ok_or(ShortlistError::Offsets { token })?;
            checked.push(last);
        }
        if (checked.first(), last) != (Some(&0), ids.len()) {
            return Err(ShortlistError::Offsets { token: n_src });
        }
        Ok(Self {
            n_common,
            n_best,
            offsets: checked,
            ids,
        })
    }

    /// Returns the content of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let sizes = [
            self.n_common.into(),
            self.n_best,
            self.offsets.len() as u64,
            self.ids.len() as u64,
        ];
        let offsets = self.offsets.iter().map(|offset| *offset as u64);
        let numbers = sizes.into_iter().chain(offsets).flat_map(u64::to_le_bytes);
        let body: Vec<u8> = numbers
            .chain(self.ids.iter().flat_map(|id| id.to_le_bytes()))
            .collect();
        with_checksum(&body)
    }

    /// Parses a file without its first 16 bytes.
    #[cfg(test)]
    pub(crate) fn of_body(body: &[u8], n_src: usize, n_tgt: usize) -> Result<Self, ShortlistError> {
        Self::parse(&with_checksum(body), n_src, n_tgt)
    }

    /// Returns the shortlist for other ids: each vocabulary is given with the present id for each new one. Ordinary
    /// tokens keep their order. Target tokens without a new id are left out.
    pub(crate) fn renumbered(&self, src: &[Option<u32>], tgt: &[Option<u32>]) -> Self {
        let pairs = (0..).zip(tgt);
        let new_ids: HashMap<u32, u32> = pairs
            .filter_map(|(new, old)| Some(((*old)?, new)))
            .collect();
        let common = new_ids.iter().filter(|(old, _)| **old < self.n_common);
        let n_common = common.map(|(_, new)| new + 1).max().unwrap_or_default();
        let lists = src.iter().map(|old| {
            let list = old.map_or(&[][..], |old| self.list(old as usize));
            let list = list.iter().filter_map(|id| new_ids.get(id).copied());
            list.collect::<BTreeSet<u32>>()
        });
        Self {
            n_common: n_common.max(EOS + 1),
            ..Self::new(self.n_best as usize, lists)
        }
    }

    /// Adds each source token to its own list, as Marian does where both sides have one vocabulary: pieces can be
    /// copied.
    #[must_use]
    pub fn with_copies(&self) -> Self {
        let lists = (0..self.offsets.len() - 1).map(|token| {
            let list = self.list(token).iter().copied();
            list.chain([token as u32]).collect::<BTreeSet<u32>>()
        });
        Self {
            n_common: self.n_common,
            ..Self::new(self.n_best as usize, lists)
        }
    }

    /// Returns the list of a source token; empty if it has none.
    fn list(&self, token: usize) -> &[u32] {
        let range = self.offsets.get(token).zip(self.offsets.get(token + 1));
        range.map_or(&[], |(start, end)| &self.ids[*start..*end])
    }

    /// Returns the tokens to which the translation of a source is limited, in ascending order. The special tokens are
    /// the first of them. The list of EOS counts also if the source does not have it.
    pub fn candidates(&self, source: &[u32]) -> Vec<u32> {
        let n_common = self.n_common.max(EOS + 1);
        let mut ids: Vec<u32> = source
            .iter()
            .chain([&EOS])
            .flat_map(|id| self.list(*id as usize))
            .copied()
            .collect();
        ids.retain(|id| *id >= n_common);
        ids.sort_unstable();
        ids.dedup();
        (0..n_common).chain(ids).collect()
    }
}

fn u64s(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|number| u64::from_le_bytes(*number))
}

/// Puts the magic number and the checksum before the rest of a file.
fn with_checksum(body: &[u8]) -> Vec<u8> {
    let start = [MAGIC, checksum(body)].map(u64::to_le_bytes);
    [start.as_flattened(), body].concat()
}

fn checksum(bytes: &[u8]) -> u64 {
    u64s(bytes).fold(0, |sum: u64, value| {
        let term = value.wrapping_add(0x9e37_79b9).wrapping_add(sum << 6);
        sum ^ term.wrapping_add(sum >> 2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a shortlist for 3 source and 12 target tokens.
    fn shortlist() -> Shortlist {
        Shortlist {
            n_common: 3,
            n_best: 2,
            offsets: vec![0, 2, 2, 5],
            ids: vec![7, 9, 0, 7, 11],
        }
    }

    #[test]
    fn a_file_that_was_written_is_read_and_a_changed_one_refused() {
        let bytes = shortlist().to_bytes();
        assert_eq!(Shortlist::parse(&bytes, 3, 12), Ok(shortlist()));
        for len in 0..bytes.len() {
            assert!(
                Shortlist::parse(&bytes[..len], 3, 12).is_err(),
                "{len} bytes"
            );
        }
        // The last 4 of the 20 bytes of ids have no part in the checksum.
        for at in 0..bytes.len() - 4 {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Shortlist::parse(&changed, 3, 12).is_err(), "byte {at}");
        }
    }

    #[test]
    fn sizes_and_tokens_of_another_model_are_refused() {
        let bytes = shortlist().to_bytes();
        let error =
            |n_src, n_tgt| Shortlist::parse(&bytes, n_src, n_tgt).expect_err("it is another model");
        assert_eq!(
            error(4, 12),
            ShortlistError::Vocabulary {
                found: 3,
                expected: 4
            }
        );
        assert_eq!(
            error(3, 11),
            ShortlistError::Token {
                id: 11,
                n_tokens: 11
            }
        );
        assert_eq!(error(3, 2), ShortlistError::Token { id: 3, n_tokens: 2 });
        let unordered = Shortlist {
            offsets: vec![0, 3, 2, 5],
            ..shortlist()
        };
        let error = Shortlist::parse(&unordered.to_bytes(), 3, 12);
        assert_eq!(error, Err(ShortlistError::Offsets { token: 2 }));
    }

    #[test]
    fn candidates_are_the_common_tokens_and_the_lists_of_the_source() {
        let list = Shortlist {
            n_common: 5,
            ..shortlist()
        };
        assert_eq!(list.candidates(&[1]), [0, 1, 2, 3, 4]);
        assert_eq!(list.candidates(&[2, 0, 2]), [0, 1, 2, 3, 4, 7, 9, 11]);
        assert_eq!(list.candidates(&[80]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn new_ids_have_the_lists_of_the_old_ones() {
        // As in Marian: `</s>` is 0, `<unk>` 1, and decoding starts from the last token.
        let tgt: Vec<Option<u32>> = [None, Some(1), Some(12), Some(0)]
            .into_iter()
            .chain((2..12).map(Some))
            .collect();
        let src = [None, Some(1), None, Some(0), Some(2)];
        let new = shortlist().renumbered(&src, &tgt);
        // The list of EOS counts in every sentence.
        assert_eq!(new.candidates(&[3]), [0, 1, 2, 3, 4, 9, 11]);
        assert_eq!(new.candidates(&[4]), [0, 1, 2, 3, 4, 9, 11, 13]);
        assert_eq!(new.candidates(&[0, 1]), [0, 1, 2, 3, 4, 9, 11]);
    }
}
