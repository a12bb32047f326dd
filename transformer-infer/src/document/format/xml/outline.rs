//! [`walls`]: the tags at which sentences end.

use super::options::XmlOptions;
use super::token::{Token, TokenKind};

/// What an element has, without what its children have.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    has_text: bool,
    has_elements: bool,
}

/// Returns, for each token, whether it is a tag at which a sentence ends.
///
/// These are the tags of [splitting elements](XmlOptions::splitting_tags) and those of the outline: of the only element
/// of the input, and of all children of elements of the outline that have elements and no text. The text of a document
/// is in its inner elements, whose own children are markup inside of sentences.
pub(super) fn walls(
    tokens: &[Token<'_>],
    partners: &[Option<usize>],
    options: &XmlOptions,
) -> Vec<bool> {
    let contents = contents(tokens, partners);
    let has_outline = options.has_outline && is_document(tokens, partners);
    let mut walls = vec![false; tokens.len()];
    // Whether the children of each open element belong to the outline, from the outermost on.
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

/// Whether there is one element, and no text outside of it.
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

/// Returns what is in each element, at the index of its start tag.
fn contents(tokens: &[Token<'_>], partners: &[Option<usize>]) -> Vec<Content> {
    let mut contents = vec![Content::default(); tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let parent = open.last().map(|parent| &mut contents[*parent]);
        match token.kind {
            TokenKind::Start(_) if partners[index].is_some() => {
                if let Some(parent) = parent {
                    parent.has_elements = true;
                }
                open.push(index);
            }
            TokenKind::End(_) if partners[index].is_some() => {
                open.pop();
            }
            TokenKind::Empty(_) => {
                if let Some(parent) = parent {
                    parent.has_elements = true;
                }
            }
            TokenKind::Text if token.source.trim_ascii().is_empty() => {}
            TokenKind::Text | TokenKind::CharacterData(_) => {
                if let Some(parent) = parent {
                    parent.has_text = true;
                }
            }
            _ => {}
        }
    }
    contents
}
