//! The attributes of tags: settings for translation and encoding, and text to translate.

use htmlize::unescape_attribute;

use super::elements::text_mode;
use super::segment::Position;
use super::segment::push_inline;
use super::tokenizer::{Attribute, Tag, TextMode, TokenKind, next_token};
use crate::Part;
use crate::format::encoding::Charset;
use crate::format::items::Item;
use crate::format::parts::PartQueue;

/// Returns whether to translate the content of an element, if its attributes specify it.
pub(super) fn translate(tag: &Tag, source: &str) -> Option<bool> {
    let value = |name| tag.attribute(name).map(|found| value(found, source));
    match value("translate").as_deref().map(str::trim) {
        Some(yes) if yes.is_empty() || yes.eq_ignore_ascii_case("yes") => return Some(true),
        Some(no) if no.eq_ignore_ascii_case("no") => return Some(false),
        _ => {}
    }
    let class = value("class")?;
    let mut classes = class.split_ascii_whitespace();
    classes.any(|it| it == "notranslate").then_some(false)
}

/// Returns whether to keep the line ends in an element, as in `pre`, if its attributes specify it.
pub(super) fn keeps_line_ends(tag: &Tag, source: &str) -> Option<bool> {
    let value = |name| Some(value(tag.attribute(name)?, source).to_ascii_lowercase());
    let style = value("style").unwrap_or_default();
    let declared = style.split(';').filter_map(|it| it.split_once(':'));
    let mut declared = declared.filter(|(name, _)| name.trim() == "white-space");
    let declared = declared.next_back().map(|(_, spaces)| spaces.trim());
    let inherited = ["inherit", "unset", "revert"];
    match declared.filter(|it| !inherited.iter().any(|word| it.starts_with(word))) {
        Some(spaces) => Some(spaces.starts_with("pre") || spaces.starts_with("break-spaces")),
        None => value("xml:space").map(|space| space == "preserve"),
    }
}

pub(super) struct Declared {
    pub(super) label: String,
    /// The encoding; `None` if the label is unknown or the encoding cannot be written.
    pub(super) encoding: Option<Charset>,
}

pub(super) fn declared_encoding(tag: &Tag, source: &str) -> Option<Declared> {
    if tag.name != "meta" {
        return None;
    }
    let value = |name| tag.attribute(name).map(|found| value(found, source));
    let declared = match (value("charset"), value("http-equiv"), value("content")) {
        (Some(charset), _, _) => charset,
        (None, Some(header), Some(content)) if header.eq_ignore_ascii_case("content-type") => {
            let (_, charset) = content.split_once("charset")?;
            let charset = charset.trim_start().strip_prefix('=')?.trim_start();
            let charset = charset.trim_start_matches(['"', '\'']);
            charset.split([';', ' ', '"', '\'']).next()?.to_owned()
        }
        _ => return None,
    };
    let label = declared.trim().to_ascii_lowercase();
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:.+".contains(&byte);
    if label.is_empty() || !label.bytes().all(is_sign) {
        return None;
    }
    Some(Declared {
        encoding: Charset::of_label(&label),
        label: declared,
    })
}

/// Divides a tag into copied parts and the text of its attributes.
pub(super) fn tag_parts(tag: &Tag, source: &str) -> Vec<Part> {
    let found = tag.attributes.iter();
    let mut found: Vec<&Attribute> = found.filter(|it| is_text(tag, it, source)).collect();
    found.sort_by_key(|attribute| attribute.value.start);
    let mut parts = Vec::new();
    let mut at = 0;
    for attribute in found {
        let range = attribute.value.clone();
        let (mut text, position) = (PartQueue::default(), Position::Attribute(attribute.quote));
        let items = vec![Item::text(&source[range.clone()])];
        push_inline(items, position, &mut text);
        let text = text.into_parts();
        if text.iter().any(|part| matches!(part, Part::Passage(_))) {
            parts.push(Part::Verbatim(source[at..range.start].to_owned()));
            parts.extend(text);
            at = range.end;
        }
    }
    parts.push(Part::Verbatim(source[at..].to_owned()));
    parts
}

/// Returns whether the value of an attribute is read by people.
fn is_text(tag: &Tag, attribute: &Attribute, source: &str) -> bool {
    match attribute.name {
        "alt" | "aria-label" | "placeholder" | "title" => true,
        "label" => matches!(tag.name.as_str(), "optgroup" | "option" | "track"),
        "content" => {
            let name = tag.attribute("name").map(|name| value(name, source));
            tag.name == "meta" && name.is_some_and(|name| name.eq_ignore_ascii_case("description"))
        }
        _ => false,
    }
}

fn value(attribute: &Attribute, source: &str) -> String {
    unescape_attribute(&source[attribute.value.clone()]).into_owned()
}

/// Returns the encoding in the first `meta` tag that declares one, if it is known.
pub(in crate::format) fn declared(head: &[u8]) -> Option<Charset> {
    let ascii = |byte: &u8| char::from(if byte.is_ascii() { *byte } else { b'?' });
    let head: String = head.iter().map(ascii).collect();
    let mut rest = head.as_str();
    let mut mode = TextMode::Data;
    while !rest.is_empty()
        && let Some(token) = next_token(rest, false, false, &mut mode)
    {
        mode = match &token.kind {
            TokenKind::Start(tag) => {
                if let Some(declared) = declared_encoding(tag, rest) {
                    return declared.encoding;
                }
                text_mode(&tag.name)
            }
            TokenKind::End(_) => TextMode::Data,
            _ => mode,
        };
        rest = &rest[token.len..];
    }
    None
}
