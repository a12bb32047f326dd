//! The properties of HTML elements: inside a sentence or not, translated or not.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::tokenizer::TextMode;

/// Elements that stop the search for the element of an end tag with another name.
static SPECIAL: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let names = "address applet article aside blockquote body button caption center colgroup dd details dir \
     div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header \
     hgroup html iframe li listing main marquee menu nav noembed noframes noscript object ol p \
     plaintext pre script search section select style summary table tbody td template textarea \
     tfoot th thead title tr ul xmp";
    names.split(' ').collect()
});

/// Returns whether a name without spaces is in a list separated by spaces.
pub(super) fn is_one_of(name: &str, names: &str) -> bool {
    names.split(' ').any(|it| it == name)
}

/// The effect of a start tag in translated text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A tag around words of a sentence.
    Pair,
    /// A tag between words, without content.
    Void {
        /// True if it is visible to a reader, so that the words do not touch.
        is_visible: bool,
    },
    /// An element between words, with untranslated content.
    Atom { is_visible: bool },
    /// An element that ends a passage; its content is not translated.
    CopiedBlock,
    /// An element that ends a passage.
    Block,
}

/// Returns the role of an element in HTML. Unknown elements are blocks, so that nothing moves them; names with a colon,
/// as Word writes them, are not.
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

/// Returns whether the content of an element is copied unless it has `translate="yes"`.
pub(in crate::format) fn is_copied(name: &str) -> bool {
    name != "picture" && matches!(role(name), Role::Atom { .. } | Role::CopiedBlock)
}

pub(in crate::format) fn is_block(name: &str) -> bool {
    matches!(role(name), Role::Block | Role::CopiedBlock) && (is_special(name) || is_void(name))
}

/// Returns whether the content of an element is never translated, such as text without entities.
pub(super) fn is_opaque(name: &str) -> bool {
    let names = "iframe math noembed noframes plaintext script style svg textarea xmp";
    is_one_of(name, names)
}

pub(in crate::format) fn is_void(name: &str) -> bool {
    is_one_of(
        name,
        "area base basefont bgsound br col embed frame hr image img input keygen link meta param \
         source track wbr",
    )
}

pub(super) fn text_mode(name: &str) -> TextMode {
    match name {
        "title" => TextMode::Escapable("title"),
        "textarea" => TextMode::Escapable("textarea"),
        "style" => TextMode::Raw("style"),
        "xmp" => TextMode::Raw("xmp"),
        "iframe" => TextMode::Raw("iframe"),
        "noembed" => TextMode::Raw("noembed"),
        "noframes" => TextMode::Raw("noframes"),
        "script" => TextMode::Script(super::tokenizer::Script::Code),
        "plaintext" => TextMode::Plain,
        _ => TextMode::Data,
    }
}

/// Returns whether browsers close these elements wherever their end tag is, even with others open inside.
pub(super) fn is_formatting(name: &str) -> bool {
    let names = "a b big code em font i nobr s small strike strong tt u";
    is_one_of(name, names)
}

/// Returns whether this element stops the search for an end tag's element of another name ("special" in the standard).
pub(super) fn is_special(name: &str) -> bool {
    SPECIAL.contains(name)
}

/// Returns whether an element limits the search for an end tag's element among ancestors ("scope" in the standard).
pub(super) fn is_scope(name: &str) -> bool {
    let names = "applet caption html marquee object select table td template th";
    is_one_of(name, names)
}

pub(super) fn ends_paragraph(name: &str) -> bool {
    is_one_of(
        name,
        "address article aside blockquote center dd details dialog dir div dl dt fieldset \
         figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu \
         nav ol p plaintext pre search section summary table ul xmp",
    )
}

/// Returns whether the start tag ends open SVG or MathML.
pub(super) fn ends_foreign(name: &str) -> bool {
    is_one_of(
        name,
        "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i \
         img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt \
         u ul var",
    )
}

/// Returns whether the start tag reopens formatting elements that another element's end tag ended.
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
