//! [`Tag`]: markup inside a line of a cue.

use htmlize::Context;

use super::options::SubtitleKind;
use crate::format::html::entity;
use crate::format::items::ItemKind;

/// Maximum size of a tag, in bytes, so that searching for its end takes bounded time.
const MAX_TAG_BYTES: usize = 1024;

/// Tags of SubRip. Others, such as `<sighs>`, are text, and players display them.
const SUBRIP_TAGS: [&str; 5] = ["b", "i", "u", "s", "font"];

/// Tags of WebVTT that enclose text.
const WEBVTT_TAGS: [&str; 7] = ["b", "c", "i", "u", "lang", "ruby", "rt"];

/// Markup at the start of some text.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Tag {
    pub(super) kind: ItemKind,
    /// The length in bytes.
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
                is_known.then(|| Self {
                    kind: pair(is_end, name),
                    len,
                })
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

/// Returns the length of the text up to the first `end`, inclusive.
fn find_end(text: &str, end: char) -> Option<usize> {
    let within = &text[..text.floor_char_boundary(MAX_TAG_BYTES)];
    within.find(end).map(|at| at + 1)
}

/// Returns whether a tag is an end tag, and its name.
fn split_name(tag: &str) -> (bool, &str) {
    let (is_end, tag) = match tag.strip_prefix('/') {
        Some(tag) => (true, tag),
        None => (false, tag),
    };
    let end = tag.find([' ', '\t', '.']).unwrap_or(tag.len());
    (is_end, &tag[..end])
}
