//! The lines of documents that a model gets.

use std::sync::Mutex;

use super::doubles::{LineTranslator, translate_parts};
use crate::format::{Format, FormatOptions, HtmlOptions, Paragraphs, XmlOptions, xml_parts};
use crate::{
    DocumentLine, DocumentRules, LineLimits, Part, Protection, Split, Splitter, TranslatedLine,
    Window,
};

/// A translator that copies and records lines.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl LineLimits for Notes {}

impl LineTranslator for Notes {
    fn translate_line(&self, line: &DocumentLine<'_>) -> TranslatedLine {
        let mut noted = self.0.lock().expect("no other thread has it");
        noted.push(line.text.to_owned());
        TranslatedLine::copy_of(line.text)
    }
}

/// Returns the lines of a document, and checks that a copy is equal to the document.
fn lines_of_parts(parts: Vec<Part>, split: Split) -> Vec<String> {
    let source: String = parts.iter().map(Part::source).collect();
    let (notes, protection) = (Notes::default(), Protection::placeholders());
    let copied = translate_parts(&notes, parts, split, &protection, &mut |_, _| ());
    assert_eq!(copied.concat(), source);
    notes.0.into_inner().expect("no other thread has it")
}

fn lines_of(format: Format, document: &'static str, split: Split) -> Vec<String> {
    let options = FormatOptions {
        html: HtmlOptions { attributes: true },
        ..FormatOptions::default()
    };
    let parts = format.read("a".to_owned(), document.as_bytes(), &options);
    let parts = parts
        .and_then(Iterator::collect)
        .expect("the document is read");
    lines_of_parts(parts, split)
}

fn html(page: &'static str) -> Vec<String> {
    lines_of(Format::Html, page, Split::Sentences)
}

fn text(text: &'static str) -> Vec<String> {
    lines_of(Format::Text, text, Split::Sentences)
}

#[test]
fn a_line_end_in_html_is_a_space() {
    let horse = ["A man rides a brown horse."];
    assert_eq!(html("<p>A man rides\na brown horse.</p>"), horse);
    assert_eq!(html("<p>A man rides\r\n\n\n a brown horse.</p>"), horse);
    assert_eq!(
        html("<p>A man <b>rides</b>\n\n<i>a brown</i> horse.</p>"),
        horse
    );
    assert_eq!(html("<img alt=\"A man rides\n a brown horse.\">"), horse);
    let nested = "<p><a>\n <em>\n <span>\n A man rides\n </span>\n </em>\n <em>\n  <span>\n a brown horse.\n</span></em>\n</a></p>";
    assert_eq!(html(nested), horse);
}

#[test]
fn a_passage_of_html_is_one_line_if_it_is_not_split() {
    let found = lines_of(Format::Html, "<p>A man.\nA brown\nhorse.</p>", Split::None);
    assert_eq!(found, ["A man. A brown horse."]);
    let found = lines_of(Format::Html, "<p>A man.\nA brown\nhorse.</p>", Split::Lines);
    assert_eq!(found, ["A man.", "A brown", "horse."]);
}

#[test]
fn preformatted_text_of_html_keeps_its_lines() {
    let page = "<pre translate=yes>A man\nrides</pre><p>a\n<b>horse</b></p><pre>A\nb</pre><textarea>A\nb</textarea>";
    assert_eq!(html(page), ["A man", "rides", "a horse"]);
    assert_eq!(
        html("<pre translate=yes><i>A <b>man\nrides</b></i></pre>"),
        ["A man", "rides"]
    );
}

#[test]
fn line_ends_that_an_attribute_keeps_end_lines() {
    let styled = "<p style='color: red; White-Space: pre-wrap'>A man\nrides</p><div xml:space=preserve>a\n<b>horse</b></div>";
    assert_eq!(html(styled), ["A man", "rides", "a", "horse"]);
    let inside =
        "<div style='white-space:pre'><p style='white-space: normal'>A man\nrides</p></div>";
    assert_eq!(html(inside), ["A man rides"]);
    let word = "<p>A man\n<span style='white-space:pre'>rides</span> a\nhorse</p>";
    assert_eq!(html(word), ["A man rides a horse"]);
    assert_eq!(
        html("<p>A <i style='white-space:pre'>b\nc</i></p><p>d\ne</p>"),
        ["A b", "c", "d e"]
    );
}

