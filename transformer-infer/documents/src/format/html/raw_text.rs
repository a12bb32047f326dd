//! Text without markup: `script`, `style`, `textarea`, `title` and others, up to their end tag.

use super::scan_tag::is_space;
use super::token::Script;

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
            Step::Text { len, next } => {
                at += len;
                state = next;
            }
            Step::EndTag => {
                *script = state;
                return Some(at);
            }
            Step::Unknown => {
                *script = state;
                return (at > 0).then_some(at);
            }
        }
    }
}

/// The meaning of text in a script that begins with `<` or `-`.
enum Step {
    Text { len: usize, next: Script },
    EndTag,
    Unknown,
}

fn script_step(rest: &str, is_at_end: bool, state: Script) -> Step {
    let text = |len: usize, next: Script| Step::Text { len, next };
    if rest.starts_with('-') {
        if state == Script::Code {
            return text(1, state);
        }
        return match starts_with(rest, "-->", is_at_end) {
            Some(true) => text(3, Script::Code),
            Some(false) => text(1, state),
            None => Step::Unknown,
        };
    }
    if state == Script::Code {
        match starts_with(rest, "<!--", is_at_end) {
            // The hyphens may belong to `-->`.
            Some(true) => return text(2, Script::Escaped),
            Some(false) => {}
            None => return Step::Unknown,
        }
    }
    if state != Script::Code {
        let (prefix, next) = match state {
            Script::Escaped => ("<script", Script::DoubleEscaped),
            _ => ("</script", Script::Escaped),
        };
        match is_delimited(rest, is_at_end, prefix) {
            Some(true) => return text(prefix.len() + 1, next),
            Some(false) => {}
            None => return Step::Unknown,
        }
    }
    if state != Script::DoubleEscaped {
        match is_end_tag(rest, is_at_end, "script") {
            Some(true) => return Step::EndTag,
            Some(false) => {}
            None => return Step::Unknown,
        }
    }
    text(1, state)
}

/// Returns whether the text begins with `</name` and the end of a name; `None` if more text is needed.
fn is_end_tag(text: &str, is_at_end: bool, name: &str) -> Option<bool> {
    match starts_with(text, "</", is_at_end) {
        Some(true) => match starts_with(&text[2..], name, is_at_end) {
            Some(true) => is_name_end(text.as_bytes().get(2 + name.len()), is_at_end),
            other => other,
        },
        other => other,
    }
}

/// Returns whether the text begins with `prefix` and the end of a name; `None` if more text is needed.
fn is_delimited(text: &str, is_at_end: bool, prefix: &str) -> Option<bool> {
    match starts_with(text, prefix, is_at_end) {
        Some(true) => is_name_end(text.as_bytes().get(prefix.len()), is_at_end),
        other => other,
    }
}

fn is_name_end(byte: Option<&u8>, is_at_end: bool) -> Option<bool> {
    match byte {
        Some(&byte) => Some(is_space(byte) || matches!(byte, b'/' | b'>')),
        None if is_at_end => Some(false),
        None => None,
    }
}

/// Returns whether the text begins with `start`, in any case; `None` if more text is needed.
pub(super) fn starts_with(text: &str, start: &str, is_at_end: bool) -> Option<bool> {
    let head = &text.as_bytes()[..text.len().min(start.len())];
    if !head.eq_ignore_ascii_case(&start.as_bytes()[..head.len()]) {
        Some(false)
    } else if head.len() == start.len() {
        Some(true)
    } else if is_at_end {
        Some(false)
    } else {
        None
    }
}
