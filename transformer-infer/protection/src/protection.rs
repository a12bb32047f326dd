//! [`Protection`]: words that are copied instead of translated, such as placeholders and URLs.

use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use regex::Regex;
use transformer_text::LanguageCode;

use crate::check::{Check, Faults};
use crate::kept::is_small_number;
use crate::kinds::closed_braces;
use crate::kinds::{KINDS, Keep, Kind, MESSAGE_START, NUMBERS, pattern};

/// The text to copy: found by patterns, and kept by translations.
///
/// The model sees it. If a translation does not keep it, the search is repeated with the text as a requirement. If that
/// fails, the text is taken out of the sentence before translation, and put back by word alignments.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    /// The rules, shared by copies: each pattern has a cache.
    rules: Arc<Vec<Rule>>,
    /// The check of translations, if they are checked.
    check: Option<Check>,
}

/// An invalid regular expression.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{pattern}` is not a regular expression that the crate `regex` accepts; correct it")]
pub struct ProtectionError {
    /// The pattern.
    pub pattern: String,
    /// The error in it.
    pub source: Box<regex::Error>,
}

#[derive(Clone, Debug)]
struct Rule {
    kind: &'static Kind,
    /// The compiled pattern of the kind, or that of the user.
    regex: OnceLock<Regex>,
}

/// The kind of all rules that the table lacks. The whole match is copied, whatever groups it has.
const OTHER: &Kind = &Kind {
    name: "",
    keep: Keep::Exact,
    marks: &[],
    pattern: "",
    is_other: |_, _| false,
    examples: &[],
};

/// Text that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its bytes in the text.
    pub range: Range<usize>,
    pub keep: Keep,
}

const MAX_PATTERN_BYTES: usize = 1 << 22;

impl Protection {
    /// Copies program placeholders, choices in messages, URLs, e-mail addresses, paths, options, emoji and their codes,
    /// and keeps the digits of numbers.
    pub fn placeholders() -> Self {
        // Compiling patterns takes longer than reading most documents.
        static RULES: LazyLock<Arc<Vec<Rule>>> = LazyLock::new(|| {
            let rule = |kind| Rule::new(kind, OnceLock::new());
            Arc::new(KINDS.iter().map(rule).collect())
        });
        Self {
            rules: RULES.clone(),
            check: None,
        }
    }

    /// Adds a rule that copies numbers and their units exactly.
    #[must_use]
    pub fn with_numbers(mut self) -> Self {
        let rules = Arc::make_mut(&mut self.rules);
        rules.retain(|rule| rule.kind.keep != Keep::Digits);
        rules.push(Rule::new(OTHER, pattern(NUMBERS).into()));
        self
    }

    /// Adds a rule that copies matches of a regular expression.
    ///
    /// # Errors
    ///
    /// Returns a [`ProtectionError`] if the pattern is not a valid regular expression.
    pub fn with_pattern(mut self, pattern: &str) -> Result<Self, ProtectionError> {
        let mut builder = regex::RegexBuilder::new(pattern);
        let compiled = builder.size_limit(MAX_PATTERN_BYTES).build();
        let compiled = compiled.map_err(|source| ProtectionError {
            pattern: pattern.to_owned(),
            source: Box::new(source),
        })?;
        Arc::make_mut(&mut self.rules).push(Rule::new(OTHER, compiled.into()));
        Ok(self)
    }

    /// Also checks translations into a language. One with a [`Fault`](super::Fault) is translated again in other ways,
    /// and the one with the fewest faults is kept.
    #[must_use]
    pub fn with_check(self, target: Option<&LanguageCode>) -> Self {
        let check = Some(Check::new(target));
        Self { check, ..self }
    }

    /// Returns whether translations can be capitalized letter by letter; Turkic languages have a capital of `i` with a
    /// dot.
    pub fn can_capitalize(&self) -> bool {
        self.check.is_none_or(|check| check.can_capitalize)
    }

