//! [`CueText`]: the rules for writing text in cues; [`Tag`] and [`CueTime`]: their markup and times.

use std::borrow::Cow;
use std::time::Duration;

use htmlize::{Context, escape_text};

use super::reader::SubtitleKind;
use crate::Notation;
use crate::format::html::entity;
use crate::format::items::ItemKind;

/// The rules for writing text in cues: on one line, unchanged in SubRip and with references in WebVTT.
#[derive(Debug)]
pub(super) struct CueText(pub(super) SubtitleKind);

impl Notation for CueText {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = text.replace(['\n', '\r'], " ");
        match self.0 {
            SubtitleKind::SubRip => text.into(),
            SubtitleKind::WebVtt => escape_text(text),
        }
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

/// Returns the index of the first line after a cue: a blank one, the next cue's number, or else `times`, its times.
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

pub(super) fn is_number(line: &str) -> bool {
    let text = trimmed(line);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Maximum size of a tag, in bytes, so that searching for its end takes bounded time.
const MAX_TAG_BYTES: usize = 1024;

/// Tags of SubRip. Others, such as `<sighs>`, are text, and players display them.
const SUBRIP_TAGS: [&str; 5] = ["b", "i", "u", "s", "font"];

/// Tags of WebVTT that enclose text.
const WEBVTT_TAGS: [&str; 7] = ["b", "c", "i", "u", "lang", "ruby", "rt"];

#[derive(Debug, Eq, PartialEq)]
pub(super) struct Tag {
    pub(super) kind: ItemKind,
    pub(super) len: usize,
}

impl Tag {
    /// Returns the tag at the start of the text; `None` if it begins with another character.
    pub(super) fn parse(kind: SubtitleKind, text: &str) -> Option<Self> {
        match (kind, text.as_bytes().first()?) {
            (SubtitleKind::SubRip, b'{') if text[1..].starts_with('\\') => {
                let len = find_end(text, '}')?;
                let kind = ItemKind::Break;
                Some(Self { kind, len })
            }
            (SubtitleKind::SubRip, b'<') => {
                let len = find_end(text, '>')?;
                let (is_end, name) = split_name(&text[1..len - 1]);
                let name = name.to_ascii_lowercase();
                let is_known = SUBRIP_TAGS.contains(&name.as_str());
                let kind = pair(is_end, name);
                is_known.then_some(Self { kind, len })
            }
            (SubtitleKind::WebVtt, b'<') => {
                let len = find_end(text, '>')?;
                let (is_end, name) = split_name(&text[1..len - 1]);
                let kind = match name {
                    "v" => ItemKind::Wall,
                    name if WEBVTT_TAGS.contains(&name) => pair(is_end, name.to_owned()),
                    // Times ascend, so the tag must stay in its cue.
                    _ => ItemKind::Break,
                };
                Some(Self { kind, len })
            }
            (SubtitleKind::WebVtt, b'&') => {
                let (len, text) = entity(text, Context::General)?;
                let kind = ItemKind::Text(text.into_owned());
                Some(Self { kind, len })
            }
            _ => None,
        }
    }
}

fn pair(is_end: bool, name: String) -> ItemKind {
    if is_end {
        ItemKind::Close(name)
    } else {
        ItemKind::Open(name)
    }
}

fn find_end(text: &str, end: char) -> Option<usize> {
    let within = &text[..text.floor_char_boundary(MAX_TAG_BYTES)];
    within.find(end).map(|at| at + 1)
}

fn split_name(tag: &str) -> (bool, &str) {
    let (is_end, tag) = match tag.strip_prefix('/') {
        Some(tag) => (true, tag),
        None => (false, tag),
    };
    let end = tag.find([' ', '\t', '.']).unwrap_or(tag.len());
    (is_end, &tag[..end])
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct CueTime {
    pub(super) start: Duration,
    pub(super) end: Duration,
}

impl CueTime {
    /// Parses a line such as `00:00:01,000 --> 00:00:02,500 line:0`; returns `None` for other lines.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (start, rest) = line.split_once("-->")?;
        // Players ignore text after the times.
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && !":,.".contains(c));
        Some(Self {
            start: parse_time(trimmed(start))?,
            end: parse_time(&rest[..end.unwrap_or(rest.len())])?,
        })
    }
}

/// Parses `hours:minutes:seconds,milliseconds`; hours and milliseconds are optional.
fn parse_time(text: &str) -> Option<Duration> {
    let (clock, millis) = text.split_once([',', '.']).unwrap_or((text, "0"));
    let mut fields = clock.split(':').map(parse_digits);
    let (first, second, third) = (fields.next()??, fields.next()??, fields.next());
    if fields.next().is_some() {
        return None;
    }
    let seconds = match third {
        Some(seconds) => first * 3600 + second * 60 + seconds?,
        None => first * 60 + second,
    };
    Some(Duration::from_secs(seconds) + Duration::from_millis(parse_digits(millis)?))
}

fn parse_digits(text: &str) -> Option<u64> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_lack_hours_and_have_settings() {
        let time = CueTime::parse("01:02.345 --> 1:00:00.000 align:start").expect("it is valid");
        assert_eq!(time.start, Duration::from_millis(62_345));
        assert_eq!(time.end, Duration::from_secs(3600));
    }

    #[test]
    fn text_behind_the_times_is_ignored() {
        for rest in ["", " A dog", "A dog", " X1:40 X2:600"] {
            let line = format!("00:00:01,000 --> 00:00:02,500{rest}");
            let time = CueTime::parse(&line).expect("it is valid");
            assert_eq!(time.end, Duration::from_millis(2500), "{line}");
        }
    }

    #[test]
    fn an_arrow_between_words_is_not_a_time() {
        assert_eq!(CueTime::parse("in --> out"), None);
        assert_eq!(CueTime::parse("1 --> 2"), None);
    }
}
