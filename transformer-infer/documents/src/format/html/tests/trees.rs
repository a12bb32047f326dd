//! The tree of a page by html5ever, for tests.

use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// Parses a page with scripts disabled: the content of `noscript` is markup.
fn parse(source: &str) -> RcDom {
    let tree_builder = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let options = ParseOpts {
        tree_builder,
        ..ParseOpts::default()
    };
    parse_document(RcDom::default(), options).one(StrTendril::from(source))
}

/// Returns all nodes with their depth, in the order of the document; text and attribute values are in upper case.
pub(super) fn nodes(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    visit(&parse(source).document, &mut |node, depth, _| {
        let shown = match &node.data {
            NodeData::Element { name, attrs, .. } => {
                let attributes: Vec<_> = attrs.borrow().iter().map(capital_attribute).collect();
                format!("<{} {attributes:?}>", name.local)
            }
            NodeData::Text { contents } => contents.borrow().to_ascii_uppercase(),
            NodeData::Comment { contents } => format!("<!--{contents}-->"),
            NodeData::Doctype { name, .. } => format!("<!doctype {name}>"),
            NodeData::Document | NodeData::ProcessingInstruction { .. } => String::new(),
        };
        found.push((depth, shown));
    });
    found
}

fn capital_attribute(attribute: &Attribute) -> (String, String) {
    let value = attribute.value.to_ascii_uppercase();
    (attribute.name.local.to_string(), value)
}

/// Returns the text that must not be translated.
pub(super) fn copied_text(source: &str) -> String {
    let mut copied = String::new();
    visit(&parse(source).document, &mut |node, _, is_copied| {
        if let NodeData::Text { contents } = &node.data
            && is_copied
        {
            copied.push_str(&contents.borrow());
        }
    });
    copied
}

/// Returns whether any element asks to be translated.
pub(super) fn asks_for_translation(source: &str) -> bool {
    let mut asks = false;
    visit(&parse(source).document, &mut |node, _, _| {
        if let NodeData::Element { attrs, .. } = &node.data {
            asks |= asked(&attrs.borrow()) == Some(true);
        }
    });
    asks
}

/// Calls a function with each node, its depth, and true if it is copied.
fn visit(root: &Handle, visit: &mut impl FnMut(&Handle, usize, bool)) {
    let mut left = vec![(root.clone(), 0, false, false)];
    while let Some((node, depth, is_copied, is_opaque)) = left.pop() {
        visit(&node, depth, is_copied);
        let (is_copied, is_opaque) = match &node.data {
            NodeData::Element { name, attrs, .. } => {
                let is_opaque = is_opaque || is_never_translated(&name.local);
                let asked = asked(&attrs.borrow());
                let default = is_copied || is_not_translated(&name.local);
                let is_copied = is_opaque || asked.map_or(default, |asked| !asked);
                (is_copied, is_opaque)
            }
            _ => (is_copied, is_opaque),
        };
        let children = node.children.borrow();
        let contents = match &node.data {
            NodeData::Element {
                template_contents, ..
            } => template_contents.borrow().clone(),
            _ => None,
        };
        for child in children.iter().chain(contents.iter()).rev() {
            left.push((child.clone(), depth + 1, is_copied, is_opaque));
        }
    }
}

fn is_never_translated(name: &str) -> bool {
    [
        "iframe",
        "math",
        "noembed",
        "noframes",
        "plaintext",
        "script",
        "style",
        "svg",
        "textarea",
        "xmp",
    ]
    .contains(&name)
}

fn is_not_translated(name: &str) -> bool {
    let names = [
        "code",
        "kbd",
        "listing",
        "plaintext",
        "pre",
        "rp",
        "rt",
        "rtc",
        "samp",
        "template",
        "var",
        "xmp",
    ];
    names.contains(&name)
}

/// Returns the request of an element about translation, if any.
fn asked(attributes: &[Attribute]) -> Option<bool> {
    let value = |name: &str| {
        let found = attributes
            .iter()
            .find(|attribute| &*attribute.name.local == name)?;
        Some(found.value.to_ascii_lowercase())
    };
    match value("translate").as_deref() {
        Some("" | "yes") => return Some(true),
        Some("no") => return Some(false),
        _ => {}
    }
    let class = value("class")?;
    class
        .split_ascii_whitespace()
        .any(|class| class == "notranslate")
        .then_some(false)
}