    /// Returns the faults of a translation; none without a check.
    pub fn faults(&self, source: &str, translation: &str) -> Faults {
        match self.check {
            Some(_) => self.faults_of(source, &self.items(source), translation),
            None => Faults::default(),
        }
    }

    /// Like [`faults`](Self::faults), given the items of the source.
    pub fn faults_of(&self, source: &str, items: &[Item], translation: &str) -> Faults {
        let check = self.check.as_ref();
        check.map_or_else(Faults::default, |check| {
            check.faults(source, items, translation, self)
        })
    }

    /// Returns the ranges of a translation's program placeholders, which are extra since all were taken out of the
    /// source.
    pub fn inventions(&self, translation: &str) -> Vec<Range<usize>> {
        let mut items = self.items(translation);
        items.retain(|it| it.keep != Keep::Digits);
        let ranges = items.into_iter().map(|it| it.range);
        let starts = |range: &Range<usize>| translation[range.clone()].starts_with(['%', '{', '$']);
        ranges.filter(starts).collect()
    }

    /// Returns the items to copy, in order; if two overlap, the first wins, then the longer one.
    pub fn items(&self, text: &str) -> Vec<Item> {
        let mut found: Vec<(Range<usize>, usize, &Kind)> = Vec::new();
        for rule in self.rules.iter() {
            let of_rule = rule.find(text).into_iter();
            found.extend(of_rule.map(|(range, end)| (range, end, rule.kind)));
        }
        let is_valid = |range: &Range<usize>, kind: &Kind| {
            let (before, rest) = text.split_at(range.start);
            !(kind.is_other)(before, rest)
        };
        // A number ends before the item that follows it: the sign of `404 %s` is not a unit.
        let others = found.iter().filter(|it| it.2.keep != Keep::Digits);
        let others = others.filter(|(range, _, kind)| is_valid(range, kind));
        let mut starts: Vec<usize> = others.map(|(range, ..)| range.start).collect();
        starts.sort_unstable();
        for (range, end, _) in found.iter_mut().filter(|it| it.2.keep == Keep::Digits) {
            let next = starts.partition_point(|start| *start <= range.start);
            if let Some(start) = starts.get(next).filter(|start| **start < range.end) {
                range.end = range.start + text[range.start..*start].trim_end().len();
                *end = range.end;
            }
        }
        found.sort_by_key(|(range, end, _)| (range.start, usize::MAX - end));
        let mut items: Vec<Item> = Vec::new();
        for (range, _, kind) in found {
            let end = items.last().map_or(0, |last| last.range.end);
            let follows = range.start == end && end > 0;
            let is_small = kind.keep == Keep::Digits && is_small_number(&text[range.clone()]);
            if range.start >= end && !is_small && (follows || is_valid(&range, kind)) {
                let keep = kind.keep;
                items.push(Item { range, keep });
            }
        }
        items
    }
}

impl Rule {
    fn new(kind: &'static Kind, regex: OnceLock<Regex>) -> Self {
        Self { kind, regex }
    }

