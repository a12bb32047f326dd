//! [`xml_parts`]: the parts of a text with the tags of XML.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::notation::{XmlText, split_at_entities, words};
use super::outline::XmlOptions;
use super::outline::walls;
use super::token::{Token, TokenKind, partners, tokens};
use crate::format::items::{Item, ItemKind};
use crate::format::parts::PartQueue;
use crate::format::segments::push_items;
use crate::format::source::split_line_end;
use crate::{Notation, Part};
use transformer_protection::kinds::pattern;

/// A tag of an element that keeps its line ends.
static PRESERVE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\sxml:space\s*=\s*["']preserve["']"#));

/// Reads a text with XML tags: a document or a fragment of one.
///
/// Elements are pairs around their words; elements without content, ignored elements and comments are points. A tag
/// without its partner is copied, and ends a sentence; a `<` that does not begin a tag is text.
///
/// # Example
///
/// ```
/// use transformer_documents::Part;
/// use transformer_documents::format::{XmlOptions, xml_parts};
///
/// let text = "Press <key>Enter</key> &amp; wait <x id=\"1\"/>.";
/// let parts = xml_parts(text, &XmlOptions::default());
/// let Part::Passage(passage) = &parts[0] else { panic!("expected a passage") };
/// assert_eq!(passage.text, "Press Enter & wait.");
/// assert_eq!(parts.iter().map(Part::source).collect::<String>(), text);
/// ```
pub fn xml_parts(text: &str, options: &XmlOptions) -> Vec<Part> {
    let tokens = tokens(text);
    let partners = partners(&tokens);
    let walls = walls(&tokens, &partners, options);
    let mut items = Vec::new();
    let mut index = 0;
    // The end of the last element that keeps its line ends.
    let mut keeps_until = 0;
    while let Some(token) = tokens.get(index) {
        let end = partners[index].filter(|end| *end > index);
        if PRESERVE.is_match(token.source) && matches!(token.kind, TokenKind::Start(_)) {
            keeps_until = keeps_until.max(end.unwrap_or(0));
        }
        let kind = match token.kind {
            TokenKind::Start(name) => match end {
                Some(end) if options.is_ignored(name) || end == index + 1 && !walls[index] => {
                    let source = text_of(&tokens[index..=end]);
                    items.push(Item::new(ItemKind::Point, source));
                    index = end + 1;
                    continue;
                }
                Some(_) if !walls[index] => ItemKind::Open(name.to_owned()),
                _ => ItemKind::Wall,
            },
            TokenKind::End(name) if partners[index].is_some() && !walls[index] => {
                ItemKind::Close(name.to_owned())
            }
            TokenKind::Empty(_) if !walls[index] => ItemKind::Point,
            TokenKind::Comment => ItemKind::Point,
            TokenKind::Text => {
                for (at, piece) in split_at_entities(token.source).into_iter().enumerate() {
                    match at % 2 {
                        0 if index < keeps_until => push_lines(piece, &mut items),
                        0 => items.push(words(piece)),
                        _ => items.push(Item::new(ItemKind::Point, piece)),
                    }
                }
                index += 1;
                continue;
            }
            TokenKind::CharacterData(data) => ItemKind::Text(data.to_owned()),
            TokenKind::End(_) | TokenKind::Empty(_) | TokenKind::Declaration => ItemKind::Wall,
        };
        items.push(Item::new(kind, token.source));
        index += 1;
    }
    let notation: Arc<dyn Notation> = Arc::new(XmlText::default());
    let mut parts = PartQueue::default();
    push_items(items, &notation, &mut parts);
    parts.into_parts()
}

/// Adds text and keeps its line ends: each line is a passage.
pub(super) fn push_lines(source: &str, items: &mut Vec<Item>) {
    for line in source.split_inclusive('\n') {
        let (mut content, mut end) = split_line_end(line);
        // The carriage return of a line end in a cell.
        if !end.is_empty() && content.ends_with("_x000D_") {
            (content, end) = line.split_at(content.len() - "_x000D_".len());
        }
        items.extend((!content.is_empty()).then(|| words(content)));
        items.extend((!end.is_empty()).then(|| Item::new(ItemKind::Wall, end)));
    }
}

fn text_of(tokens: &[Token<'_>]) -> String {
    tokens.iter().map(|token| token.source).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(input: &str, options: &XmlOptions) -> Vec<String> {
        let parts = xml_parts(input, options);
        let text = |part: Part| match part {
            Part::Passage(passage) => Some(passage.text),
            Part::Verbatim(_) => None,
        };
        parts.into_iter().filter_map(text).collect()
    }

    #[test]
    fn elements_do_not_end_a_sentence() {
        let input = "Press <b>the <i>red</i></b> button";
        assert_eq!(
            texts(input, &XmlOptions::default()),
            ["Press the red button"]
        );
    }

    #[test]
    fn ignored_elements_are_not_translated() {
        let options = XmlOptions {
            ignored_tags: vec!["x".to_owned()],
            ..XmlOptions::default()
        };
        let input = "See <x>one <x>two</x></x> there";
        assert_eq!(texts(input, &options), ["See there"]);
    }

    #[test]
    fn splitting_elements_end_a_sentence() {
        let options = XmlOptions {
            splitting_tags: vec!["br".to_owned()],
            ..XmlOptions::default()
        };
        assert_eq!(
            texts("one<br/>two <b>three</b>", &options),
            ["one", "two three"]
        );
    }

    #[test]
    fn the_outline_of_a_document_ends_sentences() {
        let input = "<doc><head>One</head>\n<body><p>Two <b>three</b></p><p>four</p></body></doc>";
        let found = texts(input, &XmlOptions::default());
        assert_eq!(found, ["One", "Two three", "four"]);
    }

    #[test]
    fn entities_of_the_document_are_copied() {
        let input = "<!DOCTYPE d [<!ENTITY co \"ACME\">]><d><p>A &co; dog &amp; &x-y; cat</p></d>";
        let parts = xml_parts(input, &XmlOptions::default());
        let found = parts.iter().find_map(|part| match part {
            Part::Passage(passage) => Some(passage),
            Part::Verbatim(_) => None,
        });
        let passage = found.expect("there is a passage");
        assert_eq!(passage.text, "A dog & cat");
        assert_eq!(passage.source(), "A &co; dog &amp; &x-y; cat");
    }

    #[test]
    fn preserved_line_ends_end_passages() {
        let input = "<d><p xml:space='preserve'>One <b>two</b>\r\nthree <i>four\nfive</i></p><p>six\nseven</p></d>";
        let found = texts(input, &XmlOptions::default());
        assert_eq!(found, ["One two", "three", "four", "five", "six\nseven"]);
    }

    #[test]
    fn without_outline_only_splitting_elements_end_sentences() {
        let options = XmlOptions {
            has_outline: false,
            ..XmlOptions::default()
        };
        assert_eq!(texts("<d><p>One</p> <p>two</p></d>", &options), ["One two"]);
    }

    #[test]
    fn elements_that_never_split_are_not_part_of_the_outline() {
        let options = XmlOptions {
            non_splitting_tags: vec!["p".to_owned()],
            ..XmlOptions::default()
        };
        assert_eq!(texts("<d><p>One</p> <p>two</p></d>", &options), ["One two"]);
    }

    proptest! {
        #[test]
        fn all_parts_together_are_the_input(input in "(<|>|/|a|<a>|</a>|<b/>|<!--|-->|&amp;|&|\"| |\n|é){0,30}") {
            let options = XmlOptions {
                splitting_tags: vec!["b".to_owned()],
                ..XmlOptions::default()
            };
            let written: String = xml_parts(&input, &options).iter().map(Part::source).collect();
            prop_assert_eq!(written, input);
        }
    }
}
