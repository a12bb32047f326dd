//! [`Blocks`]: groups of lines up to the next blank line.

use super::options::SubtitleKind;
use super::text::trimmed;
use crate::ReadError;
use crate::format::source::{MAX_RECORD_BYTES, Source};

/// Lines with their line ends, none of them blank, and the blank lines after them.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) lines: Vec<String>,
    pub(super) blank: String,
    /// Number of the first line.
    pub(super) number: u64,
}

/// A reader of blocks of lines.
#[derive(Debug)]
pub(super) struct Blocks {
    kind: SubtitleKind,
    /// The first line of the next block.
    next: Option<String>,
}

impl Blocks {
    pub(super) fn new(kind: SubtitleKind) -> Self {
        Self { kind, next: None }
    }

    /// Returns the next block, which has no lines if the file begins with blank ones; `None` at the end.
    pub(super) fn next_block(&mut self, source: &mut Source) -> Result<Option<Block>, ReadError> {
        let mut block = Block {
            lines: Vec::new(),
            blank: String::new(),
            number: source.n_read() + u64::from(self.next.is_none()),
        };
        let mut n_bytes = 0;
        loop {
            let line = match self.next.take() {
                Some(line) => line,
                None => match source.next_line()? {
                    Some(line) => line,
                    None => break,
                },
            };
            n_bytes += line.len();
            if n_bytes > MAX_RECORD_BYTES {
                return Err(source.too_large(block.number, "the cue or block"));
            }
            if self.is_blank(&line) {
                block.blank.push_str(&line);
            } else if block.blank.is_empty() {
                block.lines.push(line);
            } else {
                self.next = Some(line);
                break;
            }
        }
        Ok((n_bytes > 0).then_some(block))
    }

    fn is_blank(&self, line: &str) -> bool {
        match self.kind {
            SubtitleKind::SubRip => trimmed(line).is_empty(),
            SubtitleKind::WebVtt => line.trim_end_matches(['\r', '\n']).is_empty(),
        }
    }
}
