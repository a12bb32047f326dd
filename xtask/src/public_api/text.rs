//! Declarations as text on one line.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Returns tokens as a person writes them.
pub(super) fn text(tokens: &impl ToTokens) -> String {
    let mut written = Text::default();
    written.stream(tokens.to_token_stream());
    written.text.trim_end_matches(',').to_owned()
}

/// The words behind which a bracket has a space before it.
const KEYWORDS: [&str; 7] = ["as", "const", "dyn", "for", "impl", "mut", "where"];

/// The signs of several characters.
const LONG_SIGNS: [&str; 5] = ["..=", "::", "->", "=>", ".."];

/// What the last token was, as far as it matters for the space before the next one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    /// Nothing, or a sign without space behind it.
    #[default]
    Open,
    /// A name or a literal.
    Word,
    /// One of [`KEYWORDS`], or a lifetime.
    Keyword,
    /// A bracket that closes.
    Closed,
    /// A sign with a space behind it.
    Spaced,
}

#[derive(Default)]
struct Text {
    text: String,
    last: Last,
}

impl Text {
    fn stream(&mut self, stream: TokenStream) {
        // The signs that stand together, such as `>,`.
        let mut run = String::new();
        for token in stream {
            match token {
                TokenTree::Punct(punct) => {
                    run.push(punct.as_char());
                    if punct.spacing() == Spacing::Alone || punct.as_char() == '\'' {
                        self.signs(&run);
                        run.clear();
                    }
                }
                TokenTree::Ident(ident) => self.word(&ident.to_string()),
                TokenTree::Literal(literal) => self.word(&literal.to_string()),
                TokenTree::Group(group) => self.group(&group),
            }
        }
    }

    fn group(&mut self, group: &Group) {
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        };
        self.space_if(matches!(self.last, Last::Spaced | Last::Keyword));
        self.text.push_str(open);
        self.last = Last::Open;
        self.stream(group.stream());
        // A comma at the end of a list says nothing.
        if self.text.ends_with(',') {
            self.text.pop();
        }
        self.text.push_str(close);
        self.last = Last::Closed;
    }

    fn word(&mut self, word: &str) {
        let is_lifetime = self.text.ends_with('\'');
        self.space_if(self.last != Last::Open);
        self.text.push_str(word);
        self.last = match is_lifetime || KEYWORDS.contains(&word) {
            true => Last::Keyword,
            false => Last::Word,
        };
    }

    fn signs(&mut self, mut run: &str) {
        while !run.is_empty() {
            let long = LONG_SIGNS.into_iter().find(|sign| run.starts_with(sign));
            // All signs are ASCII.
            let (sign, rest) = run.split_at(long.map_or(1, str::len));
            self.sign(sign);
            run = rest;
        }
    }

    fn sign(&mut self, sign: &str) {
        let is_operator = matches!(sign, "->" | "=>" | "=" | "+" | "|");
        // `&`, `'` and `<` may begin something, as a word does.
        let begins = match self.last {
            Last::Spaced => true,
            Last::Keyword => matches!(sign, "&" | "'" | "*"),
            Last::Open | Last::Word | Last::Closed => false,
        };
        self.space_if(is_operator || begins);
        self.text.push_str(sign);
        self.last = match sign {
            "," | ":" | ";" => Last::Spaced,
            ">" => Last::Closed,
            _ if is_operator => Last::Spaced,
            _ => Last::Open,
        };
    }

    fn space_if(&mut self, is_needed: bool) {
        if is_needed && !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(source: &str) -> String {
        let item: syn::Signature = syn::parse_str(source).expect("it is a function");
        text(&item)
    }

    #[test]
    fn functions_are_written_as_people_write_them() {
        for source in [
            "fn new<S: AsRef<[u32]>>(sequences: &[S], device: &Device) -> Self",
            "fn each<'a>(&'a mut self, f: impl FnMut(usize) -> bool + 'a) -> Option<&'a str>",
            "const fn below(self, n: u64) -> Vec<Vec<u32>> where Self: Sized",
            "fn at<const D: usize>(x: Tensor<D>) -> <Self as Iterator>::Item",
            "fn fill<'a>(rows: &'a mut [Vec<Vec<f32>>], by: (usize, &'static [u8]))",
        ] {
            assert_eq!(written(source), source);
        }
    }

    #[test]
    fn a_list_over_several_lines_is_written_on_one() {
        assert_eq!(
            written("fn f(\n    a: u8,\n    b: u8,\n)"),
            "fn f(a: u8, b: u8)"
        );
    }
}
