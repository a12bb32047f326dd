//! [`KINDS`]: the table of the kinds of copied text: patterns, examples, and the way in which each is kept.
//!
//! The tests of the patterns and the table in docs/translating.md are generated from it.

pub use crate::patterns::{
    MESSAGE_START, NUMBERS, URL, URL_OF_MARKDOWN, closed_braces, len_of_braces, pattern,
};

/// The way in which a translation keeps copied text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Exactly as often as in the source, in any order: it has a name or a number.
    Exact,
    /// Like `Exact`, but in the order of the source: programs fill it by position.
    InOrder,
    /// Its digits, with the separators of any language.
    Digits,
    /// Hidden from the model, since it contains words.
    Hidden,
}

/// A kind of copied text.
#[derive(Debug)]
pub struct Kind {
    /// The name in the documentation.
    pub name: &'static str,
    pub keep: Keep,
    /// Texts one of which each match has, so that the pattern need not be compiled for a line without them; empty if there
    /// are none.
    pub marks: &'static [&'static str],
    /// A regular expression. The first group that matches is copied, or the whole match if there are no groups.
    pub pattern: &'static str,
    /// Test whether a match is something else, given the text before it and the text from its start on.
    pub is_other: fn(&str, &str) -> bool,
    pub examples: &'static [&'static str],
}

/// Number of bytes on each side in which to look for the first of numbered placeholders.
const NEAR_BYTES: usize = 1024;

/// The flags, the width, the precision and the length of a conversion of printf.
macro_rules! conversion {
    () => {
        r"[-+#0,']*(?:\*(?:\d+\$)?|\d+)?(?:\.(?:\*(?:\d+\$)?|\d+)?)?(?:hh?|ll?|[LqjztT]|I64|I32)?"
    };
}

/// The text after a conversion: a unit, a capitalized word, or something other than a letter.
macro_rules! after_conversion {
    () => {
        r"(?:(?-u:\b)|_|[A-Z][a-z]|(?:x|px|pt|em|[kKMGT]i?[Bb]|B|[ckm]?m|[km]?g|m?s|min|h|th|st|nd|rd|dpi|Hz|bits?|bytes?)(?-u:\b))"
    };
}

