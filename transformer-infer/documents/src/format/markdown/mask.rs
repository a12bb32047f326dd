//! [`Masked`]: a document without the parts that a CommonMark parser would mistake for text or markup.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use transformer_protection::kinds::{URL_OF_MARKDOWN, len_of_braces, pattern};

/// A document of the same length, with letters or spaces in place of copied ranges.
#[derive(Debug)]
pub(super) struct Masked {
    pub(super) text: String,
    /// Templates, addresses and formulas, in order; letters stand for them.
    pub(super) points: Vec<Range<usize>>,
}

/// Maximum size of a copied range, in bytes, so that searching for its end takes bounded time.
const MAX_POINT_BYTES: usize = 2048;

/// Addresses, and the starts of other copied ranges inside a line.
static POINT: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"\{{|\\\\[(\[]|{URL_OF_MARKDOWN}")));

/// Lines that do not belong to text: fences of containers (`:::`), the first lines of admonitions and tabs, and the
/// kinds of alerts (`> [!NOTE]`).
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)^[ \t>]*(?:(?<fence>:::.*)|(?<item>(?:!!!|\?\?\?\+?|===)[ \t]+\S.*)|>[ \t]?(?<alert>\[![\w-]+\].*))$",
    )
});

/// The lines around code in Jekyll and Liquid.
static CODE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^ {0,3}\{%-?\s*(?:end)?highlight\b[^{}\n]*%\}[ \t]*\r?$"));

/// The line that stands for them.
const FENCE: &[u8] = b"~~~~~~~~~~";

impl Masked {
    /// Hides templates such as `{{ site.title }}`, addresses, formulas between `\\(` and `\\)`, the lines around code in
    /// Jekyll, and lines that begin or end containers and admonitions. Formulas between dollar signs are left to the
    /// parser.
    pub(super) fn new(text: &str) -> Self {
        let mut masked = text.as_bytes().to_owned();
        for line in LINE.captures_iter(text) {
            let hidden = ["fence", "item", "alert"].map(|name| line.name(name));
            for found in hidden.iter().flatten() {
                masked[found.range()].fill(b' ');
            }
            // The indented lines below then belong to a list item, and are not code.
            if let Some(item) = hidden[1] {
                masked[item.start()] = b'-';
            }
        }
        let mut start = None;
        for line in CODE.find_iter(text) {
            match (line.as_str().contains("endhighlight"), start.take()) {
                (false, _) => start = Some(line),
                (true, Some(start)) => {
                    for line in [start, line] {
                        masked[line.range()].fill(b' ');
                        masked[line.start()..][..FENCE.len()].copy_from_slice(FENCE);
                    }
                }
                (true, None) => {}
            }
        }
        let mut points: Vec<Range<usize>> = Vec::new();
        for found in POINT.find_iter(text) {
            let start = found.start();
            let is_hidden = masked[start] != text.as_bytes()[start];
            if is_hidden || points.last().is_some_and(|point| start < point.end) {
                continue;
            }
            let before = text[..start].chars().next_back();
            let rest = &text[start..text.floor_char_boundary(start + MAX_POINT_BYTES)];
            let len = match found.as_str() {
                "{" | r"\\(" | r"\\[" if before == Some('\\') => None,
                // In the same line, and without code inside.
                "{" => len_of_braces(rest.split(['\n', '`']).next().unwrap_or_default()),
                r"\\(" => len_until(rest, r"\\)"),
                r"\\[" => len_until(rest, r"\\]"),
                _ if before == Some('<') => None,
                address => Some(address.len()),
            };
            let Some(len) = len else { continue };
            let has_sign = rest.starts_with('{') && matches!(before, Some('$' | '#'));
            points.push(start - usize::from(has_sign)..start + len);
        }
        for point in &points {
            masked[point.clone()].fill(b'x');
        }
        Self {
            text: String::from_utf8(masked).unwrap_or_else(|_| text.to_owned()),
            points,
        }
    }
}

fn len_until(text: &str, end: &str) -> Option<usize> {
    let line = text.lines().next()?;
    line.find(end).map(|at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> Vec<&str> {
        let masked = Masked::new(text);
        assert_eq!(masked.text.len(), text.len());
        masked
            .points
            .into_iter()
            .map(|point| &text[point])
            .collect()
    }

    #[test]
    fn templates_are_whole() {
        let text = "See {{ items[0].name_ }}, {% include a.md %}, ${A_B} and {n, plural, other {# *dogs*}}.";
        let expected = [
            "{{ items[0].name_ }}",
            "{% include a.md %}",
            "${A_B}",
            "{n, plural, other {# *dogs*}}",
        ];
        assert_eq!(points(text), expected);
        for text in ["a { b", "\\{a\\}", "{ `a` }", "{a\nb}"] {
            assert_eq!(points(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn addresses_end_before_the_punctuation_of_the_sentence() {
        let found = |text| points(text).concat();
        assert_eq!(found("(see https://a.b/c_(d)_e)."), "https://a.b/c_(d)_e");
        assert_eq!(found("**www.a.b/c_d**, x"), "www.a.b/c_d");
        assert_eq!(found("[https://a.b](c) <https://a.b>"), "https://a.b");
        assert_eq!(found("https://{{ host }}/a x"), "https://{{ host }}/a");
        assert_eq!(found("[a](https://a.b/(c))-d"), "https://a.b/(c)");
        assert_eq!(found("https://a.b/c[d] e"), "https://a.b/c[d]");
    }

    #[test]
    fn lines_of_containers_are_blank() {
        let text = "::: tip A\n> [!info] B\n> c\n!!! note \"D\"\n    e\n";
        let masked = Masked::new(text).text;
        let lines: Vec<&str> = masked.lines().map(str::trim_end).collect();
        assert_eq!(lines, ["", ">", "> c", "-", "    e"]);
    }
}
