//! [`XmlOptions`]: the meaning of XML tags for translation, and [`walls`], the tags at which sentences end.

use super::token::{Token, TokenKind};

/// The meaning of XML tags for translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlOptions {
    /// Names of elements with tags that end a sentence. Default: none.
    pub splitting_tags: Vec<String>,
    /// Names of elements with tags that never end a sentence. Default: none.
    pub non_splitting_tags: Vec<String>,
    /// Names of elements that are copied with all their content. Default: none.
    pub ignored_tags: Vec<String>,
    /// True if the structure of a document also ends sentences: the tags of its only element, and those of the children
    /// of all such elements that have elements but no text. Default: true.
    pub has_outline: bool,
}

impl Default for XmlOptions {
    fn default() -> Self {
        Self {
            splitting_tags: Vec::new(),
            non_splitting_tags: Vec::new(),
            ignored_tags: Vec::new(),
            has_outline: true,
        }
    }
}

impl XmlOptions {
    pub(super) fn is_wall(&self, name: &str, in_outline: bool) -> bool {
        let is_in = |names: &[String]| names.iter().any(|it| it == name);
        !is_in(&self.non_splitting_tags) && (in_outline || is_in(&self.splitting_tags))
    }

    pub(super) fn is_ignored(&self, name: &str) -> bool {
        self.ignored_tags.iter().any(|it| it == name)
    }
}

/// The content of an element, without that of its children.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    has_text: bool,
    has_elements: bool,
}

/// Returns, for each token, whether a sentence ends there. Sentences end at the tags of [splitting
/// elements](XmlOptions::splitting_tags) and of the outline: the only element of the input, and all children of
/// elements of the outline that have elements but no text. The text of a document is in its inner elements; their
/// children are markup inside sentences.
pub(super) fn walls(
    tokens: &[Token<'_>],
    partners: &[Option<usize>],
    options: &XmlOptions,
) -> Vec<bool> {
    let contents = contents(tokens, partners);
    let has_outline = options.has_outline && is_document(tokens, partners);
    let mut walls = vec![false; tokens.len()];
    // For each open element, true if its children belong to the outline; the outermost first.
    let mut outlines = vec![has_outline];
    for (index, token) in tokens.iter().enumerate() {
        let in_outline = outlines.last() == Some(&true);
        match token.kind {
            TokenKind::Start(name) => {
                let Some(end) = partners[index] else {
                    continue;
                };
                let is_wall = options.is_wall(name, in_outline);
                (walls[index], walls[end]) = (is_wall, is_wall);
                let content = contents[index];
                let is_outline = !content.has_text && content.has_elements;
                outlines.push(in_outline && is_wall && is_outline);
            }
            TokenKind::End(_) if partners[index].is_some() => {
                outlines.pop();
            }
            TokenKind::Empty(name) => walls[index] = options.is_wall(name, in_outline),
            _ => {}
        }
    }
    walls
}

/// Returns whether there is one element, and no text outside it.
fn is_document(tokens: &[Token<'_>], partners: &[Option<usize>]) -> bool {
    let mut index = 0;
    let mut n_elements = 0;
    while let Some(token) = tokens.get(index) {
        match (token.kind, partners[index]) {
            (TokenKind::Start(_), Some(end)) => {
                n_elements += 1;
                index = end;
            }
            (TokenKind::Comment | TokenKind::Declaration, _) => {}
            (TokenKind::Text, _) if token.source.trim_ascii().is_empty() => {}
            _ => return false,
        }
        index += 1;
    }
    n_elements == 1
}

/// Returns the content of each element, at the index of its start tag.
fn contents(tokens: &[Token<'_>], partners: &[Option<usize>]) -> Vec<Content> {
    let mut contents = vec![Content::default(); tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let is_paired = partners[index].is_some();
        let (is_element, is_text) = match token.kind {
            TokenKind::Start(_) => (is_paired, false),
            TokenKind::Empty(_) => (true, false),
            TokenKind::Text => (false, !token.source.trim_ascii().is_empty()),
            TokenKind::CharacterData(_) => (false, true),
            _ => (false, false),
        };
        if let Some(parent) = open.last() {
            contents[*parent].has_elements |= is_element;
            contents[*parent].has_text |= is_text;
        }
        match token.kind {
            TokenKind::Start(_) if is_paired => open.push(index),
            TokenKind::End(_) if is_paired => drop(open.pop()),
            _ => {}
        }
    }
    contents
}
