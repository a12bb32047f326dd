//! What a translated document has in common with its source, by parsers that are not those of the programs.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Checks that what is no text of a document is also in its translation.
pub(super) fn check_kept(extension: &str, source: &[u8], translation: &[u8]) -> Result<()> {
    let translation = std::str::from_utf8(translation).context("the translation is not UTF-8")?;
    let Ok(source) = std::str::from_utf8(source) else {
        return Ok(());
    };
    match extension {
        "txt" => equal("line ends", &count(source, '\n'), &count(translation, '\n')),
        "srt" | "vtt" => equal("times", &times(source), &times(translation)),
        "tsv" => equal("tabs of the rows", &tabs(source), &tabs(translation)),
        "po" => equal("messages", &messages(source), &messages(translation)),
        "json" => check_json(source, translation),
        _ => Ok(()),
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, before: &T, after: &T) -> Result<()> {
    ensure!(
        before == after,
        "the {what} are other ones: {before:?} before, and {after:?} in the translation"
    );
    Ok(())
}

fn count(text: &str, char: char) -> usize {
    text.matches(char).count()
}

/// Returns the lines with the times of cues; others that are like them are text.
fn times(text: &str) -> Vec<&str> {
    let is_time = |line: &&str| {
        let Some((start, end)) = line.split_once(" --> ") else {
            return false;
        };
        let end = end.split([' ', '\t', '\r']).next().unwrap_or_default();
        let digits_as_zero = |time: &str| time.replace(|c: char| c.is_ascii_digit(), "0");
        let is_time =
            |time: &&str| ["00:00:00,000", "00:00:00.000"].contains(&digits_as_zero(time).as_str());
        [start, end].iter().all(is_time)
    };
    text.split('\n').filter(is_time).collect()
}

fn tabs(text: &str) -> Vec<usize> {
    text.split('\n').map(|line| count(line, '\t')).collect()
}

/// Returns the lines of a catalog that are identifiers of messages, without the strings that go on with them.
fn messages(text: &str) -> Vec<&str> {
    let is_message = |line: &&str| {
        ["msgid", "msgctxt", "#~"]
            .iter()
            .any(|it| line.starts_with(it))
    };
    text.split('\n').filter(is_message).collect()
}

/// Checks that only strings differ, if the parser of another program takes the source. It takes no lone surrogates and
/// no numbers beyond those of a float.
fn check_json(source: &str, translation: &str) -> Result<()> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let translation = translation.strip_prefix('\u{feff}').unwrap_or(translation);
    let Ok(source) = serde_json::from_str::<Value>(source) else {
        return Ok(());
    };
    let translation =
        serde_json::from_str::<Value>(translation).context("the translation is no JSON")?;
    ensure!(
        has_equal_structure(&source, &translation),
        "the translation has another structure: {translation}"
    );
    Ok(())
}

fn has_equal_structure(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(_), Value::String(_)) => true,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| has_equal_structure(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_equal =
                |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| has_equal_structure(a, b));
            a.len() == b.len() && a.iter().all(is_equal)
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_may_differ_and_nothing_else() {
        let source = br#"{"a": ["b", 1]}"#;
        assert!(check_kept("json", source, br#"{"a": ["c d", 1]}"#).is_ok());
        assert!(check_kept("json", source, br#"{"a": ["c", 2]}"#).is_err());
        assert!(check_kept("json", source, br#"{"b": ["c", 1]}"#).is_err());
    }

    #[test]
    fn a_lost_cue_row_line_or_message_is_noticed() {
        let cue = "00:00:01,000 --> 00:00:02,000\na\n";
        let cues = [cue, cue].concat();
        assert!(check_kept("srt", cues.as_bytes(), cue.as_bytes()).is_err());
        assert!(check_kept("tsv", b"a\tb\nc\t\n", b"a\tb\nc\n").is_err());
        assert!(check_kept("txt", b"a\nb", b"a b").is_err());
        assert!(check_kept("po", b"msgid \"a\"\nmsgstr \"\"", b"msgid \"b\"").is_err());
    }
}
