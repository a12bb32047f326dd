//! What the classes of text have in common: two texts, and what a command must do with them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::call::Ended;
use super::case::Case;
use super::text::Text;

/// Most lines of a text.
pub(super) const MOST_LINES: usize = 9;

/// Checks that every line has its translation, and that JSON repeats the line.
pub(super) fn check_translations(ended: &Ended, text: &Text, is_json: bool) -> Result<()> {
    let output = String::from_utf8(ended.stdout.clone()).context("the output is not UTF-8")?;
    ensure!(
        output.is_empty() || output.ends_with('\n'),
        "the last line has no end"
    );
    let lines = text.lines();
    let n_lines = output.matches('\n').count();
    ensure!(
        n_lines == lines.len(),
        "{} lines gave {n_lines} translations",
        lines.len()
    );
    for (line, answer) in lines.iter().zip(output.split('\n')).filter(|_| is_json) {
        let answer: Value = serde_json::from_str(answer).context("the output is not JSON")?;
        let src = answer["src"].as_str().unwrap_or_default();
        ensure!(src == line, "the line {line:?} is {src:?} in the output");
    }
    Ok(())
}

/// Writes two texts, of equal numbers of lines in two of three cases.
pub(super) fn two(case: &mut Case<'_>, first: &str, second: &str) -> Result<[Text; 2]> {
    let src = Text::new(MOST_LINES, &mut case.random)?;
    let tgt = match case.random.one_in(3) {
        true => Text::new(MOST_LINES, &mut case.random)?,
        false => Text::with_lines(src.lines().len(), &mut case.random)?,
    };
    case.write(first, &src.stored)?;
    case.write(second, &tgt.stored)?;
    Ok([src, tgt])
}

/// Checks that a command refused two texts if they are not UTF-8 or not of one length.
pub(super) fn check_two(ended: &Ended, texts: &[Text; 2]) -> Result<()> {
    if texts.iter().any(Text::is_unreadable) {
        ended.check_refused("a text is not UTF-8")?;
    }
    if texts.iter().all(Text::is_readable) {
        let [src, tgt] = texts.each_ref().map(|text| text.lines().len());
        if src != tgt {
            ended.check_refused(&format!("the files have {src} and {tgt} lines"))?;
        }
    }
    Ok(())
}

/// Returns whether both texts can be read and have as many lines, at least one.
pub(super) fn are_parallel(texts: &[Text; 2]) -> bool {
    let [src, tgt] = texts.each_ref().map(|text| text.lines().len());
    texts.iter().all(Text::is_readable) && src == tgt && src > 0
}
