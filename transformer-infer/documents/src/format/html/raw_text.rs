//! Text without markup: `script`, `style`, `textarea`, `title` and others, up to their end tag.

use super::tokenizer::Script;
use crate::format::items::is_space;

/// Returns the length of the text before the end tag `</name`, or of the part that is certainly text; 0 if the text
/// begins with the tag. Returns `None` if more text is needed.
pub(super) fn scan_raw_text(text: &str, is_at_end: bool, name: &str) -> Option<usize> {
    let found = text
        .match_indices('<')
        .map(|(at, _)| at)
        .find(|&at| is_end_tag(&text[at..], is_at_end, name) != Some(false));
    match found {
        None => Some(text.len()),
        // It may become the end tag.
        Some(0) if is_end_tag(text, is_at_end, name).is_none() => None,
        Some(at) => Some(at),
    }
}

/// Like [`scan_raw_text`], for the content of `script`, where a comment can hide an end tag after a start tag.
pub(super) fn scan_script(text: &str, is_at_end: bool, script: &mut Script) -> Option<usize> {
    let mut state = *script;
    let mut at = 0;
    // The returned text is final: the state is that at its end.
    loop {
        let Some(found) = text[at..].find(['<', '-']) else {
            *script = state;
            return Some(text.len());
        };
        at += found;
        let rest = &text[at..];
        match script_step(rest, is_at_end, state) {
            Some((len @ 1.., next)) => {
                at += len;
                state = next;
            }
            end_tag => {
                *script = state;
                return (at > 0 || end_tag.is_some()).then_some(at);
            }
        }
    }
}

/// Returns the length of text that begins with `<` or `-`, and the state after it; the length of an end tag is 0.
fn script_step(rest: &str, is_at_end: bool, state: Script) -> Option<(usize, Script)> {
    if rest.starts_with('-') {
        let ends_comment = state != Script::Code && starts_with(rest, "-->", is_at_end)?;
        return Some(if ends_comment {
            (3, Script::Code)
        } else {
            (1, state)
        });
    }
    let (prefix, next) = match state {
        // The hyphens may belong to `-->`.
        Script::Code if starts_with(rest, "<!--", is_at_end)? => return Some((2, Script::Escaped)),
        Script::Code => ("", state),
        Script::Escaped => ("<script", Script::DoubleEscaped),
        Script::DoubleEscaped => ("</script", Script::Escaped),
    };
    if state != Script::Code && is_delimited(rest, is_at_end, prefix)? {
        return Some((prefix.len() + 1, next));
    }
    if state != Script::DoubleEscaped && is_end_tag(rest, is_at_end, "script")? {
        return Some((0, state));
    }
    Some((1, state))
}

/// Returns whether the text begins with `</name` and the end of a name; `None` if more text is needed.
fn is_end_tag(text: &str, is_at_end: bool, name: &str) -> Option<bool> {
    Some(starts_with(text, "</", is_at_end)? && is_delimited(&text[2..], is_at_end, name)?)
}

/// Returns whether the text begins with `prefix` and the end of a name; `None` if more text is needed.
fn is_delimited(text: &str, is_at_end: bool, prefix: &str) -> Option<bool> {
    let next = text.as_bytes().get(prefix.len());
    let ends = next.map(|byte| is_space(*byte) || matches!(byte, b'/' | b'>'));
    Some(starts_with(text, prefix, is_at_end)? && ends.or(is_at_end.then_some(false))?)
}

/// Returns whether the text begins with `start`, in any case; `None` if more text is needed.
pub(super) fn starts_with(text: &str, start: &str, is_at_end: bool) -> Option<bool> {
    let head = &text.as_bytes()[..text.len().min(start.len())];
    let may_start = head.eq_ignore_ascii_case(&start.as_bytes()[..head.len()]);
    let is_whole = head.len() == start.len();
    (!may_start || is_whole || is_at_end).then_some(may_start && is_whole)
}