    /// Returns the ranges to copy, and the end of the pattern's match for each.
    fn find(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let has_mark = self.kind.marks.iter().any(|mark| text.contains(mark));
        if !has_mark && !self.kind.marks.is_empty() {
            return Vec::new();
        }
        let regex = self.regex.get_or_init(|| pattern(self.kind.pattern));
        let whole = || regex.find_iter(text).map(|it| it.range());
        let with_end = |range: Range<usize>| (range.clone(), range.end);
        let mut found: Vec<(Range<usize>, usize)> = if self.kind.pattern == MESSAGE_START {
            let closed = closed_braces(text, whole().map(|it| it.start));
            closed.map(with_end).collect()
        } else if !self.kind.pattern.is_empty() && regex.captures_len() > 1 {
            let captures = regex.captures_iter(text);
            let first = captures.filter_map(|it| {
                let all = it.get(0)?;
                let group = it.iter().skip(1).flatten().next().unwrap_or(all);
                Some((group.range(), all.end()))
            });
            first.collect()
        } else {
            whole().map(with_end).collect()
        };
        found.retain(|(range, _)| !range.is_empty());
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn found(protection: &Protection, text: &str) -> Vec<String> {
        let found = protection.items(text).into_iter();
        found.map(|item| text[item.range].to_owned()).collect()
    }

    /// Returns the text that is copied unchanged, without numbers of which only the digits are kept.
    fn placeholders(text: &str) -> Vec<String> {
        let items = Protection::placeholders().items(text).into_iter();
        let exact = items.filter(|item| item.keep != Keep::Digits);
        exact.map(|item| text[item.range].to_owned()).collect()
    }

    #[test]
    fn every_example_of_the_table_is_found_whole() {
        let protection = Protection::placeholders();
        for kind in KINDS {
            for example in kind.examples {
                for text in [
                    format!("see {example}, now"),
                    format!("({example})"),
                    format!("a \"{example}\"."),
                    (*example).to_owned(),
                ] {
                    let expected = Item {
                        range: text
                            .find(example)
                            .map(|at| at..at + example.len())
                            .expect("it is there"),
                        keep: kind.keep,
                    };
                    assert_eq!(protection.items(&text), [expected], "{text}");
                }
            }
        }
    }

    #[test]
    fn every_match_has_a_mark() {
        let regexes: Vec<Regex> = KINDS.iter().map(|kind| pattern(kind.pattern)).collect();
        let examples: Vec<&str> = KINDS
            .iter()
            .flat_map(|kind| kind.examples)
            .copied()
            .collect();
        let part = (select(examples), any::<u64>()).prop_map(|(example, kept)| {
            let characters = example.chars().enumerate();
            let kept = characters.filter(|(index, _)| kept >> (index % 64) & 3 > 0);
            kept.map(|(_, character)| character).collect::<String>()
        });
        proptest!(|(parts in vec(part, 1..4), between in "[a-z1=:/% ]?")| {
            let text = parts.join(&between);
            for (kind, regex) in KINDS.iter().zip(&regexes) {
                let has_mark = kind.marks.iter().any(|mark| text.contains(mark));
                prop_assert!(has_mark || kind.marks.is_empty() || !regex.is_match(&text), "{}", kind.name);
            }
        });
    }

    #[test]
    fn the_documentation_has_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/translating.md");
        let documentation = std::fs::read_to_string(path).expect("the documentation is there");
        for kind in KINDS {
            let examples = kind.examples.iter().map(|it| match it.contains('|') {
                // This sign would end a cell of a table.
                true => format!("`{}`", it.replace('|', "\\|")),
                false => format!("`{it}`"),
            });
            let kept = match kind.keep {
                Keep::Exact => "exactly, in any order",
                Keep::InOrder => "exactly, in the source's order",
                Keep::Digits => "the digits",
                Keep::Hidden => "exactly; the model does not see it",
            };
            let row = [kind.name, &examples.collect::<Vec<_>>().join(" "), kept].join(" | ");
            assert!(documentation.contains(&format!("| {row} |")), "| {row} |");
        }
    }

