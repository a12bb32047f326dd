//! Fills the siblings for the translations of elements with source text.

use std::ops::Range;

use super::rules::{Element, attribute, tags};
use super::table::Document;
use super::token::TokenKind;
use crate::Part;
use crate::format::parts::PartQueue;

/// Maximum number of tokens from an element with source text back to its first sibling; with more, it is copied.
const MAX_TOKENS_BACK: usize = 10_000;

impl Document<'_> {
    pub(super) fn is_source(&self, element: Element<'_>) -> bool {
        let filled = self.rules.filled.as_ref();
        filled.is_some_and(|[_, target]| {
            element.matches(&self.source_rule.borrow()) && !element.matches(target)
        })
    }

    /// Takes the source language of a unit of a translation memory, if it names one. Returns the rule before.
    pub(super) fn take_source_language(&self, element: Element<'_>) -> Option<String> {
        let src = match element.name {
            "tu" => attribute(element.tag, "srclang").filter(|it| *it != "*all*")?,
            _ => return None,
        };
        let rule = self.source_rule.borrow().clone();
        let (start, _) = rule.split_once('=').filter(|_| rule.starts_with("tuv["))?;
        Some(self.source_rule.replace(format!("{start}={src}]")))
    }

    /// Adds an element with source text, and its translation to the sibling for it, if that is empty or missing.
    /// Returns the index of the token after what was added; `parent` is the content of the element around both.
    pub(super) fn fill(
        &self,
        source: &Range<usize>,
        parent: &Range<usize>,
        parts: &mut PartQueue,
    ) -> usize {
        let Some([_, target]) = &self.rules.filled else {
            return source.end;
        };
        parts.push_verbatim(&self.source(source.clone()));
        if source.start - parent.start > MAX_TOKENS_BACK {
            return source.end;
        }
        let is_blank = |range: Range<usize>| {
            let mut tokens = self.tokens[range].iter();
            tokens.all(|it| it.kind == TokenKind::Text && it.source.trim().is_empty())
        };
        let text_of = |whole: Range<usize>| match &self.rules.filled_text {
            Some(name) => self.child(&self.content(&whole), name),
            None => Some(whole),
        };
        let name = self.source_rule.borrow().clone();
        let (found, source_end) = self.target_of(source, parent, [&name, target]);
        let slot = found.clone().and_then(text_of);
        let is_filled = match &slot {
            Some(slot) => slot.start < source.end || !is_blank(self.content(slot)),
            None => found.is_some(),
        };
        let mut translated = PartQueue::default();
        if let Some(text) = text_of(source.clone()).filter(|_| !is_filled) {
            self.push_mixed(self.content(&text), "", &mut translated);
        }
        let translated = translated.into_parts();
        if !translated.iter().any(|it| matches!(it, Part::Passage(_))) {
            return source.end;
        }
        let (before, open, close) = match &slot {
            None => {
                let [open, close] = tags(target);
                let inner = self.rules.filled_text.as_deref();
                let [inner, end] = inner.map(tags).unwrap_or_default();
                (source.end..source_end, open + &inner, end + &close)
            }
            Some(slot) => {
                let tag = self.tokens[slot.start].source;
                let name = Element::of(&self.tokens[slot.start], "").map_or("", |it| it.name);
                let open = match tag.strip_suffix("/>") {
                    Some(start) => format!("{}>", start.trim_end()),
                    None => tag.to_owned(),
                };
                (source.end..slot.start, open, format!("</{name}>"))
            }
        };
        let end = slot.map_or(before.end, |it| it.end);
        parts.push_verbatim(&(self.source(before) + &open));
        parts.extend(translated);
        parts.push_verbatim(&close);
        end
    }

    /// Returns the sibling for the translation of an element, if there is one, and the end of the source, or of its copy in
    /// segments. The sibling comes before the next source, maybe after notes. If there is none, one before the source
    /// counts unless it is followed by another source.
    fn target_of(
        &self,
        source: &Range<usize>,
        parent: &Range<usize>,
        [name, target]: [&str; 2],
    ) -> (Option<Range<usize>>, usize) {
        let (mut source_end, mut before) = (source.end, None);
        let segments = format!("seg-{name}");
        let mut at = parent.start;
        while at < parent.end {
            let whole = self.element(at);
            let element = Element::of(&self.tokens[at], "");
            match element.filter(|_| whole != *source) {
                Some(it) if it.matches(target) && at >= source.end => {
                    return (Some(whole), source_end);
                }
                Some(it) if it.matches(target) => before = Some(whole.clone()),
                Some(it) if it.matches(name) && at >= source.end => break,
                Some(it) if it.matches(name) => before = None,
                Some(it) if it.name == segments => source_end = whole.end,
                _ => {}
            }
            at = whole.end;
        }
        (before, source_end)
    }
}
