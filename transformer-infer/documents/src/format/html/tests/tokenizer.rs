//! Compares the tokenizer with html5ever's.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token as TheirToken, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use htmlize::Context;
use proptest::prelude::{prop_assert_eq, proptest};

use super::soup::{block_size, soup};
use crate::format::html::elements::text_mode;
use crate::format::html::entity::pieces;
use crate::format::html::tokenizer::next_token;
use crate::format::html::tokenizer::{TextMode, TokenKind};

/// A token in a form to which the tokens of both tokenizers can be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Text(String),
    Start { name: String, is_self_closing: bool },
    End(String),
    Comment,
}

/// The tokens of html5ever. Elements decide how to read text, as they do outside SVG.
#[derive(Default)]
struct Sink {
    seen: RefCell<Vec<Seen>>,
    is_foreign: Cell<bool>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: TheirToken, _line: u64) -> TokenSinkResult<()> {
        let mut seen = self.seen.borrow_mut();
        match token {
            TheirToken::TagToken(tag) if tag.kind == TagKind::StartTag => {
                let mode = text_mode(&tag.name);
                seen.push(Seen::Start {
                    name: tag.name.to_string(),
                    is_self_closing: tag.self_closing,
                });
                return match mode {
                    TextMode::Data => TokenSinkResult::Continue,
                    TextMode::Escapable(_) => TokenSinkResult::RawData(RawKind::Rcdata),
                    TextMode::Raw(_) => TokenSinkResult::RawData(RawKind::Rawtext),
                    TextMode::Script(_) => TokenSinkResult::RawData(RawKind::ScriptData),
                    TextMode::Plain => TokenSinkResult::Plaintext,
                };
            }
            TheirToken::TagToken(tag) => seen.push(Seen::End(tag.name.to_string())),
            TheirToken::CommentToken(_) => seen.push(Seen::Comment),
            TheirToken::CharacterTokens(text) => push_text(&mut seen, &text),
            TheirToken::NullCharacterToken => push_text(&mut seen, "\u{FFFD}"),
            TheirToken::DoctypeToken(_) | TheirToken::EOFToken | TheirToken::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.is_foreign.get()
    }
}

fn push_text(seen: &mut Vec<Seen>, added: &str) {
    let added = added.replace('\0', "\u{FFFD}");
    match seen.last_mut() {
        Some(Seen::Text(text)) => text.push_str(&added),
        _ => seen.push(Seen::Text(added)),
    }
}

fn theirs(source: &str, is_foreign: bool) -> Vec<Seen> {
    let sink = Sink::default();
    sink.is_foreign.set(is_foreign);
    let options = TokenizerOpts {
        discard_bom: false,
        ..TokenizerOpts::default()
    };
    let tokenizer = Tokenizer::new(sink, options);
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(source));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.seen.take()
}

/// Tokenizes a source that is read in blocks of this many bytes.
fn ours(source: &str, block: usize, is_foreign: bool) -> Vec<Seen> {
    let mut mode = TextMode::Data;
    let mut seen = Vec::new();
    let (mut at, mut end) = (0, 0);
    while at < source.len() {
        let is_at_end = end == source.len();
        let text = &source[at..end];
        let token = if text.is_empty() {
            None
        } else {
            next_token(text, is_at_end, is_foreign, &mut mode)
        };
        let Some(token) = token else {
            assert!(!is_at_end, "no token at the end of the file");
            end = source.ceil_char_boundary((end + block).min(source.len()));
            continue;
        };
        assert!(token.len > 0, "an empty token");
        let token_source = &source[at..at + token.len];
        at += token.len;
        match token.kind {
            TokenKind::Text => push_text(&mut seen, &resolve(token_source, &mode)),
            TokenKind::Start(tag) => {
                mode = text_mode(&tag.name);
                seen.push(Seen::Start {
                    name: tag.name,
                    is_self_closing: tag.is_self_closing,
                });
            }
            TokenKind::End(tag) => {
                mode = TextMode::Data;
                seen.push(Seen::End(tag.name));
            }
            TokenKind::Comment => seen.push(Seen::Comment),
            TokenKind::Nothing => {}
        }
    }
    seen
}

fn resolve(source: &str, mode: &TextMode) -> String {
    // In the data state, this is text only if it is a section.
    let is_cdata = *mode == TextMode::Data && source.starts_with("<![CDATA[");
    if is_cdata {
        let content = &source[9..];
        return content.strip_suffix("]]>").unwrap_or(content).to_owned();
    }
    match mode {
        TextMode::Data | TextMode::Escapable(_) => pieces(source, Context::General)
            .map(|piece| piece.text)
            .collect(),
        TextMode::Raw(_) | TextMode::Script(_) | TextMode::Plain => source.to_owned(),
    }
}

proptest! {
    #[test]
    fn tokens_are_those_of_html5ever(source in soup(), block in block_size()) {
        // Both tokenizers get text with line feeds as line ends, since html5ever converts line ends.
        let source = source.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(ours(&source, block, false), theirs(&source, false));
    }

    #[test]
    fn tokens_inside_of_svg_are_those_of_html5ever(source in soup(), block in block_size()) {
        let source = source.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(ours(&source, block, true), theirs(&source, true));
    }
}
