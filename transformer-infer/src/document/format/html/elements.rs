//! What the elements of HTML are: inside of a sentence or not, translated or not.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::token::TextMode;

/// Elements beyond which an end tag of another name does not reach.
static SPECIAL: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let names = "address applet article aside blockquote body button caption center colgroup dd details dir \
     div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header \
     hgroup html iframe li listing main marquee menu nav noembed noframes noscript object ol p \
     plaintext pre script search section select style summary table tbody td template textarea \
     tfoot th thead title tr ul xmp";
    names.split(' ').collect()
});

/// Returns whether a name, which has no spaces, is one of those between spaces.
pub(super) fn is_one_of(name: &str, names: &str) -> bool {
    names.split(' ').any(|it| it == name)
}

/// What a start tag in translated text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Encloses words of a sentence.
    Pair,
    /// Stands between words, and has no content.
    Void {
        /// Whether a reader sees something there, so that the words do not touch.
        is_visible: bool,
    },
    /// Stands between words, with content that is not translated.
    Atom {
        /// Whether a reader sees something there.
        is_visible: bool,
    },
    /// Ends a passage; its content is not translated.
    CopiedBlock,
    /// Ends a passage.
    Block,
}

/// Returns the role of an element in HTML.
///
/// Unknown elements are blocks, so that nothing moves them; names with a colon, which Word writes, are not.
pub(super) fn role(name: &str) -> Role {
    match name {
        "a" | "abbr" | "acronym" | "b" | "bdi" | "bdo" | "big" | "blink" | "cite" | "data"
        | "del" | "dfn" | "em" | "font" | "i" | "ins" | "label" | "mark" | "nobr" | "output"
        | "q" | "rb" | "ruby" | "s" | "small" | "span" | "strike" | "strong" | "sub" | "sup"
        | "time" | "tt" | "u" => Role::Pair,
        "img" | "image" | "input" | "embed" => Role::Void { is_visible: true },
        "wbr" => Role::Void { is_visible: false },
        "code" | "kbd" | "math" | "picture" | "rp" | "rt" | "rtc" | "samp" | "svg" | "textarea"
        | "var" => Role::Atom { is_visible: true },
        "script" | "style" => Role::Atom { is_visible: false },
        "iframe" | "listing" | "noembed" | "noframes" | "plaintext" | "pre" | "template"
        | "xmp" => Role::CopiedBlock,
        _ if name.contains(':') => Role::Pair,
        _ => Role::Block,
    }
}

/// Whether the content of an element is not translated unless `translate="yes"` says so.
pub(in crate::document::format) fn is_copied(name: &str) -> bool {
    name != "picture" && matches!(role(name), Role::Atom { .. } | Role::CopiedBlock)
}

/// Returns whether an element is known, and ends a passage.
pub(in crate::document::format) fn is_block(name: &str) -> bool {
    matches!(role(name), Role::Block | Role::CopiedBlock) && (is_special(name) || is_void(name))
}

/// Whether the content of an element is never translated, such as text in which entities mean nothing.
pub(super) fn is_opaque(name: &str) -> bool {
    is_one_of(
        name,
        "iframe math noembed noframes plaintext script style svg textarea xmp",
    )
}

/// Whether an element has neither content nor an end tag.
pub(in crate::document::format) fn is_void(name: &str) -> bool {
    is_one_of(
        name,
        "area base basefont bgsound br col embed frame hr image img input keygen link meta param \
         source track wbr",
    )
}

/// How the text of an element is read.
pub(super) fn text_mode(name: &str) -> TextMode {
    match name {
        "title" => TextMode::Escapable("title"),
        "textarea" => TextMode::Escapable("textarea"),
        "style" => TextMode::Raw("style"),
        "xmp" => TextMode::Raw("xmp"),
        "iframe" => TextMode::Raw("iframe"),
        "noembed" => TextMode::Raw("noembed"),
        "noframes" => TextMode::Raw("noframes"),
        "script" => TextMode::Script(super::token::Script::Code),
        "plaintext" => TextMode::Plain,
        _ => TextMode::Data,
    }
}

/// Whether browsers close these elements wherever they end, with others open inside.
pub(super) fn is_formatting(name: &str) -> bool {
    is_one_of(
        name,
        "a b big code em font i nobr s small strike strong tt u",
    )
}

/// Whether an end tag of another name does not reach beyond this element ("special" in the standard).
pub(super) fn is_special(name: &str) -> bool {
    SPECIAL.contains(name)
}

/// Whether an element limits in which ancestors end tags are searched ("scope" in the standard).
pub(super) fn is_scope(name: &str) -> bool {
    matches!(
        name,
        "applet"
            | "caption"
            | "html"
            | "marquee"
            | "object"
            | "select"
            | "table"
            | "td"
            | "template"
            | "th"
    )
}

/// Whether the start tag ends an open paragraph.
pub(super) fn ends_paragraph(name: &str) -> bool {
    is_one_of(
        name,
        "address article aside blockquote center dd details dialog dir div dl dt fieldset \
         figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu \
         nav ol p plaintext pre search section summary table ul xmp",
    )
}

/// Whether the start tag ends SVG or MathML that is open.
pub(super) fn ends_foreign(name: &str) -> bool {
    is_one_of(
        name,
        "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i \
         img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt \
         u ul var",
    )
}

/// Whether the start tag opens formatting elements again that another end tag ended.
pub(super) fn reopens_formatting(name: &str) -> bool {
    let is_without = ends_paragraph(name)
        || is_one_of(
            name,
            "base body caption col colgroup frame frameset head html iframe link meta noembed \
         noframes param rb rp rt rtc script source style tbody td template textarea tfoot th \
         thead title tr track",
        );
    !is_without || name == "xmp"
}
