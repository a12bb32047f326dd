//! [`Subtitles`]: reads subtitles.

use super::blocks::{Block, Blocks};
use super::options::{SubtitleKind, SubtitleOptions};
use super::passages::CuePassages;
use super::text::is_number;
use super::time::CueTime;
use crate::ReadError;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::Source;

/// A reader of SubRip and WebVTT.
///
/// Numbers, times, settings, headers, notes and styles are verbatim. A passage is the text of several cues; line ends
/// and the ends of cues are breaks.
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
    fn read_parts(
        &mut self,
        source: &mut Source,
        parts: &mut PartQueue,
    ) -> Result<bool, ReadError> {
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
        let times: Vec<Option<CueTime>> = block
            .lines
            .iter()
            .map(|line| CueTime::parse(line))
            .collect();
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

    /// Ends the passage and copies lines.
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
