//! [`Protection`]: words that are copied instead of translated, such as placeholders and URLs.

use std::ops::Range;

use regex::Regex;

/// What is copied: found by patterns, taken out of a sentence before it is translated, and put back where word
/// alignments say.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    patterns: Vec<Regex>,
    /// The start of what is copied up to its closing brace.
    message_start: Option<Regex>,
}

/// A pattern that is no regular expression.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{pattern}` is no regular expression of the crate `regex`; correct it")]
pub struct ProtectionError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub source: Box<regex::Error>,
}

/// The largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 22;

/// Placeholders of programs, addresses, and emoji.
const PLACEHOLDERS: &[&str] = &[
    // URLs and e-mail addresses; a full stop or comma at the end is not part of them.
    r"(?:https?|ftp)://[^\s<>\x22]*[^\s<>\x22.,;:!?'()\[\]{}]|\bwww\.[^\s<>\x22]*[^\s<>\x22.,;:!?'()\[\]{}]",
    r"\bmailto:\S*\w|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    // {{name}}, {name}, ${name}, #{name}, {0:d}
    r"[$#]?\{\{[^{}\n]*\}\}|[$#]?\{[^{}\n]*\}",
    // %s, %1$s, %-5.2f, %(name)s, %@, %%
    r"%(?:\([\w.]+\)|\d+\$)?[-+0#]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcCsSpn@]\b|%@|%%|%[A-Za-z_]\w*%",
    // $name, $1, $_
    r"\$(?:[A-Za-z_]\w*|\d+\b)",
    // :smile:
    r":[A-Za-z][\w+-]*:",
    // Emoji, which few vocabularies have.
    r"[\p{Extended_Pictographic}&&[^©®™]](?:[\x{fe0f}\x{200d}\x{1f3fb}-\x{1f3ff}]|\p{Extended_Pictographic})*|[\x{1f1e6}-\x{1f1ff}]{2}",
];

/// The start of a choice in a message of ICU, such as `{n, plural, one {# dog} other {# dogs}}`, which has braces inside.
const MESSAGE_START: &str = r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,";

/// Numbers with units, such as `20 km/h`, `5 %` or `€3.50`.
const NUMBERS: &str = r"[€$£¥]\s?\d+(?:[.,]\d+)*|\b\d+(?:[.,\u{a0}\u{202f}]\d+)*(?:\s?(?:[%‰€$£¥]|°[CF]?)|\s?(?:k?m/h|m/s|kWh|[kKMGT]i?[Bb]|[kKMGT]?Hz|[cdkmµn]?m[²³23]?|[kmµ]?g|[cdm]?[lL]|[kMG]?[WVAJN]|ms|s|min|h)\b|\b)";

impl Protection {
    /// Copies placeholders, choices in messages of ICU, URLs, e-mail addresses, emoji and their codes.
    pub fn placeholders() -> Self {
        let patterns = PLACEHOLDERS.iter().map(|pattern| regex(pattern));
        Self {
            patterns: patterns.collect(),
            message_start: Some(regex(MESSAGE_START)),
        }
    }

    /// Copies numbers, with their units, too.
    #[must_use]
    pub fn with_numbers(mut self) -> Self {
        self.patterns.push(regex(NUMBERS));
        self
    }

    /// Copies what a regular expression finds, too.
    ///
    /// # Errors
    ///
    /// Returns a [`ProtectionError`] if the pattern is no regular expression.
    pub fn with_pattern(mut self, pattern: &str) -> Result<Self, ProtectionError> {
        let compiled = regex::RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        let compiled = compiled.map_err(|source| ProtectionError {
            pattern: pattern.to_owned(),
            source: Box::new(source),
        })?;
        self.patterns.push(compiled);
        Ok(self)
    }

    /// Returns the ranges of bytes to copy, in order; of two that overlap, the first, and the longer one.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let found = self
            .patterns
            .iter()
            .flat_map(|pattern| pattern.find_iter(text));
        let mut found: Vec<Range<usize>> = found
            .map(|it| it.range())
            .filter(|it| !it.is_empty())
            .collect();
        if let Some(start) = &self.message_start {
            let starts = start.find_iter(text).map(|it| it.start());
            found.extend(closed_braces(text, starts));
        }
        found.sort_by_key(|range| (range.start, usize::MAX - range.end));
        let mut end = 0;
        found.retain(|range| {
            let is_apart = range.start >= end;
            end = if is_apart { range.end } else { end };
            is_apart
        });
        found
    }
}

