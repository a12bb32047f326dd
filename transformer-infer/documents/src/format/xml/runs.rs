//! [`Runs`]: writes the text of a paragraph as runs, each with its formatting.

use std::borrow::Cow;

use super::notation::XmlText;
use super::rules::RunNames;
use crate::{Notation, Part, Raw};

/// The start and the end of markup in a passage that is not complete; XML has neither character.
const START: char = '\u{1}';
const END: char = '\u{2}';

/// The sign between the formatting of a point and its text.
const FORMAT_END: char = '\u{3}';

#[derive(Clone, Copy, Debug)]
pub(super) enum Markup<'a> {
    /// The start of text with another formatting.
    Format(&'a str),
    EndOfFormat,
    /// Something in a run of this formatting.
    InRun(&'a str),
    BetweenRuns,
}

/// A notation that writes text and markup as runs, once the passage is complete.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) names: RunNames,
    /// The formatting of the text outside pairs.
    pub(super) format: String,
    pub(super) keeps_lines: bool,
}

/// Returns markup with its text, which may contain passages, as it is in a passage that is not complete.
pub(super) fn raw(markup: Markup<'_>, parts: Vec<Part>) -> Raw {
    let head = match markup {
        Markup::Format(format) => format!("{START}F{format}"),
        Markup::EndOfFormat => format!("{START}E"),
        Markup::InRun(format) => format!("{START}R{format}{FORMAT_END}"),
        Markup::BetweenRuns => format!("{START}B"),
    };
    let mut raw = Raw::from(head);
    raw.extend(parts);
    raw.push_str(&END.to_string());
    raw
}

impl Notation for Runs {
    fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        XmlText::default().escape(text)
    }

    fn has_soft_line_ends(&self) -> bool {
        !self.keeps_lines
    }

    fn complete(&self, written: String) -> String {
        let mut writer = RunWriter {
            runs: self,
            out: String::with_capacity(written.len()),
            run: None,
            text: String::new(),
            formats: vec![self.format.as_str()],
        };
        let mut rest = written.as_str();
        while let Some((text, markup)) = rest.split_once(START) {
            writer.text.push_str(text);
            let (markup, after) = markup.split_once(END).unwrap_or((markup, ""));
            writer.markup(markup);
            rest = after;
        }
        writer.text.push_str(rest);
        writer.end_run();
        writer.out
    }
}

struct RunWriter<'a> {
    runs: &'a Runs,
    out: String,
    /// The formatting of the open run.
    run: Option<&'a str>,
    text: String,
    formats: Vec<&'a str>,
}

impl<'a> RunWriter<'a> {
    fn markup(&mut self, markup: &'a str) {
        let (kind, content) = markup.split_at(markup.len().min(1));
        match kind {
            "F" => {
                self.end_text();
                self.formats.push(content);
            }
            "E" => {
                self.end_text();
                self.formats.truncate(self.formats.len().max(2) - 1);
            }
            "R" => {
                self.end_text();
                let (format, content) = content.split_once(FORMAT_END).unwrap_or(("", content));
                self.begin_run(format);
                self.out.push_str(content);
            }
            _ => {
                self.end_run();
                self.out.push_str(content);
            }
        }
    }

    fn begin_run(&mut self, format: &'a str) {
        if self.run != Some(format) {
            self.close();
            let run = &self.runs.names.run;
            self.out.push_str(&format!("<{run}>{format}"));
            self.run = Some(format);
        }
    }

    fn end_text(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.begin_run(self.formats.last().copied().unwrap_or_default());
        let text = std::mem::take(&mut self.text);
        let name = &self.runs.names.text;
        let is_trimmed = text.trim_matches([' ', '\t', '\r', '\n']).len() == text.len();
        // DrawingML keeps all spaces, and allows no attribute.
        let space = match is_trimmed || name == "a:t" {
            true => "",
            false => " xml:space=\"preserve\"",
        };
        self.out
            .push_str(&format!("<{name}{space}>{text}</{name}>"));
    }

    fn end_run(&mut self) {
        self.end_text();
        self.close();
    }

    fn close(&mut self) {
        if self.run.take().is_some() {
            self.out.push_str(&format!("</{}>", self.runs.names.run));
        }
    }
}
