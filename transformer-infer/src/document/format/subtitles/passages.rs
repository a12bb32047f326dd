//! [`CuePassages`]: joins cues to passages.

use std::sync::Arc;

use super::line::{SubRipText, WebVttText, read_line};
use super::options::{SubtitleKind, SubtitleOptions};
use super::time::CueTime;
use crate::document::Notation;
use crate::document::format::items::{Item, ItemKind};
use crate::document::format::lines::split_line_end;
use crate::document::format::parts::PartQueue;
use crate::document::format::segments::push_items;

/// A passage ends at the next cue after this many bytes.
const MAX_PASSAGE_BYTES: usize = 1 << 16;

/// The cues of a passage that has not ended.
#[derive(Debug)]
pub(super) struct CuePassages {
    kind: SubtitleKind,
    options: SubtitleOptions,
    notation: Arc<dyn Notation>,
    items: Vec<Item>,
    n_cues: usize,
    n_bytes: usize,
    /// What comes between the last text and the next: a line end, times.
    gap: String,
    /// The times of the last cue with text, and of the cue that is being read.
    last_time: Option<CueTime>,
    time: Option<CueTime>,
    is_cue_start: bool,
}

impl CuePassages {
    pub(super) fn new(kind: SubtitleKind, options: SubtitleOptions) -> Self {
        Self {
            kind,
            options,
            notation: match kind {
                SubtitleKind::SubRip => Arc::new(SubRipText),
                SubtitleKind::WebVtt => Arc::new(WebVttText),
            },
            items: Vec::new(),
            n_cues: 0,
            n_bytes: 0,
            gap: String::new(),
            last_time: None,
            time: None,
            is_cue_start: false,
        }
    }

    /// Adds what is copied between texts: blank lines, numbers.
    pub(super) fn push_gap(&mut self, text: &str, parts: &mut PartQueue) {
        self.gap.push_str(text);
        if self.gap.len() > MAX_PASSAGE_BYTES {
            self.end_passage(parts);
        }
    }

    /// Begins a cue, the line of whose times is in the gap.
    pub(super) fn begin_cue(&mut self, time: Option<CueTime>) {
        self.time = time.or(self.time);
        self.is_cue_start = true;
    }

    /// Adds a line of the text of a cue, with its line end.
    pub(super) fn push_line(&mut self, line: &str, parts: &mut PartQueue) {
        let (content, line_end) = split_line_end(line);
        let items = read_line(self.kind, content);
        if std::mem::take(&mut self.is_cue_start) {
            if self.ends_before(&items) {
                self.end_passage(parts);
            }
            self.n_cues += 1;
            self.last_time = self.time;
        }
        let gap = std::mem::take(&mut self.gap);
        self.n_bytes += gap.len() + line.len();
        if self.items.is_empty() {
            parts.push_verbatim(&gap);
        } else {
            self.items.push(Item::new(ItemKind::Break, gap));
        }
        for item in items {
            match self.items.last_mut() {
                // What is at the start of a line, such as a position, stays there.
                Some(last) if item.kind == ItemKind::Point && last.kind == ItemKind::Break => {
                    last.raw.push_str(&item.raw);
                    last.source.push_str(&item.source);
                }
                _ => self.items.push(item),
            }
        }
        self.gap.push_str(line_end);
    }

    /// Ends the passage, and adds what comes behind it.
    pub(super) fn end_passage(&mut self, parts: &mut PartQueue) {
        push_items(std::mem::take(&mut self.items), &self.notation, parts);
        parts.push_verbatim(&std::mem::take(&mut self.gap));
        self.n_cues = 0;
        self.n_bytes = 0;
    }

    /// Returns whether the passage ends before a cue whose first line this is.
    fn ends_before(&self, next: &[Item]) -> bool {
        let ends_sentence = self.ends_sentence();
        let max_cues = self.options.max_cues.max(1);
        if self.n_cues >= max_cues || self.n_bytes > MAX_PASSAGE_BYTES {
            return true;
        }
        if self.n_cues >= max_cues.div_ceil(2) && ends_sentence {
            return true;
        }
        let (Some(last), Some(time)) = (self.last_time, self.time) else {
            return false;
        };
        let continues = !ends_sentence && starts_in_lower_case(next);
        time.start.saturating_sub(last.end) > self.options.pause && !continues
    }

    /// Returns whether the last cue ends with the end of a sentence.
    fn ends_sentence(&self) -> bool {
        let texts = self.items.iter().rev().filter_map(|item| match &item.kind {
            ItemKind::Text(text) => Some(text.trim_end()),
            _ => None,
        });
        let is_quote = |c| "\"'”’»)]♪".contains(c) || char::is_whitespace(c);
        texts
            .map(|text| text.trim_end_matches(is_quote))
            .find(|text| !text.is_empty())
            .is_some_and(|text| text.ends_with(['.', '!', '?', '…', '。', '！', '？']))
    }
}

fn starts_in_lower_case(items: &[Item]) -> bool {
    let text = items.iter().find_map(|item| match &item.kind {
        ItemKind::Text(text) => text.chars().find(|c| c.is_alphanumeric()),
        _ => None,
    });
    text.is_some_and(char::is_lowercase)
}