    #[test]
    fn placeholders_that_touch_are_found_apart() {
        for (text, expected) in [
            ("%dx%d pixels", &["%d", "%d"][..]),
            ("{width}x{height}", &["{width}", "{height}"]),
            ("Two %s/%s dogs", &["%s", "%s"]),
            ("{a}–{b}", &["{a}", "{b}"]),
            ("%1%2", &["%1", "%2"]),
            ("%s%d", &["%s", "%d"]),
            ("%d%%", &["%d", "%%"]),
            ("%02d:%02d", &["%02d", "%02d"]),
            ("%H:%M", &["%H", "%M"]),
            ("%Y%m%d", &["%Y", "%m", "%d"]),
            ("%.1fkm", &["%.1f"]),
            ("%dpx, %dMB, %ds", &["%d", "%d", "%d"]),
            ("%sYou have %dmin, %sCTCP", &["%s", "%d", "%s"]),
            ("%s_%s.txt", &["%s", "%s"]),
            ("%s个文件", &["%s"]),
            ("%(link)ssign up%(end_link)s", &["%(link)s", "%(end_link)s"]),
            (":smile::heart:", &[":smile:", ":heart:"]),
            ("Block @{name}", &["@{name}"]),
            ("$HOME/$USER", &["$HOME", "$USER"]),
            ("Error 404 %s", &["%s"]),
            ("<b>Comments</b> %sDownloads", &["<b>", "</b>", "%s"]),
            ("Level 20 %d", &["%d"]),
            ("Top 10 $name and 20 $NAME$", &["$name", "$NAME$"]),
            ("Windows 10 %1$s, Room 15 %(name)s", &["%1$s", "%(name)s"]),
        ] {
            assert_eq!(placeholders(text), expected, "{text}");
        }
    }

    #[test]
    fn times_shares_prices_and_plain_words_are_no_placeholders() {
        for text in [
            "at 10:30:15",
            "it costs $",
            "100 % of them",
            "100% of them",
            "50 % damage",
            "50% discount",
            "5% d",
            "5 % d",
            "a: b: c",
            "© 2024",
            "5 % discount",
            "$20.50, $5,000 and US$5",
            "and/or, he/she/it, 01/02/2024, km/h",
            "one--two, well-known",
            "a @ b # c",
            "A 50% discount: %50 indirim",
            "le % d'alcool",
            "it costs $5",
            "“--And then",
            "Delete <name> if a < b > c",
            "Sa_ve a STANDARD-like 1000000km internationalization, 12 and 1234567",
        ] {
            assert_eq!(placeholders(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn numbers_are_whole_and_small_ones_are_left_to_the_model() {
        let protection = Protection::placeholders();
        for (text, expected) in [
            ("for $20.50 in", &["$20.50"][..]),
            ("$1,234.56", &["$1,234.56"]),
            ("US$5,000.", &["US$5,000"]),
            ("3.5%, 10:30, 1/2", &["3.5%", "10:30", "1/2"]),
            ("在2024年", &["2024"]),
            ("the 1990s and 2024-05-01", &["1990s", "2024-05-01"]),
            ("2 dogs, 12 men, 13 cats", &["13"]),
            ("in 2024\nA dog", &["2024"]),
            ("100\n$200", &["100", "$200"]),
        ] {
            assert_eq!(found(&protection, text), expected, "{text}");
        }
    }

    #[test]
    fn a_full_stop_behind_a_url_is_not_part_of_it() {
        assert_eq!(placeholders("Open https://a.b/c."), ["https://a.b/c"]);
        assert_eq!(placeholders("(see https://a.b/c)"), ["https://a.b/c"]);
        assert_eq!(placeholders("„https://a.b/c“"), ["https://a.b/c"]);
        assert_eq!(placeholders("(https://a.b/c_(d))"), ["https://a.b/c_(d)"]);
    }

    #[test]
    fn a_choice_of_icu_is_copied_as_a_whole() {
        let choice = "{n, plural, =0{No dogs.} one{# dog} other{{n} dogs}}";
        let text = format!("You have {choice} here {{x}}");
        assert_eq!(placeholders(&text), [choice, "{x}"]);
        assert_eq!(placeholders("{n, plural, one{# dog}"), ["{# dog}"]);
    }

    #[test]
    fn a_choice_inside_of_one_that_is_not_closed_is_found() {
        let inner = "{n, select, a{#} other{}}";
        let text = format!("}} {{n, plural, {{ {inner} {{n, plural, x");
        assert_eq!(placeholders(&text), [inner]);
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
        let protection = Protection::placeholders().with_pattern("(n)ame");
        let protection = protection.expect("it is a pattern");
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
                .starts_with("`(` is not a regular expression"),
            "{error}"
        );
    }
}
