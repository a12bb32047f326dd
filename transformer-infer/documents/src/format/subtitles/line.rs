//! [`read_line`]: the text and markup of a line of a cue.

use super::reader::SubtitleKind;
use super::text::Tag;
use crate::format::items::{Item, ItemKind};

const SPACES: [char; 2] = [' ', '\t'];

/// Reads a line without its line end. `is_first` is true for the first line of a cue. A dash before the words of a
/// speaker, the name of a voice or speaker, and the brackets around a sound are walls, since another speaker begins
/// another sentence.
pub(super) fn read_line(kind: SubtitleKind, line: &str, is_first: bool) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut rest = line;
    let mut is_start = true;
    // The end of the sound at the start of the line.
    let mut bracket = None;
    while !rest.is_empty() {
        if let Some(mut tag) = Tag::parse(kind, rest) {
            if is_start && matches!(&tag.kind, ItemKind::Text(text) if text.starts_with(is_dash)) {
                // A reference, such as `&mdash;`.
                let words = rest[tag.len..].trim_start_matches(SPACES);
                tag.kind = ItemKind::Wall;
                tag.len = rest.len() - words.len();
            }
            let (source, after) = rest.split_at(tag.len);
            is_start &= !matches!(tag.kind, ItemKind::Text(_));
            push(&mut items, Item::new(tag.kind, source));
            rest = after;
            continue;
        }
        let wall = match bracket {
            Some(end) => end_len(rest, end),
            None if is_start => dash_len(rest)
                .or_else(|| speaker_len(rest))
                .or_else(|| bracket_len(rest, is_first)),
            None => None,
        };
        if let Some(len) = wall {
            let (source, after) = rest.split_at(len);
            bracket = closing(source.trim()).filter(|_| bracket.is_none());
            push(&mut items, Item::new(ItemKind::Wall, source));
            rest = after;
            is_start = true;
            continue;
        }
        if let Some(after) = rest.strip_prefix('\r') {
            push(&mut items, Item::new(ItemKind::Break, "\r"));
            rest = after;
            continue;
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let ends = |c| matches!(c, '<' | '{' | '&' | '\r' | ' ') || Some(c) == bracket;
        let len = rest[first..].find(ends).map_or(rest.len(), |at| at + first);
        let (text, after) = rest.split_at(len);
        is_start &= text.trim_matches(SPACES).is_empty();
        push(&mut items, Item::text(text));
        rest = after;
    }
    items
}

fn push(items: &mut Vec<Item>, item: Item) {
    if let ItemKind::Text(text) = &item.kind
        && let Some(last) = items.last_mut()
        && let ItemKind::Text(before) = &mut last.kind
    {
        before.push_str(text);
        last.source.push_str(&item.source);
    } else {
        items.push(item);
    }
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '‐' | '–' | '—')
}

/// Returns the length of a dash before a speaker's words, with the whitespace around it.
fn dash_len(line: &str) -> Option<usize> {
    let after = line.trim_start_matches(SPACES).strip_prefix(is_dash)?;
    let words = after.trim_start_matches(SPACES);
    let first = words.chars().next()?;
    let is_number = first.is_ascii_digit() && words.len() == after.len();
    (!is_dash(first) && !is_number).then(|| line.len() - words.len())
}

/// Returns the length of the name of a speaker in capitals, such as `MAN: `, with the whitespace around it.
fn speaker_len(line: &str) -> Option<usize> {
    const MAX_BYTES: usize = 40;
    let end = line[..line.floor_char_boundary(MAX_BYTES)].find(':')?;
    let (name, rest) = (&line[..end], &line[end + 1..]);
    let words = rest.trim_start_matches(SPACES);
    let n_letters = name.chars().filter(|c| c.is_uppercase()).count();
    let is_in_name = |c: char| c.is_uppercase() || c.is_ascii_digit() || " .'’#-".contains(c);
    let is_name = n_letters > 1 && name.chars().all(is_in_name);
    (is_name && (words.is_empty() || words.len() < rest.len())).then(|| line.len() - words.len())
}

/// Returns the length of the bracket before a sound, such as `( dog barks )`, with the whitespace around it. In round
/// brackets, a sound is a whole line or the beginning of a cue.
fn bracket_len(line: &str, is_first: bool) -> Option<usize> {
    let content = line.trim_start_matches(SPACES);
    let bracket = content.chars().next()?;
    let end = closing(content.get(..1)?)?;
    let inside = &content[1..];
    let is_sound = is_first || bracket == '[' || inside.trim_end().ends_with(end);
    let words = inside.trim_start_matches(SPACES);
    (is_sound && inside.contains(end)).then(|| line.len() - words.len())
}

/// Returns the length of a closing bracket at the start, with the whitespace around it.
fn end_len(line: &str, end: char) -> Option<usize> {
    let after = line.trim_start_matches(SPACES).strip_prefix(end)?;
    Some(line.len() - after.trim_start_matches(SPACES).len())
}

fn closing(bracket: &str) -> Option<char> {
    match bracket {
        "(" => Some(')'),
        "[" => Some(']'),
        _ => None,
    }
}
