//! Whatever the translation of a paragraph, a parser finds the same tree, except for its text.

use std::io::Cursor;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::format::{Format, FormatOptions};
use crate::tests::{Reverses, translate_sentences};

/// Translates a document by reversing its words.
fn translated(source: &str) -> String {
    let input = Cursor::new(source.to_owned());
    let reader = Format::Markdown.read("test".to_owned(), input, &FormatOptions::default());
    let parts = reader.and_then(Iterator::collect).expect("it is UTF-8");
    translate_sentences(&Reverses, parts)
}

/// An element without text.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Node {
    name: String,
    inside: Vec<Self>,
}

/// Returns the tree of GitHub's Markdown, without text; nodes that move with words are sorted.
fn tree(source: &str) -> Vec<Node> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut open = vec![Node {
        name: String::new(),
        inside: Vec::new(),
    }];
    for event in Parser::new_ext(source, options) {
        let name = match event {
            Event::Start(tag) => {
                let is_inline = matches!(
                    tag,
                    Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. }
                );
                let name = format!("{}{tag:?}", if is_inline { "~" } else { "" });
                open.push(Node {
                    name,
                    inside: Vec::new(),
                });
                continue;
            }
            Event::End(_) => {
                let mut node = open.pop().expect("a tag has begun");
                let has_text =
                    node.name.starts_with(['~', 'P', 'H', 'I']) || node.name == "TableCell";
                if has_text {
                    node.inside.sort();
                }
                open.last_mut().expect("it is inside").inside.push(node);
                continue;
            }
            Event::Text(_) | Event::SoftBreak => continue,
            event => format!("{event:?}"),
        };
        let inside = Vec::new();
        open.last_mut()
            .expect("it is inside")
            .inside
            .push(Node { name, inside });
    }
    open.swap_remove(0).inside
}

/// Returns text with markup inside it, in one line or several.
fn inline() -> impl Strategy<Value = String> {
    let word = "[a-d]{1,4}|[A-D][a-d]{1,3}";
    let mark = prop::sample::select(vec![
        "`c`",
        "`c`/`d`",
        "``c ` d``",
        "![i](j.png)",
        "[`c`](d)",
        "[w](x)",
        "[w](x \"t\")",
        "<br>",
        "<img src=a>",
        "<kbd>K</kbd>",
        "https://a.b/c_d_(e)",
        "<https://a.b>",
        "{{ a[0].b_ }}",
        "$x_1 * y$",
        "{% if x %}",
        "[^1]",
        "\\*",
        "&amp;",
        "1.",
        "-",
        "#",
        "!",
        "(",
        ")",
        "\"",
        ",",
        "...",
        "*w*",
        "**w**",
        "_w_",
        "***w***",
        "~~w~~",
        "**w**,",
        "*\"w\"*",
        "`c`\n",
        "a\n",
        "a  \n",
        "<b>w</b>",
        "a_b_c",
        "2 * 3",
        "|x",
    ]);
    let piece = prop_oneof![
        6 => word.prop_map(|word| word),
        5 => mark.prop_map(str::to_owned),
        1 => ("(\\*|\\*\\*|_|~~)", word, word).prop_map(|(d, a, b)| format!("{d}{a} `c` {b}{d}")),
        1 => ("(\\*|\\*\\*)", word, word).prop_map(|(d, a, b)| format!("{d}{a} [{b}](x) _{a}_.{d}")),
        1 => (word, word).prop_map(|(a, b)| format!("[{a} **{b}** c](x)")),
    ];
    prop::collection::vec(piece, 1..9).prop_map(|pieces| {
        let text = pieces.join(" ");
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_start()).collect();
        lines.join("\n").trim_end().to_owned()
    })
}

/// Puts text into a block; further lines begin with `prefix`.
fn in_block(first: &str, prefix: &str, text: &str) -> String {
    format!(
        "Ee\n\n{first}Aa {}.\n\nEe\n\n[^1]: ff\n",
        text.replace('\n', &format!("\n{prefix}"))
    )
}

#[track_caller]
fn assert_same_tree(source: &str) {
    let translated = translated(source);
    assert_eq!(
        tree(&translated),
        tree(source),
        "{source:?} became {translated:?}"
    );
}

proptest! {
    #[test]
    fn a_paragraph_has_the_same_tree(text in inline()) {
        assert_same_tree(&in_block("", "", &text));
    }

    #[test]
    fn a_quoted_item_has_the_same_tree(text in inline()) {
        assert_same_tree(&in_block("> - ", ">   ", &text));
    }

    #[test]
    fn a_heading_has_the_same_tree(text in inline()) {
        assert_same_tree(&in_block("## ", " ", &text.replace('\n', " ")));
    }

    #[test]
    fn a_cell_has_the_same_tree(text in inline()) {
        let text = text.replace('\n', " ").replace('|', "\\|");
        assert_same_tree(&format!("| a | b |\n|---|---|\n| Aa {text} | c |\n\n[^1]: ff\n"));
    }
}

#[test]
fn a_line_of_a_point_does_not_become_a_blank_one() {
    for point in ["![c](d.png)", "`c1`", "{{ x }}"] {
        let translated = translated(&format!("A brown street\n{point}\nwith horse.\n"));
        assert!(!translated.contains("\n\n"), "{translated}");
        assert_same_tree(&format!("A brown street\n{point}\nwith horse.\n"));
    }
}

#[test]
fn code_spans_stay_apart() {
    assert_eq!(
        translated("A man `-x`/`--exec` runs `a` or `b`.\n"),
        "OR `b` RUNS `a` MAN `-x`/`--exec` A.\n"
    );
    assert_eq!(
        translated("A man `begin`&ndash;`end` runs.\n"),
        "RUNS MAN `begin`&ndash;`end` A.\n"
    );
}

#[test]
fn what_is_no_text_is_copied() {
    for copied in [
        "{{ items[0].name_ }}",
        "$E = mc^2$",
        "\\\\(a_1*b\\\\)",
        "<code>a *b*</code>",
        "<var>x</var>",
        "https://a.b/Dog_(animal)",
        "`#![no_std]`",
    ] {
        let translated = translated(&format!("One dog {copied} runs.\n"));
        assert!(translated.contains(copied), "{translated}");
    }
}

#[test]
fn blocks_of_other_dialects_are_copied() {
    let copied =
        "::: tip A b\n\n> [!IMPORTANT]\n>\n\n$$\n\\int_0^1 x\n$$\n\n!!! note \"C d\"\n\n:::\n";
    assert_eq!(translated(copied), copied);
    assert_eq!(
        translated("!!! note\n    One two.\n\nOne\n: Two three\n\n> [!info] X\n> One two.\n"),
        "!!! note\n    TWO ONE.\n\nONE\n: THREE TWO\n\n> [!info] X\n> TWO ONE.\n"
    );
}

#[test]
fn a_link_has_text_and_emphasis_is_emphasis() {
    assert_eq!(translated("One [!](a.b) two.\n"), "TWO [!](a.b) ONE.\n");
    assert_same_tree("One *a*. **\"Two\"** three_four *five*-six.\n");
}
