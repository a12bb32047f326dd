//! What the attributes of a tag say: about translation, about the encoding, and text of their own.

use htmlize::unescape_attribute;

use super::notation::Position;
use super::passage::text_parts;
use super::token::{Attribute, Tag};
use crate::document::Part;

/// Returns whether the content of an element is translated, if its attributes say so.
pub(super) fn translate(tag: &Tag, source: &str) -> Option<bool> {
    let value = |name| tag.attribute(name).map(|found| value(found, source));
    match value("translate").as_deref().map(str::trim) {
        Some(yes) if yes.is_empty() || yes.eq_ignore_ascii_case("yes") => return Some(true),
        Some(no) if no.eq_ignore_ascii_case("no") => return Some(false),
        _ => {}
    }
    let class = value("class")?;
    class
        .split_ascii_whitespace()
        .any(|class| class == "notranslate")
        .then_some(false)
}

/// Returns the encoding that a `meta` tag declares, unless it is UTF-8.
pub(super) fn foreign_encoding(tag: &Tag, source: &str) -> Option<String> {
    let value = |name| tag.attribute(name).map(|found| value(found, source));
    let declared = match (value("charset"), value("http-equiv"), value("content")) {
        (Some(charset), _, _) => charset,
        (None, Some(header), Some(content)) if header.eq_ignore_ascii_case("content-type") => {
            let (_, charset) = content.split_once("charset")?;
            let charset = charset.trim_start().strip_prefix('=')?.trim_start();
            charset
                .trim_start_matches(['"', '\''])
                .split([';', ' ', '"', '\''])
                .next()?
                .to_owned()
        }
        _ => return None,
    };
    let label = declared.trim().to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_:.+".contains(&byte))
    };
    // By the standard, a declaration of UTF-16 that can be read as ASCII means UTF-8.
    let is_utf8 = ["utf-8", "utf8", "utf-16", "utf-16le", "utf-16be"].contains(&label.as_str())
        || label.contains("unicode");
    (is_label(&label) && !is_utf8).then_some(declared)
}

/// Divides a tag into what is copied and the text of its attributes.
pub(super) fn tag_parts(tag: &Tag, source: &str) -> Vec<Part> {
    let mut found: Vec<&Attribute> = tag
        .attributes
        .iter()
        .filter(|attribute| is_text(tag, attribute, source))
        .collect();
    found.sort_by_key(|attribute| attribute.value.start);
    let mut parts = Vec::new();
    let mut at = 0;
    for attribute in found {
        let range = attribute.value.clone();
        let text = text_parts(&source[range.clone()], Position::Attribute(attribute.quote));
        if text.iter().any(|part| matches!(part, Part::Passage(_))) {
            parts.push(Part::Verbatim(source[at..range.start].to_owned()));
            parts.extend(text);
            at = range.end;
        }
    }
    parts.push(Part::Verbatim(source[at..].to_owned()));
    parts
}

/// Whether people read the value of an attribute.
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