#[test]
fn assignments_without_words_are_copied() {
    assert_eq!(
        html("<table><tr><td>q=42</td><td>x = 1,5</td><td>a+b=c; n<5</td></tr></table>"),
        [""; 0]
    );
    assert_eq!(
        text("width=100\nx=1\nA = a dog\nI am 5\n1 = a\n"),
        ["A = a dog", "I am 5", "1 = a"]
    );
}

#[test]
fn a_line_end_in_xml_is_a_space() {
    let parts = xml_parts(
        "<d><p>A man rides\n  a <b>brown</b>\nhorse.</p></d>",
        &XmlOptions::default(),
    );
    assert_eq!(
        lines_of_parts(parts, Split::Sentences),
        ["A man rides a brown horse."]
    );
    let parts = xml_parts("<p>A man&apos;s\nhorse</p>", &XmlOptions::default());
    assert_eq!(lines_of_parts(parts, Split::Sentences), ["A man's horse"]);
}

#[test]
fn text_without_letters_is_copied() {
    let page =
        "<table><tr><td>2024</td><td>1,234</td></tr></table><p><a href=\"?p=2\">2</a>. {x} 5%.</p>";
    assert_eq!(html(page), [""; 0]);
    assert_eq!(text("2024\n1,234\n10:30. 5\n½ €\n1️⃣\n"), [""; 0]);
}

#[test]
fn marks_of_lists_are_copied() {
    let list = "1. A man runs.\n2. A dog sleeps.\n- A cat plays.\n";
    let expected = ["A man runs.", "A dog sleeps.", "A cat plays."];
    assert_eq!(text(list), expected);
    let options = FormatOptions {
        paragraphs: Paragraphs::BlankLines,
        ..FormatOptions::default()
    };
    let wrapped = Format::Text.read("a".to_owned(), list.as_bytes(), &options);
    let wrapped = wrapped
        .and_then(Iterator::collect)
        .expect("the text is read");
    assert_eq!(lines_of_parts(wrapped, Split::Sentences), expected);
    assert_eq!(
        html("<p><b>1.</b> A man <i>runs</i>.<br>• A dog</p>"),
        ["A man runs.", "A dog"]
    );
    assert_eq!(
        text("🇩🇪 Germany\n🏴󠁧󠁢󠁥󠁮󠁧󠁿 England\n* [x] Done"),
        ["Germany", "England", "Done"]
    );
}

#[test]
fn sentences_inside_of_marks_come_first_and_all_are_numbered() {
    let options = FormatOptions {
        html: HtmlOptions { attributes: true },
        ..FormatOptions::default()
    };
    let page = "<p>One <b title='A cat.'>is {a}</b>. Two.</p>".as_bytes();
    let reader = Format::Html.read("a".to_owned(), page, &options);
    let parts = reader.and_then(|mut reader| reader.window());
    let (splitter, protection) = (
        Splitter::new(Split::Sentences, "en"),
        Protection::placeholders(),
    );
    let rules = DocumentRules {
        limits: &Notes::default(),
        splitter: &splitter,
        protection: &protection,
    };
    let mut window = Window::new(parts.expect("it is UTF-8"), 5);
    let mut rounds = Vec::new();
    while window.begin_level(&rules, |_, _| ()) {
        while !window.is_level_done() {
            let sentences = window.sentences().into_iter();
            let round: Vec<_> = sentences
                .map(|it| (it.index, it.text.to_owned(), it.terms.len()))
                .collect();
            window.write(vec![TranslatedLine::copy_of("x"); round.len()], &protection);
            rounds.push(round);
        }
    }
    let line = |index, text: &str, n_terms| (index, text.to_owned(), n_terms);
    let expected = [
        vec![line(5, "A cat.", 0)],
        vec![line(6, "One is {a}.", 0), line(7, "Two.", 0)],
        // Its translation lacks the placeholder, which is required next and taken out at last.
        vec![line(6, "One is {a}.", 1)],
        vec![line(6, "One is.", 0)],
    ];
    assert_eq!(rounds, expected);
    assert_eq!(window.n_sentences(), 8);
}
