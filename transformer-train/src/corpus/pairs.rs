//! [`Pairs`]: iterates over the pairs of a corpus.

use std::sync::{Arc, OnceLock};

use derive_new::new;
use transformer_core::lines::LineError;

use crate::config::{LongLines, Tags};
use crate::corpus::input::Lines;
use crate::error::TrainError;
use crate::progress::Phase;

/// Number of pairs from one progress report to the next.
const REPORT_INTERVAL: u64 = 1024;

pub(super) enum PairSource {
    Files {
        src: Lines,
        tgt: Lines,
    },
    Tsv(Lines),
    Memory {
        pairs: Arc<[(String, String)]>,
        next: usize,
    },
    /// Several corpora, one after the other.
    Corpora {
        corpora: Vec<Pairs>,
        current: usize,
    },
}

pub(super) struct Reading {
    pub(super) phase: Phase,
    /// Number of all pairs, known after they have been read once.
    pub(super) n_pairs: Arc<OnceLock<u64>>,
}

/// Iterates over pairs of source and target, in the order of the files. Only one pair is in memory.
///
/// The iterator ends after the first error.
#[derive(new)]
#[new(visibility = "pub(super)")]
pub(crate) struct Pairs {
    name: String,
    source: PairSource,
    long_lines: LongLines,
    tags: Arc<Tags>,
    /// Indices of the pairs to skip, ascending.
    held_out: Arc<[u64]>,
    reading: Option<Reading>,
    /// True if the sides of the last pair are equal without their tags.
    #[new(default)]
    is_copy: bool,
    #[new(default)]
    n_long: u64,
    #[new(default)]
    n_held_out: usize,
    #[new(default)]
    n_read: u64,
    #[new(default)]
    ended: bool,
}

impl Pairs {
    pub(super) fn is_copy(&self) -> bool {
        match &self.source {
            PairSource::Corpora { corpora, current } => {
                corpora.get(*current).is_some_and(Self::is_copy)
            }
            _ => self.is_copy,
        }
    }

    /// Returns the number of pairs read so far, held-out ones included.
    pub(crate) fn n_read(&self) -> u64 {
        self.n_read
    }

    /// Returns the name of the corpus of the last pair, and the number of the pair in it, from 1.
    pub(super) fn origin(&self) -> (&str, u64) {
        match &self.source {
            PairSource::Corpora { corpora, current } if *current < corpora.len() => {
                corpora[*current].origin()
            }
            _ => (&self.name, self.n_read),
        }
    }

    /// Returns the number of pairs so far that were skipped because a line is above the limit.
    pub(super) fn n_long(&self) -> u64 {
        match &self.source {
            PairSource::Corpora { corpora, .. } => corpora.iter().map(Self::n_long).sum(),
            _ => self.n_long,
        }
    }

    /// Returns the index of the corpus of the last pair; 0 if there is only one corpus.
    pub(super) fn corpus(&self) -> usize {
        match &self.source {
            PairSource::Corpora { current, .. } => *current,
            _ => 0,
        }
    }

    fn read(&mut self) -> Result<Option<Row>, TrainError> {
        let pair = match &mut self.source {
            PairSource::Files { src, tgt } => return read_files(src, tgt, self.long_lines),
            PairSource::Tsv(lines) => return read_tsv(lines, self.long_lines),
            PairSource::Memory { pairs, next } => {
                let pair = pairs.get(*next).cloned();
                *next += 1;
                pair
            }
            PairSource::Corpora { corpora, current } => loop {
                let Some(pairs) = corpora.get_mut(*current) else {
                    break None;
                };
                if let Some(pair) = pairs.next() {
                    break Some(pair?);
                }
                *current += 1;
            },
        };
        Ok(pair.map(Row::Pair))
    }

    /// Reports progress, and returns whether the user has stopped the run.
    fn is_interrupted(&mut self) -> bool {
        let Some(Reading { phase, n_pairs }) = &mut self.reading else {
            return false;
        };
        self.n_read.is_multiple_of(REPORT_INTERVAL)
            && phase.pairs(self.n_read, n_pairs.get().copied()).is_break()
    }

    fn next_kept(&mut self) -> Result<Option<(String, String)>, TrainError> {
        while let Some(row) = self.read()? {
            let index = self.n_read;
            self.n_read += 1;
            if self.held_out.get(self.n_held_out) == Some(&index) {
                self.n_held_out += 1;
                continue;
            }
            match row {
                Row::Pair((src, tgt)) => {
                    self.is_copy = src.trim() == tgt.trim();
                    return Ok(Some((
                        with_tag(src, self.tags.src.as_deref()),
                        with_tag(tgt, self.tags.tgt.as_deref()),
                    )));
                }
                Row::TooLong => self.n_long += 1,
            }
        }
        match self.n_read {
            0 => Err(TrainError::EmptyFile {
                file: self.name.clone(),
            }),
            _ => Ok(None),
        }
    }
}

impl Iterator for Pairs {
    type Item = Result<(String, String), TrainError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let pair = match self.is_interrupted() {
            true => Some(Err(TrainError::Interrupted)),
            false => self.next_kept().transpose(),
        };
        self.ended = !matches!(pair, Some(Ok(_)));
        if let (None, Some(reading)) = (&pair, &self.reading) {
            reading.n_pairs.get_or_init(|| self.n_read);
        }
        pair
    }
}

/// Puts a tag before a line. A blank line stays blank, so that the filter drops it.
fn with_tag(line: String, tag: Option<&str>) -> String {
    match tag {
        Some(tag) if !line.trim().is_empty() => format!("{tag} {line}"),
        _ => line,
    }
}

enum Row {
    Pair((String, String)),
    /// A line is above the limit.
    TooLong,
}

/// Reads a line. The inner `None` is a line above the limit, if such lines are dropped.
fn read_line(
    lines: &mut Lines,
    long_lines: LongLines,
) -> Result<Option<Option<String>>, TrainError> {
    match lines.next_line() {
        Ok(line) => Ok(line.map(|line| Some(line.to_owned()))),
        Err(LineError::TooLong { .. }) if long_lines == LongLines::Drop => Ok(Some(None)),
        Err(error) => Err(error.into()),
    }
}

fn read_files(
    src: &mut Lines,
    tgt: &mut Lines,
    long_lines: LongLines,
) -> Result<Option<Row>, TrainError> {
    let src_line = read_line(src, long_lines)?;
    let tgt_line = read_line(tgt, long_lines)?;
    match (src_line, tgt_line) {
        (Some(Some(src_line)), Some(Some(tgt_line))) => Ok(Some(Row::Pair((src_line, tgt_line)))),
        (Some(_), Some(_)) => Ok(Some(Row::TooLong)),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(TrainError::LineCounts {
            src_lines: src.count_all()?,
            tgt_lines: tgt.count_all()?,
            src: src.name().to_owned(),
            tgt: tgt.name().to_owned(),
        }),
    }
}

fn read_tsv(lines: &mut Lines, long_lines: LongLines) -> Result<Option<Row>, TrainError> {
    let line = match read_line(lines, long_lines)? {
        None => return Ok(None),
        Some(None) => return Ok(Some(Row::TooLong)),
        Some(Some(line)) => line,
    };
    let columns = line.split('\t').count();
    if let (2, Some((src, tgt))) = (columns, line.split_once('\t')) {
        return Ok(Some(Row::Pair((src.to_owned(), tgt.to_owned()))));
    }
    let (file, line) = (lines.name().to_owned(), lines.n_read());
    Err(match columns {
        1 => TrainError::NoTab { file, line },
        _ => TrainError::ExtraColumns {
            file,
            line,
            columns,
        },
    })
}
