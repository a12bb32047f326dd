//! [`CueText`]: the rules for writing text in cues.

use std::borrow::Cow;

use super::options::SubtitleKind;
use super::tag::Tag;
use super::time::CueTime;
use crate::Notation;
use crate::format::items::ItemKind;

/// The rules for writing text in cues: on one line, unchanged in SubRip and with references in WebVTT.
#[derive(Debug)]
pub(super) struct CueText(pub(super) SubtitleKind);

impl Notation for CueText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_markup = |c| match c {
            '&' | '<' | '>' => self.0 == SubtitleKind::WebVtt,
            _ => matches!(c, '\n' | '\r'),
        };
        if !text.contains(is_markup) {
            return Cow::Borrowed(text);
        }
        let mut escaped = String::with_capacity(text.len() + 16);
        for char in text.chars() {
            match char {
                '&' if is_markup(char) => escaped.push_str("&amp;"),
                '<' if is_markup(char) => escaped.push_str("&lt;"),
                '>' if is_markup(char) => escaped.push_str("&gt;"),
                '\n' | '\r' => escaped.push(' '),
                _ => escaped.push(char),
            }
        }
        Cow::Owned(escaped)
    }

    /// Ends tags at the end of each cue, and begins them again in the next one.
    fn complete(&self, written: String) -> String {
        let lines: Vec<&str> = written.split_inclusive('\n').collect();
        let mut completed = Completed::default();
        let mut next = 0;
        while next < lines.len() {
            let times = (next..lines.len()).find(|at| CueTime::parse(lines[*at]).is_some());
            let end = times.map_or(lines.len(), |at| end_of_cue(&lines, next, at));
            for line in &lines[next..end] {
                completed.push_line(self.0, line);
            }
            let Some(times) = times else { break };
            completed.push_gap(&lines[end..=times]);
            next = times + 1;
        }
        completed.text
    }
}

/// Returns the index of the first line after a cue: a blank line, the next cue's number, or else `times`, the line of
/// the next cue's times.
fn end_of_cue(lines: &[&str], start: usize, times: usize) -> usize {
    let is_blank = |at: usize| lines[at].trim().is_empty();
    let mut end = times;
    let has_name = end > start
        && (is_number(lines[end - 1])
            || end > start + 1 && is_blank(end - 2) && !is_blank(end - 1));
    end -= usize::from(has_name);
    while end > start && is_blank(end - 1) {
        end -= 1;
    }
    end
}

/// Cues with their tags.
#[derive(Default)]
struct Completed<'a> {
    text: String,
    /// The open tags, the outermost first: the start tag and its name.
    open: Vec<(&'a str, String)>,
    /// Number of the innermost open tags that have not been written in this cue.
    n_due: usize,
}

impl<'a> Completed<'a> {
    fn push_line(&mut self, kind: SubtitleKind, line: &'a str) {
        let mut rest = line;
        while let Some(char) = rest.chars().next() {
            let tag = (char == '<').then(|| Tag::parse(kind, rest)).flatten();
            let len = tag.as_ref().map_or(char.len_utf8(), |tag| tag.len);
            let (source, behind) = rest.split_at(len);
            rest = behind;
            match tag.map(|tag| tag.kind) {
                Some(ItemKind::Open(name)) => {
                    self.begin();
                    self.open.push((source, name));
                    self.text.push_str(source);
                }
                Some(ItemKind::Close(name)) if self.open.last().is_some_and(|it| it.1 == name) => {
                    self.open.pop();
                    match self.n_due {
                        // The tag would be empty in this cue.
                        1.. => self.n_due -= 1,
                        0 => self.text.push_str(source),
                    }
                }
                _ => {
                    if !char.is_whitespace() {
                        self.begin();
                    }
                    self.text.push_str(source);
                }
            }
        }
    }

    /// Reopens the tags of the last cue that have not ended.
    fn begin(&mut self) {
        let first = self.open.len() - std::mem::take(&mut self.n_due);
        self.text.extend(self.open[first..].iter().map(|it| it.0));
    }

    /// Ends the cue, and adds the lines between it and the next.
    fn push_gap(&mut self, lines: &[&'a str]) {
        let content = self.text.trim_end_matches(['\n', '\r']).len();
        let line_end = self.text.split_off(content);
        let n_begun = self.open.len() - self.n_due;
        for (start, name) in self.open[..n_begun].iter().rev() {
            match self.text.strip_suffix(start) {
                Some(before) => self.text.truncate(before.len()),
                None => self.text.extend(["</", name, ">"]),
            }
        }
        self.n_due = self.open.len();
        self.text.push_str(&line_end);
        self.text.extend(lines.iter().copied());
    }
}

/// Returns a line without the whitespace around it, and without the byte order mark of a file that was appended.
pub(super) fn trimmed(line: &str) -> &str {
    line.trim_start_matches('\u{feff}').trim()
}

/// Returns whether a line is the number of a cue.
pub(super) fn is_number(line: &str) -> bool {
    let text = trimmed(line);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
