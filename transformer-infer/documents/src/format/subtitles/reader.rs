//! [`Subtitles`]: reads subtitles.

use std::time::Duration;

use super::passages::CuePassages;
use super::text::CueTime;
use super::text::{is_number, trimmed};
use crate::ReadError;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::{MAX_RECORD_BYTES, Source};

/// The format of subtitles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SubtitleKind {
    /// SubRip, `.srt`.
    SubRip,
    /// WebVTT, `.vtt`.
    WebVtt,
}

/// The rules for ending passages of subtitles. Sentences run over the cues of a passage.
#[derive(Clone, Debug)]
pub struct SubtitleOptions {
    /// The pause between two cues that ends the passage if it is exceeded, unless the second cue continues an
    /// unfinished sentence in lower case. 3 seconds by default.
    pub pause: Duration,
    /// Maximum number of cues in a passage; once half of it is reached, a cue that ends a sentence ends the passage. 24
    /// by default; at least 1.
    pub max_cues: usize,
}

impl Default for SubtitleOptions {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(3),
            max_cues: 24,
        }
    }
}

/// A reader of SubRip and WebVTT. Numbers, times, settings, headers, notes and styles are verbatim. A passage is the
/// text of several cues; line ends and the ends of cues are breaks.
#[derive(Debug)]
pub(in crate::format) struct Subtitles {
    kind: SubtitleKind,
    blocks: Blocks,
    passages: CuePassages,
    /// True after the header of WebVTT, or the first cue of SubRip.
    has_begun: bool,
}

impl Subtitles {
    pub(in crate::format) fn new(kind: SubtitleKind, options: SubtitleOptions) -> Self {
        Self {
            kind,
            blocks: Blocks::new(kind),
            passages: CuePassages::new(kind, options),
            has_begun: false,
        }
    }
}

impl ReadParts for Subtitles {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        let Some(block) = self.blocks.next_block(source)? else {
            self.passages.end_passage(parts);
            return Ok(false);
        };
        self.read_block(&block, source, parts)?;
        self.passages.push_gap(&block.blank, parts);
        Ok(true)
    }
}

impl Subtitles {
    fn read_block(
        &mut self,
        block: &Block,
        source: &Source,
        parts: &mut PartQueue,
    ) -> Result<(), ReadError> {
        let times: Vec<Option<CueTime>> = block.lines.iter().map(|it| CueTime::parse(it)).collect();
        let mut at = 0;
        if !self.has_begun {
            at = self.begin(block, source, times.iter().any(Option::is_some))?;
            self.copy(&block.lines[..at], parts);
        }
        let Some(first) = (at..times.len()).find(|index| times[*index].is_some()) else {
            self.read_block_without_times(&block.lines[at..], parts);
            return Ok(());
        };
        // Copies the lines before the first times, except for a number or name of the cue.
        let n_copied = first.saturating_sub(1).max(at);
        self.copy(&block.lines[at..n_copied], parts);
        for index in n_copied..block.lines.len() {
            let line = &block.lines[index];
            let is_number = index == n_copied && index < first
                || times.get(index + 1).is_some_and(Option::is_some) && is_number(line);
            match times[index] {
                Some(time) => {
                    self.passages.push_gap(line, parts);
                    self.passages.begin_cue(Some(time));
                }
                None if is_number => self.passages.push_gap(line, parts),
                None => self.passages.push_line(line, parts),
            }
        }
        Ok(())
    }

    /// Checks the first block; returns the number of lines of the header.
    fn begin(
        &mut self,
        block: &Block,
        source: &Source,
        has_times: bool,
    ) -> Result<usize, ReadError> {
        let first = match block.lines.first() {
            Some(first) => first.trim_end(),
            None if self.kind == SubtitleKind::SubRip => return Ok(0),
            None => "",
        };
        self.has_begun = true;
        match self.kind {
            SubtitleKind::SubRip if has_times => Ok(0),
            SubtitleKind::SubRip => Err(source.syntax(
                block.number,
                "expected a number and times such as `00:00:01,000 --> 00:00:02,000`, found other text",
                "check that this is a SubRip file",
            )),
            SubtitleKind::WebVtt => match first.strip_prefix("WEBVTT") {
                Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => Ok(1),
                _ => Err(source.syntax(
                    block.number,
                    "expected `WEBVTT` in the first line, found other text or a blank line",
                    "check that this is a WebVTT file, and remove what comes before",
                )),
            },
        }
    }

    /// Reads lines that do not begin a cue: notes and styles of WebVTT; in SubRip, text after a blank line in a cue.
    fn read_block_without_times(&mut self, lines: &[String], parts: &mut PartQueue) {
        let is_text =
            self.kind == SubtitleKind::SubRip && !matches!(lines, [line] if is_number(line));
        if !is_text {
            self.copy(lines, parts);
            return;
        }
        self.passages.begin_cue(None);
        for line in lines {
            self.passages.push_line(line, parts);
        }
    }

    fn copy(&mut self, lines: &[String], parts: &mut PartQueue) {
        if lines.is_empty() {
            return;
        }
        self.passages.end_passage(parts);
        for line in lines {
            parts.push_verbatim(line);
        }
    }
}

/// Lines with their line ends, none of them blank, and the blank lines after them.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) lines: Vec<String>,
    pub(super) blank: String,
    pub(super) number: u64,
}

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
