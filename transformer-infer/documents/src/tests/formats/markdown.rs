//! Markdown.

use crate::format::{Format, FormatOptions};
use crate::{MarkKind, Part};
use proptest::prelude::*;

use super::check::{
    self, File, assert_is_sound, assert_reads_back, fixture, passages, texts, with_texts, written,
};

fn read_bytes(text: &[u8]) -> check::Read {
    check::read(Format::Markdown, &FormatOptions::default(), text)
}

fn markdown(text: &str) -> check::Read {
    read_bytes(text.as_bytes())
}

fn parts(text: &str) -> Vec<Part> {
    markdown(text).expect("it is text")
}

/// Returns the raw texts of the marks of the first passage, without the characters around them; of a pair, those of both
/// ends.
fn raws(parts: &[Part]) -> Vec<String> {
    let passage = passages(parts).next().expect("there is a passage");
    let raws = passage.marks.iter().map(|mark| match &mark.kind {
        MarkKind::Pair { open, close } => format!("{}|{}", open.source(), close.source()),
        MarkKind::Point { raw } | MarkKind::Break { raw } => raw.source(),
    });
    raws.map(|raw| raw.replace(|c: char| c < '\u{6}', ""))
        .collect()
}

#[test]
fn the_readme_has_the_texts_that_a_person_reads() {
    let expected = [
        "Tide – a small clock",
        "Tide shows when the sea comes back. It reads the tables of your harbor office and prints one line; see the manual or what is new.",
        "It needs and.",
        "Do not sail by this program alone. The sea does not read manuals.",
        "Use",
        "Install it:",
        "Write a file:",
        "Run it and wait.",
        "Works with snake_case names & 5 * 3",
        "Writes files, slowly fast",
        "even on a machine",
        "AT&T or R&D, a < b, 2023. was good",
        "Column",
        "What it means",
        "high",
        "Water is high | very high",
        "Water is low",
        "Setext heading with two lines",
        "Last words here!",
        "A harbor must be in the table.",
    ];
    assert_eq!(texts(&parts(&fixture("readme.markdown"))), expected);
}

#[test]
fn links_are_pairs_with_their_address() {
    let parts = parts("See [the *good* book](b.md \"B\") now.");
    assert_eq!(raws(&parts), ["[|](b.md \"B\")", "*|*"]);
}

#[test]
fn balanced_tags_of_html_are_pairs_and_others_are_points() {
    let parts = parts("Press <mark>Enter</mark><img> or *a <b>key*</b>.");
    assert_eq!(
        raws(&parts),
        ["<mark>|</mark>", "<img> ", "*|*", " <b>", "</b>"]
    );
}

#[test]
fn a_link_whose_text_names_its_reference_keeps_the_name() {
    let text = "See [the book] now.\n\n[the book]: b.md\n";
    let read = parts(text);
    assert_eq!(raws(&read), ["[|][the book]"]);
    assert_eq!(written(&read), text);
}

#[test]
fn a_link_whose_text_names_its_reference_may_have_empty_brackets() {
    let text = "See [the book][] now.\n\n[the book]: b.md\n";
    let read = parts(text);
    assert_eq!(raws(&read), ["[|][the book]"]);
    assert_eq!(texts(&read), ["See the book now."]);
    assert_eq!(written(&read), text);
}

#[test]
fn soft_line_ends_are_breaks_with_the_prefix_of_the_next_line() {
    let parts = parts("> - one\n>   two  \n>   three");
    assert_eq!(raws(&parts), ["\n>   "]);
    assert_eq!(texts(&parts), ["one two", "three"]);
}

#[test]
fn an_escape_behind_a_line_end_belongs_to_the_text() {
    let read = parts("one\n  \\*two");
    assert_eq!(raws(&read), ["\n  "]);
    assert_eq!(texts(&read), ["one *two"]);
}

#[test]
fn an_exclamation_mark_before_a_link_does_not_make_it_an_image() {
    let read = parts("a [b](c)");
    let changed = with_texts(&read, |text| text.replace(' ', "!"));
    assert_eq!(written(&changed), "a\\![b](c)");
}

#[test]
fn a_document_that_is_too_large_is_refused() {
    let read = markdown(&"a\n\n\n".repeat((1 << 20) + 1));
    let message = read.expect_err("it is too large").to_string();
    assert!(message.contains("at most 4194304 bytes"), "{message}");
}

#[test]
fn a_paragraph_that_is_too_long_is_refused_with_its_line() {
    let read = markdown(&("a\n\n".to_owned() + &"b\n".repeat(1 << 20)));
    let message = read.expect_err("it is too long").to_string();
    assert!(
        message.starts_with("test, line 3: the paragraph"),
        "{message}"
    );
}

