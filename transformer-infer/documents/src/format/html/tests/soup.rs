//! Random HTML for tests: pages from a grammar, then damaged.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{Index, select};

/// The pieces of soup.
const PIECES: [&str; 118] = [
    "Hello ",
    "world",
    " ",
    "\n",
    "\r\n",
    "\t",
    "a",
    "1",
    ".",
    ", ",
    "(",
    ")",
    "é",
    "日本",
    "\u{a0}",
    "😀",
    "&amp;",
    "&nbsp;",
    "&eacute;",
    "&copy",
    "&notit;",
    "&#233;",
    "&#x41;",
    "&#0;",
    "&",
    "& ",
    "&x",
    "&#",
    "AT&T",
    "<",
    "< ",
    "</",
    "</>",
    "<>",
    ">",
    "\"",
    "'",
    "=",
    "/",
    "-",
    "--",
    "-->",
    "--!>",
    "<!",
    "<!-",
    "<!-->",
    "<!--->",
    "<!-- c -->",
    "<!--x--!>",
    "<!---",
    "<!--[if mso]>",
    "<![endif]-->",
    "<![CDATA[ x ]]>",
    "]]>",
    "<?php echo 1 ?>",
    "<!doctype html>",
    "<!DOCTYPE",
    "<p>",
    "</p>",
    "<P >",
    "<b>",
    "</b>",
    "<i class=\"x\">",
    "</i>",
    "<a href='?a&copy=1'>",
    "</a>",
    "<a href=x/>",
    "<br>",
    "<br/>",
    "</br>",
    "<img alt=\"a &quot;b&quot;\">",
    "<img alt='x' / title=y>",
    "<img alt=",
    "<wbr>",
    "<code>",
    "</code>",
    "<span translate=no>",
    "</span>",
    "<span class='a notranslate'>",
    "<b translate=yes>",
    "<div>",
    "</div>",
    "<div translate=\"no\">",
    "<pre>",
    "</pre>",
    "<script>",
    "</script>",
    "</script ",
    "<script",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<textarea>",
    "</textarea>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<path d=\"\">",
    "<math>",
    "<mi>",
    "</math>",
    "<foreignObject>",
    "</foreignObject>",
    "<table><tr><td>",
    "<tr>",
    "<td>",
    "</td>",
    "</table>",
    "<ul><li>",
    "<li>",
    "</ul>",
    "<ruby>",
    "<rt>",
    "</ruby>",
    "<o:p></o:p>",
    "<xmp>",
    "<select><option label=l>",
];

/// Returns random pieces, some of them in random pairs.
pub(super) fn soup() -> impl Strategy<Value = String> {
    soup_of(30)
}

/// Returns fewer than `n_pieces` random pieces or trees of pieces.
pub(super) fn soup_of(n_pieces: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|character| character.to_string()),
        1 => "[a-z<>&;!/='\" -]{1,6}",
    ];
    let tree = piece.prop_recursive(3, 40, 8, |inner| {
        let name = select(
            &[
                "b", "i", "a", "span", "p", "div", "code", "em", "li", "td", "sup",
            ][..],
        );
        (name, proptest::collection::vec(inner, 0..8))
            .prop_map(|(name, inner)| format!("<{name}>{}</{name}>", inner.concat()))
    });
    let pieces = proptest::collection::vec(tree, 0..n_pieces).prop_map(|pieces| pieces.concat());
    (pieces, proptest::collection::vec(mutation(), 0..3)).prop_map(|(mut text, mutations)| {
        for mutation in mutations {
            mutation.apply(&mut text);
        }
        text
    })
}

/// A kind of damage.
#[derive(Clone, Debug)]
enum Mutation {
    Delete(Index, usize),
    Repeat(Index, usize),
    Insert(Index, char),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let character = prop_oneof![
        select(&['<', '>', '/', '"', '-', '&', ' ', '\0'][..]),
        any::<char>()
    ];
    prop_oneof![
        (any::<Index>(), 1..20_usize).prop_map(|(at, len)| Mutation::Delete(at, len)),
        (any::<Index>(), 1..20_usize).prop_map(|(at, len)| Mutation::Repeat(at, len)),
        (any::<Index>(), character).prop_map(|(at, new)| Mutation::Insert(at, new)),
    ]
}

impl Mutation {
    fn apply(self, text: &mut String) {
        let floor = |text: &str, at: Index| text.floor_char_boundary(at.index(text.len() + 1));
        match self {
            Self::Delete(at, len) => {
                let start = floor(text, at);
                let end = text.floor_char_boundary((start + len).min(text.len()));
                text.replace_range(start..end.max(start), "");
            }
            Self::Repeat(at, len) => {
                let start = floor(text, at);
                let end = text.floor_char_boundary((start + len).min(text.len()));
                let piece = text[start..end.max(start)].to_owned();
                text.insert_str(start, &piece);
            }
            Self::Insert(at, new) => text.insert(floor(text, at), new),
        }
    }
}

/// Returns the size of the blocks in which a file is read.
pub(super) fn block_size() -> impl Strategy<Value = usize> {
    prop_oneof![1..8_usize, Just(64), Just(1 << 20)]
}
