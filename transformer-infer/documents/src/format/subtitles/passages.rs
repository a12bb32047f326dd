//! [`CuePassages`]: joins cues into passages.

use std::sync::Arc;

use super::line::read_line;
use super::reader::{SubtitleKind, SubtitleOptions};
use super::text::CueText;
use super::text::CueTime;
use crate::Notation;
use crate::format::items::{Item, ItemKind};
use crate::format::parts::PartQueue;
use crate::format::segments::push_items;
use crate::format::source::split_line_end;

/// Number of bytes after which a passage ends at the next cue.
const MAX_PASSAGE_BYTES: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct CuePassages {
    kind: SubtitleKind,
    options: SubtitleOptions,
    notation: Arc<dyn Notation>,
    items: Vec<Item>,
    /// The items with which cues begin, except for the first.
    cue_starts: Vec<usize>,
    n_cues: usize,
    n_bytes: usize,
    /// The source after the last text: a line end, times.
    gap: String,
    /// The times of the last cue with text, and of the current cue.
    last_time: Option<CueTime>,
    time: Option<CueTime>,
    is_cue_start: bool,
}

impl CuePassages {
    pub(super) fn new(kind: SubtitleKind, options: SubtitleOptions) -> Self {
        Self {
            kind,
            options,
            notation: Arc::new(CueText(kind)),
            items: Vec::new(),
            cue_starts: Vec::new(),
            n_cues: 0,
            n_bytes: 0,
            gap: String::new(),
            last_time: None,
            time: None,
            is_cue_start: false,
        }
    }

    pub(super) fn push_gap(&mut self, text: &str, parts: &mut PartQueue) {
        self.gap.push_str(text);
        if self.gap.len() > MAX_PASSAGE_BYTES {
            self.end_passage(parts);
        }
    }

    /// Begins a cue after the line with its times has been added to the gap.
    pub(super) fn begin_cue(&mut self, time: Option<CueTime>) {
        self.time = time.or(self.time);
        self.is_cue_start = true;
    }

    pub(super) fn push_line(&mut self, line: &str, parts: &mut PartQueue) {
        let (content, line_end) = split_line_end(line);
        let is_cue_start = std::mem::take(&mut self.is_cue_start);
        let items = read_line(self.kind, content, is_cue_start);
        if is_cue_start {
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
            if is_cue_start {
                self.cue_starts.push(self.items.len());
            }
            self.items.push(Item::new(ItemKind::Break, gap));
        }
        for item in items {
            match self.items.last_mut() {
                // Markup at the start of a line, such as a position, stays there.
                Some(last) if item.kind == ItemKind::Break && last.kind == ItemKind::Break => {
                    last.append(item);
                }
                _ => self.items.push(item),
            }
        }
        self.gap.push_str(line_end);
    }

    /// Ends the passage, and adds the gap after it.
    pub(super) fn end_passage(&mut self, parts: &mut PartQueue) {
        self.divide_pairs();
        self.divide_titles();
        let items = std::mem::take(&mut self.items);
        push_items(items, &self.notation, parts);
        parts.push_verbatim(&std::mem::take(&mut self.gap));
        self.n_cues = 0;
        self.n_bytes = 0;
    }

    /// Returns whether the passage ends before a cue, given the cue's first line.
    fn ends_before(&self, next: &[Item]) -> bool {
        let ends_sentence = ends_sentence(&self.items);
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
        let continues = !ends_sentence && starts_with(next, char::is_lowercase);
        time.start.saturating_sub(last.end) > self.options.pause && !continues
    }

    /// Turns tags into walls unless they end in the cue in which they begin.
    fn divide_pairs(&mut self) {
        let mut starts = self.cue_starts.iter().peekable();
        let mut open: Vec<usize> = Vec::new();
        let mut walls = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            if starts.next_if_eq(&&index).is_some() {
                walls.append(&mut open);
            }
            match &item.kind {
                ItemKind::Open(_) => open.push(index),
                ItemKind::Close(name) => {
                    let start = open.last().map(|start| &self.items[*start].kind);
                    match start == Some(&ItemKind::Open(name.clone())) {
                        true => drop(open.pop()),
                        false => walls.push(index),
                    }
                }
                _ => {}
            }
        }
        for index in walls.into_iter().chain(open) {
            self.items[index].kind = ItemKind::Wall;
        }
    }

    /// Divides the cues after the last end of a sentence if all begin with capitals: they are titles.
    fn divide_titles(&mut self) {
        let starts = std::mem::take(&mut self.cue_starts);
        let is_open = |at: &&usize| !ends_sentence(&self.items[..**at]);
        let n_open = starts.iter().rev().take_while(is_open).count();
        let titles = &starts[starts.len() - n_open..];
        let before = starts.len().checked_sub(n_open + 1);
        let first = before.map_or(0, |index| starts[index]);
        let begins = [&first].into_iter().chain(titles);
        let mut begins = begins.map(|at| &self.items[*at..]);
        if !ends_sentence(&self.items) && begins.all(|items| starts_with(items, char::is_uppercase))
        {
            for at in titles {
                self.items[*at].kind = ItemKind::Wall;
            }
        }
    }
}

fn ends_sentence(items: &[Item]) -> bool {
    let texts = items.iter().rev().filter_map(|item| match &item.kind {
        ItemKind::Text(text) => Some(text.trim_end()),
        _ => None,
    });
    let is_quote = |c| "\"'”’»)]♪".contains(c) || char::is_whitespace(c);
    let mut texts = texts.map(|text| text.trim_end_matches(is_quote));
    let last = texts.find(|text| !text.is_empty());
    last.is_some_and(|text| text.ends_with(['.', '!', '?', '…', '。', '！', '？']))
}

fn starts_with(items: &[Item], is_kind: impl Fn(char) -> bool) -> bool {
    let mut texts = items.iter().filter_map(|item| match &item.kind {
        ItemKind::Text(text) => text.chars().find(|c| c.is_alphanumeric()),
        _ => None,
    });
    texts.next().is_some_and(is_kind)
}