/// Writes a text in the place of a text of two letters, and fails unless it is read as text.
fn assert_is_text(before: &str, after: &str, text: &str) {
    let read = parts(&format!("{before}Qq{after}"));
    let changed = written(&with_texts(&read, |_| text.to_owned()));
    let again = parts(&changed);
    assert_eq!(texts(&again).concat(), text, "{changed:?}");
    assert!(
        passages(&again).all(|passage| passage.marks.is_empty()),
        "{changed:?}"
    );
}

const SPECIAL: [&str; 48] = [
    "*",
    "**",
    "_",
    "__",
    "`",
    "```\n",
    "~~",
    "~",
    "[",
    "]",
    "](x)",
    "![",
    "<",
    ">",
    "<b>",
    "</b>",
    "<div>\n",
    "&",
    "&amp;",
    "\\",
    "\\\n",
    "|",
    "\n|-|-|\n",
    "#",
    "# ",
    "- ",
    "1. ",
    "> ",
    "\n",
    "\n\n",
    "\r\n",
    "  \n",
    "    ",
    "\t",
    "---\n",
    "===\n",
    "[^1]",
    "[manual]",
    "[manual][]",
    "[x]: y\n",
    "<http://a.b>",
    "{#a}",
    "!",
    "- [ ] ",
    "> [!NOTE]\n",
    "\u{feff}",
    "\0",
    "\r",
];

/// Texts that look like markup, but for templates and formulas, which are copied.
fn tempting() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-zé]{1,3}",
        3 => "[-+*_`~#=|:.()<>&;!\\[\\]^\\\\\"'/0-9]{1,3}",
        1 => "(&amp;|<b>|</b>|1\\.|\\[a\\]\\(b\\)|<!--|\\[\\^1\\]|!\\[)",
        2 => Just(" ".to_owned()),
    ];
    prop::collection::vec(piece, 1..8)
        .prop_map(|pieces| {
            pieces
                .concat()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .prop_filter("a passage has letters", |text| {
            text.chars().any(char::is_alphabetic) && !text.contains("\\(") && !text.contains("\\[")
        })
}

#[test]
fn code_between_tags_of_jekyll_is_copied() {
    let text = "A dog\n\n{% highlight ruby %}\nputs \"A dog\"\n\n~~~\n{% endhighlight %}\n\nA cat {% highlight %} x\n";
    assert_eq!(texts(&parts(text)), ["A dog", "A cat x"]);
    // A tag without its end hides nothing.
    let text = "{% highlight ruby %}\n\nA dog\n";
    assert_eq!(texts(&parts(text)), ["A dog"]);
}

proptest! {
    #[test]
    fn changed_files_are_copied(file in check::mutated(fixture("readme.markdown"), &SPECIAL)) {
        let File(bytes) = file;
        if let Ok(parts) = read_bytes(&bytes) {
            assert_is_sound(&parts);
            prop_assert_eq!(written(&parts).into_bytes(), bytes);
        }
    }

    #[test]
    fn a_paragraph_is_text_whatever_it_contains(text in tempting()) {
        assert_is_text("", "\n", &text);
    }

    #[test]
    fn an_item_is_text_whatever_it_contains(text in tempting()) {
        assert_is_text("- ", "\n", &text);
    }

    #[test]
    fn a_heading_is_text_whatever_it_contains(text in tempting()) {
        assert_is_text("## ", "\n", &text);
    }

    #[test]
    fn a_cell_is_text_whatever_it_contains(text in tempting()) {
        assert_is_text("|1|\n|-|\n|", "|\n", &text);
    }
}

#[test]
fn two_backslashes_before_a_pipe_in_a_cell_are_a_part_of_its_text() {
    let parts = parts("|1|2|\n|-|-|\n|a \\\\| b|c|\n");
    assert_eq!(texts(&parts), ["a | b", "c"]);
    let changed = with_texts(&parts, |text| text.replace("a | b", "b a"));
    assert_eq!(written(&changed), "|1|2|\n|-|-|\n|b a|c|\n");
}

/// Every text of a few pieces, with what ends cells and with markup, in the last cell of a row and in another.
#[test]
fn every_short_cell_with_backslashes_reads_back() {
    let pieces = ["a", "\\", "|", "*", "`", " ", "<b>", "&#92;"];
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        let longer = texts
            .iter()
            .flat_map(|text| pieces.map(|piece| format!("{text}{piece}")));
        texts = [vec!["a".to_owned()], longer.collect()].concat();
    }
    for text in texts {
        for (before, behind) in [("|1|2|\n|-|-|\n|", "|r|\n"), ("|1|2|\n|-|-|\n|r|", "|\n")] {
            let document = format!("{before}{text}{behind}");
            assert_reads_back(&parts(&document), markdown);
        }
    }
}

#[test]
fn the_readme_reads_back() {
    assert_reads_back(&parts(&fixture("readme.markdown")), markdown);
}