/// All kinds. If two match at the same place, the longer match wins, then the first kind.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "URLs",
        keep: Keep::Exact,
        marks: &["://", "www."],
        pattern: URL,
        is_other: |_, _| false,
        examples: &[
            "https://example.org/a?b=c&d#e",
            "https://example.org/wiki/Dog_(animal)",
            "https://example.org/{id}/x",
            "www.example.org",
        ],
    },
    Kind {
        name: "e-mail addresses",
        keep: Keep::Exact,
        marks: &["@", "mailto:"],
        pattern: r"\bmailto:\S*\w|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        is_other: |_, _| false,
        examples: &["a.b+c@mail.example.org"],
    },
    Kind {
        name: "printf, numbered",
        keep: Keep::Exact,
        marks: &["%"],
        pattern: concat!(
            r"(%\d+\$",
            conversion!(),
            "[A-Za-z])",
            after_conversion!(),
            r"|%\d+\$@"
        ),
        is_other: ends_with_digit,
        examples: &["%1$s", "%2$-10s", "%1$tB", "%1$@", "%1$.1f"],
    },
    Kind {
        name: "printf, Go, strftime",
        keep: Keep::InOrder,
        marks: &["%"],
        pattern: concat!(
            "(%",
            conversion!(),
            "[A-Za-z])",
            after_conversion!(),
            "|(%",
            conversion!(),
            "[a-z])[A-Z]|(%",
            conversion!(),
            "@)|(%<PRI[A-Za-z0-9]+>)"
        ),
        is_other: ends_with_digit,
        examples: &[
            "%s", "%-10s", "%'d", "%+.2f", "%*d", "%.*f", "%lu", "%zu", "%r", "%v", "%n", "%H",
            "%@", "%<PRIu8>",
        ],
    },
    Kind {
        name: "printf with a space as the sign",
        keep: Keep::InOrder,
        marks: &["%"],
        pattern: r"(% [dif])(?:[^\w'’]|$)",
        is_other: |before, _| ends_with_digit(before.trim_end(), ""),
        examples: &["% d"],
    },
    Kind {
        name: "escaped percent signs",
        keep: Keep::Exact,
        marks: &["%%"],
        pattern: r"(?:\d+(?:[.,]\d+)*\s?)?%%",
        is_other: |_, _| false,
        examples: &["%%", "100%%"],
    },
    Kind {
        name: "Python, Ruby",
        keep: Keep::Exact,
        marks: &["%"],
        pattern: r"%\(\w[\w.-]*\)[-+#0 ]*\d*(?:\.\d+)?[A-Za-z]|%<\w+>[-+#0]*\d*(?:\.\d+)?[A-Za-z](?-u:\b)|%<\w+>",
        is_other: ends_with_digit,
        examples: &["%(name)s", "%(name)r", "%(count)03d", "%<name>s"],
    },
    Kind {
        name: "Qt",
        keep: Keep::Exact,
        marks: &["%"],
        pattern: concat!(r"(%L?(?:1\d|[1-9]))", after_conversion!()),
        is_other: ends_with_digit,
        examples: &["%1", "%L1", "%12"],
    },
    Kind {
        name: "Windows, Drupal",
        keep: Keep::Exact,
        marks: &["%"],
        pattern: r"(%[A-Za-z_][A-Za-z0-9_]+%)(?:[^\w%(<{]|$)|%[a-z]{2}[A-Za-z0-9_]+",
        is_other: |before, _| before.ends_with(char::is_alphanumeric),
        examples: &["%USER%", "%name"],
    },
    Kind {
        name: "choices of ICU and Java, whole",
        keep: Keep::Hidden,
        marks: &["{"],
        pattern: MESSAGE_START,
        is_other: |_, _| false,
        examples: &[
            "{n, plural, one{# dog} other{# dogs}}",
            "{g, select, female{her} other{their}}",
            "{0,choice,0#no dogs|1#one dog|1<{0} dogs}",
        ],
    },
    Kind {
        name: "empty braces",
        keep: Keep::InOrder,
        marks: &["{"],
        pattern: r"\{(?::[^{}\n]*)?\}",
        is_other: |_, _| false,
        examples: &["{}", "{:.2f}"],
    },
    Kind {
        name: "block tags of templates",
        keep: Keep::InOrder,
        marks: &["{%", "{{"],
        pattern: r"\{%[^{}\n]*%\}|\{\{[~-]?\s*(?:[#/^]|else\b)[^{}\n]*\}\}",
        is_other: |_, _| false,
        examples: &["{% if x %}", "{{#if x}}", "{{else}}", "{{/if}}"],
    },
    Kind {
        name: "braces",
        keep: Keep::Exact,
        marks: &["{"],
        pattern: r"\{\{\{[^{}\n]*\}\}\}|[$#@%]?\{\{[^{}\n]*\}\}|[$#@%]?\{[^{}\n]*\}",
        is_other: |_, _| false,
        examples: &[
            "{name}",
            "{0}",
            "{0:N2}",
            "{{count}}",
            "{{ items[0].name_ }}",
            "{{{name}}}",
            "${HOME}",
            "#{user}",
            "@{name}",
            "%{count}",
        ],
    },
    Kind {
        name: "dollar signs",
        keep: Keep::Exact,
        marks: &["$"],
        pattern: r"\$t\([^()\s]*\)|\$\([A-Za-z_][\w. ]*\)|(\$[A-Za-z_][A-Za-z0-9_]*\$)(?:[^\w$]|$)|\$[A-Za-z_][A-Za-z0-9_]*",
        is_other: |_, _| false,
        examples: &["$name", "$NAME$", "$(NAME)", "$t(menu.open)"],
    },
    Kind {
        name: "one digit with a dollar sign, but no amounts",
        keep: Keep::Exact,
        marks: &["$"],
        pattern: r"(\$\d)(?:[^\w.,]|[.,](?:\D|$)|$)",
        // Placeholders begin with the first; `$5` alone is an amount.
        is_other: |before, rest| {
            let start = before.floor_char_boundary(before.len().saturating_sub(NEAR_BYTES));
            let end = rest.floor_char_boundary(NEAR_BYTES);
            let has_first = before[start..].contains("$1") || rest[..end].contains("$1");
            !has_first || before.ends_with(char::is_alphanumeric)
        },
        examples: &["$1"],
    },
    Kind {
        name: "i18next",
        keep: Keep::Exact,
        marks: &["__"],
        pattern: r"__[A-Za-z][A-Za-z0-9_]*?__",
        is_other: touches_word,
        examples: &["__name__"],
    },
    Kind {
        name: "linked messages of vue-i18n",
        keep: Keep::Exact,
        marks: &["@:", "@."],
        pattern: r"@(?:\.[a-z]+)?:(?:[A-Za-z0-9_.]*[A-Za-z0-9_]|\{'[^'\n]*'\})",
        is_other: touches_word,
        examples: &["@:menu.open", "@.lower:menu.open"],
    },
    Kind {
        name: "merge tags of Mailchimp",
        keep: Keep::Exact,
        marks: &["*|"],
        pattern: r"\*\|[A-Z0-9_:]+\|\*",
        is_other: |_, _| false,
        examples: &["*|FNAME|*"],
    },
    Kind {
        name: "shortcodes of WordPress",
        keep: Keep::InOrder,
        marks: &["["],
        pattern: r#"\[[a-z][\w-]*(?:\s+[\w-]+=(?:"[^"\n]*"|'[^'\n]*'))+\s*/?\]|\[/[a-z][\w-]*\]"#,
        // Without such a start before it, the end is one of another markup.
        is_other: |before, rest| {
            let name = rest.strip_prefix("[/").and_then(|it| it.split_once(']'));
            let near = before.floor_char_boundary(before.len().saturating_sub(NEAR_BYTES));
            name.is_some_and(|(name, _)| !before[near..].contains(&format!("[{name} ")))
        },
        examples: &["[caption id=\"x\" width='300']"],
    },
    Kind {
        name: "wildcards, and separators of file filters",
        keep: Keep::InOrder,
        marks: &["*.", ";;"],
        pattern: r"\*\.(?:[A-Za-z0-9_]+|\*)|;;",
        is_other: |before, _| before.ends_with(char::is_alphanumeric),
        examples: &["*.txt", "*.*", ";;"],
    },
    Kind {
        name: "escaped characters of spreadsheets",
        keep: Keep::InOrder,
        marks: &["_x"],
        pattern: r"(?:_x005[Ff])?_x[0-9A-Fa-f]{4}_",
        is_other: |_, _| false,
        examples: &["_x000D_", "_x005F_x000D_"],
    },
    Kind {
        name: "codes of emoji",
        keep: Keep::Exact,
        marks: &[":"],
        pattern: r":(?:[A-Za-z][A-Za-z0-9_+-]*|[+-]1):",
        is_other: touches_word,
        examples: &[":smile:", ":+1:"],
    },
    Kind {
        name: "Laravel",
        keep: Keep::Exact,
        marks: &[":"],
        pattern: r":[a-z_][A-Za-z0-9_]+",
        is_other: touches_word,
        examples: &[":name"],
    },
    Kind {
        name: "users and issues",
        keep: Keep::Exact,
        marks: &["@", "#"],
        pattern: r"@[A-Za-z][A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*|#\d+",
        is_other: touches_word,
        examples: &["@user", "#123"],
    },
    Kind {
        name: "assignments",
        keep: Keep::Exact,
        marks: &["=", "<", ">", "≤", "≥", "≠", "≈"],
        pattern: concat!(
            r"\b[A-Za-z]\d? ?(?:[=<>≤≥≠≈]|[:!=<>]=) ?[-+±]?\d+(?:[.,]\d+)*\b",
            r"|\b[A-Za-z\d]\d*(?:[-+*/^][A-Za-z\d]\d*)*(?:=[A-Za-z\d]\d*(?:[-+*/^][A-Za-z\d]\d*)*)+\b",
            r"|\b[A-Za-z_][\w.-]*==?[-+]?\d\w*(?:[.,]\d+)*"
        ),
        is_other: touches_word,
        examples: &["x=1", "q = 42", "a+b=c", "width=100"],
    },
    Kind {
        name: "options",
        keep: Keep::Exact,
        marks: &["--"],
        pattern: r"--[a-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:=[\w.,/+-]*\w)?",
        is_other: touches_word,
        examples: &["--option", "--no-color", "--jobs=4"],
    },
    Kind {
        name: "paths",
        keep: Keep::Exact,
        marks: &["/"],
        pattern: concat!(
            r"(?:~|\.\.?)?/[a-z0-9.][\w.+-]*/(?:[\w.+-]+/)*(?:[\w.+-]*\w)?|(?:~|\.\.?)/(?:[\w.+-]*\w)?",
            r"|/(?:bin|boot|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)\b/?"
        ),
        is_other: touches_word,
        examples: &[
            "/etc/path",
            "/usr/share/doc/",
            "~/.config",
            "./configure",
            "/tmp",
        ],
    },
    Kind {
        name: "hashes, codes, versions with letters",
        keep: Keep::Exact,
        marks: &[],
        pattern: concat!(
            r"(?-u:\b)(?:[0-9a-f]{7,}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|0x[0-9A-Fa-f]+",
            r"|[A-Z]{2,}(?:-\d+)*-\d{3,}|v?\d+(?:\.\d+)+[-+~]?(?:alpha|beta|rc|pre|dev)[.-]?\d*|\w+(?:[~^]\d+)+)(?-u:\b)",
        ),
        is_other: |before, rest| {
            let is_code = |c: &char| c.is_ascii_alphanumeric() || "-.~^_".contains(*c);
            let (mut digits, mut letters) = (false, false);
            for c in rest.chars().take_while(is_code) {
                digits |= c.is_ascii_digit();
                letters |= c.is_ascii_alphabetic();
            }
            touches_word(before, rest) || !digits || !letters
        },
        examples: &[
            "7e2654802e7eb97090da16bdf0fc3e4adf4fd283",
            "0x1F",
            "CVE-2024-12345",
            "2.4.1-rc2",
            "HEAD~2",
        ],
    },
    Kind {
        name: "names of programs",
        keep: Keep::Exact,
        marks: &["::"],
        pattern: r"\b\w+(?:::\w+)+",
        is_other: |_, _| false,
        examples: &["Dir::Bin::Solvers"],
    },
    Kind {
        name: "tags",
        keep: Keep::InOrder,
        marks: &["<"],
        pattern: concat!(
            r"</?(?:a|b|big|blockquote|body|br|center|cite|code|d[dlt]|del|div|em|font|h[1-6]|head|hr|html|i|img|ins|kbd",
            r"|li|mark|meta|nobr|ol|p|pre|qt|s|small|span|strong|style|sub|sup|t[dhrt]|table|tbody|thead|u|ul|var)",
            r#"(?:\s(?:="[^"<\n]*"|='[^'<\n]*'|[^<>\n])*)?/?>"#
        ),
        is_other: |_, _| false,
        examples: &[
            "<b>",
            "</b>",
            "<br/>",
            "<span class='x'>",
            "<a title=\"Settings > General\">",
        ],
    },
    Kind {
        name: "emoji",
        keep: Keep::Exact,
        marks: &[],
        pattern: concat!(
            r"[\p{Extended_Pictographic}&&[^©®™]](?:[\x{fe0f}\x{200d}\x{1f3fb}-\x{1f3ff}\x{e0020}-\x{e007f}]",
            r"|\p{Extended_Pictographic})*|[\x{1f1e6}-\x{1f1ff}]{2}|[0-9#*]\x{fe0f}?\x{20e3}"
        ),
        is_other: |_, _| false,
        examples: &["🌂", "👩‍👩‍👧", "☀️", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣"],
    },
    Kind {
        name: "numbers above 12, amounts, shares, times, dates, versions",
        keep: Keep::Digits,
        marks: &[],
        pattern: NUMBERS,
        is_other: |_, _| false,
        examples: &[
            "$20.50",
            "US$5,000",
            "€3.50",
            "3.5%",
            "5 %",
            "10:30",
            "1/2",
            "2024-05-01",
            "v1.2.3",
            "20 km/h",
            "2024",
        ],
    },
];

fn ends_with_digit(before: &str, _: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_digit())
}

/// Returns whether a sign after this text is part of the word before it.
fn touches_word(before: &str, _: &str) -> bool {
    before.ends_with(|c: char| c.is_alphanumeric() || "_:@#/<.-&$".contains(c))
}