/// Compiles a pattern of this file.
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this file are regular expressions")
}

/// Returns the ranges from the opening braces at `starts`, which are in order, to the ones that close them; of those that
/// are not closed, none. It reads the text once, whatever the number of braces.
fn closed_braces(text: &str, starts: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut starts = starts.peekable();
    let mut closed = Vec::new();
    // Braces that are not closed yet, and whether they are at a start.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push((at, starts.next_if_eq(&at).is_some())),
            b'}' => closed.extend(open.pop().filter(|it| it.1).map(|(start, _)| start..at + 1)),
            _ => {}
        }
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(protection: &Protection, text: &str) -> Vec<String> {
        let found = protection.find(text).into_iter();
        found.map(|range| text[range].to_owned()).collect()
    }

    #[test]
    fn placeholders_of_many_kinds_are_found() {
        let protection = Protection::placeholders();
        for placeholder in [
            "{name}",
            "{0:d}",
            "{{ count }}",
            "${HOME}",
            "#{user}",
            "%s",
            "%1$s",
            "%-5.2f",
            "%(name)s",
            "%@",
            "%%",
            "%USER%",
            "$name",
            "$1",
            ":smile:",
            "https://example.org/a?b=c&d#e",
            "www.example.org",
            "a.b+c@mail.example.org",
            "🌂",
            "👩‍👩‍👧",
            "🇩🇪",
            "☀️",
        ] {
            let text = format!("see {placeholder}, now");
            assert_eq!(found(&protection, &text), [placeholder], "{text}");
        }
    }

    #[test]
    fn times_prices_and_plain_words_are_no_placeholders() {
        let protection = Protection::placeholders();
        for text in [
            "at 10:30:15",
            "it costs $",
            "100 % of them",
            "a: b: c",
            "© 2024",
            "5 % discount",
        ] {
            assert_eq!(found(&protection, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_full_stop_behind_a_url_is_not_part_of_it() {
        let protection = Protection::placeholders();
        assert_eq!(found(&protection, "Open https://a.b/c."), ["https://a.b/c"]);
        assert_eq!(found(&protection, "(see https://a.b/c)"), ["https://a.b/c"]);
    }

    #[test]
    fn a_choice_of_icu_is_copied_as_a_whole() {
        let protection = Protection::placeholders();
        let choice = "{n, plural, =0{No dogs.} one{# dog} other{{n} dogs}}";
        assert_eq!(
            found(&protection, &format!("You have {choice} here {{x}}")),
            [choice, "{x}"]
        );
        let open = "{n, plural, one{# dog}";
        assert_eq!(found(&protection, open), ["{# dog}"]);
    }

    #[test]
    fn a_choice_inside_of_one_that_is_not_closed_is_found() {
        let protection = Protection::placeholders();
        let inner = "{n, select, a{#} other{}}";
        let text = format!("}} {{n, plural, {{ {inner} {{n, plural, x");
        assert_eq!(found(&protection, &text), [inner]);
    }

    #[test]
    fn numbers_are_found_with_their_units() {
        let protection = Protection::default().with_numbers();
        let text = "20 km/h, 5 %, €3.50, 1,000.5 kg, 3 dogs and b2b";
        assert_eq!(
            found(&protection, text),
            ["20 km/h", "5 %", "€3.50", "1,000.5 kg", "3"]
        );
    }

    #[test]
    fn of_patterns_that_overlap_the_first_and_longer_one_counts() {
        let protection = Protection::placeholders()
            .with_pattern("name")
            .expect("it is a pattern");
        assert_eq!(found(&protection, "{name} name"), ["{name}", "name"]);
    }

    #[test]
    fn a_wrong_pattern_is_named() {
        let error = Protection::default()
            .with_pattern("(")
            .expect_err("it is no pattern");
        assert!(
            error
                .to_string()
                .starts_with("`(` is no regular expression"),
            "{error}"
        );
    }
}
