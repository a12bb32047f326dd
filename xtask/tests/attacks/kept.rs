//! The parts of a document that its translation keeps, checked with independent parsers.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Checks with independent parsers that the parts of a document other than text are kept.
pub(crate) fn check_kept(extension: &str, source: &[u8], translation: &[u8]) -> Result<()> {
    let translation = str::from_utf8(translation).context("the translation is not UTF-8")?;
    let Ok(source) = str::from_utf8(source) else {
        return Ok(());
    };
    let (before, after) = (
        structure(extension, source),
        structure(extension, translation),
    );
    ensure!(
        before == after,
        "the structure was {before:?}, and is {after:?} in the translation"
    );
    // The programs read some JSON that this parser rejects: lone surrogates, and numbers beyond floats.
    if let ("json", Ok(source)) = (extension, json(source)) {
        let translation = json(translation).context("the translation is not JSON")?;
        ensure!(
            is_equal(&source, &translation),
            "the translation has another structure: {translation}"
        );
    }
    Ok(())
}

/// Returns the lines that a document and its translation must have in common.
fn structure(extension: &str, text: &str) -> Vec<String> {
    let lines = text.split('\n').map(|line| match extension {
        "txt" => Some(String::new()),
        "srt" | "vtt" => is_time(line).then(|| line.to_owned()),
        "tsv" => Some(line.matches('\t').collect()),
        "po" => {
            let is_message = ["msgid", "msgctxt", "#~"]
                .iter()
                .any(|it| line.starts_with(it));
            is_message.then(|| line.to_owned())
        }
        _ => None,
    });
    lines.flatten().collect()
}

/// Returns whether a line has the times of a cue; similar lines are text.
fn is_time(line: &str) -> bool {
    let Some((start, end)) = line.split_once(" --> ") else {
        return false;
    };
    let end = end.split([' ', '\t', '\r']).next().unwrap_or_default();
    [start, end].iter().all(|time| {
        let zeros = time.replace(|char: char| char.is_ascii_digit(), "0");
        ["00:00:00,000", "00:00:00.000"].contains(&&*zeros)
    })
}

fn json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Returns whether two values differ only in their strings.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(_), Value::String(_)) => true,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

#[test]
fn strings_of_json_may_differ_and_nothing_else() {
    let kept = |translation: &[u8]| check_kept("json", br#"{"a": ["b", 1]}"#, translation).is_ok();
    assert!(kept(br#"{"a": ["c d", 1]}"#));
    assert!(!kept(br#"{"a": ["c", 2]}"#));
    assert!(!kept(br#"{"b": ["c", 1]}"#));
}

#[test]
fn a_lost_cue_row_line_or_message_is_found() {
    let cue = "00:00:01,000 --> 00:00:02,000\na\n";
    assert!(check_kept("srt", cue.repeat(2).as_bytes(), cue.as_bytes()).is_err());
    assert!(check_kept("tsv", b"a\tb\nc\t\n", b"a\tb\nc\n").is_err());
    assert!(check_kept("txt", b"a\nb", b"a b").is_err());
    assert!(check_kept("po", b"msgid \"a\"\nmsgstr \"\"", b"msgid \"b\"").is_err());
}
