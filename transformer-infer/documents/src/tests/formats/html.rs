//! Whole pages of HTML: `tests/fixtures/html/`, where `check_trees.py` compares pages with their translations.

use std::path::Path;
use std::{fs, io};

use super::check;
use crate::Part;
use crate::format::{Format, FormatOptions, HtmlOptions, html_parts};

/// Reads a page, and returns it with the texts of its passages.
fn read(name: &str) -> (String, String, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/html");
    let page = fs::read_to_string(folder.join(name)).expect("the page is a fixture");
    let input = io::Cursor::new(page.clone());
    let parts = html_parts(name.to_owned(), input, HtmlOptions { attributes: true });
    let parts = parts.expect("the page can be read");
    let written = parts.iter().map(Part::source).collect();
    let texts = parts.into_iter().filter_map(|part| match part {
        Part::Passage(passage) => Some(passage.text),
        Part::Verbatim(_) => None,
    });
    (page, written, texts.collect())
}

#[test]
fn an_article_is_kept() {
    let (page, written, _) = read("article.html");
    assert_eq!(written, page);
}

#[test]
fn a_newsletter_in_tag_soup_is_kept() {
    let (page, written, _) = read("newsletter.html");
    assert_eq!(written, page);
}

#[test]
fn a_post_of_a_social_network_has_a_passage_for_each_line() {
    let (_, _, texts) = read("post.html");
    assert_eq!(
        texts,
        [
            "Look what I found in the garden today It is a very big #snail!",
            "More pictures: https://example.org/garden",
            "I don't know its name <yet> & would like to learn it."
        ]
    );
}

#[test]
fn character_data_and_empty_elements_of_xhtml_are_those_of_xml() {
    let page = "<?xml version=\"1.0\"?><html><head><script src=\"a\"/></head><body><p>A dog<![CDATA[ <b> ]]></p></body></html>";
    let read = |format: Format| {
        let parts = check::read(format, &FormatOptions::default(), page.as_bytes());
        let parts = parts.expect("it can be read");
        assert_eq!(check::written(&parts), page);
        check::texts(&parts).concat()
    };
    assert_eq!(read(Format::Xhtml), "A dog");
    // Browsers read `<script/>` of HTML as a start.
    assert_eq!(read(Format::Html), "");
}
