//! Checks that a translation keeps copied text and numbers. Numbers are equal if their digits are, in any notation.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::Protection;
use crate::kinds::{Keep, pattern};
use crate::protection::Item;

/// The fault of a translation that does not keep the copied text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Something is missing.
    Missing,
    /// Nothing is missing, but there is something extra, or the order differs.
    Changed,
}

/// Returns the position of each item of a text in a translation; `None` for missing items and for numbers.
pub fn positions(text: &str, items: &[Item], translation: &str) -> Vec<Option<Range<usize>>> {
    let mut positions: Vec<Option<Range<usize>>> = vec![None; items.len()];
    let mut order: Vec<usize> = (0..items.len()).collect();
    // An item may be part of a longer one.
    order.sort_by_key(|index| usize::MAX - items[*index].range.len());
    for index in order {
        let Item { range, keep } = &items[index];
        if *keep != Keep::Digits {
            let is_used = |found: &Range<usize>| {
                let mut used = positions.iter().flatten();
                used.any(|it| it.start < found.end && found.start < it.end)
            };
            let word = &text[range.clone()];
            let found = translation.match_indices(word);
            let mut found = found.map(|(start, _)| start..start + word.len());
            positions[index] =
                found.find(|found| !is_used(found) && ends_as(text, range, translation, found));
        }
    }
    positions
}

/// Returns the fault of a translation that does not keep the items of a text; `None` if it keeps them.
pub fn loss(
    text: &str,
    items: &[Item],
    translation: &str,
    protection: &Protection,
) -> Option<Loss> {
    let positions = positions(text, items, translation);
    let is_digits = |item: &Item| item.keep == Keep::Digits;
    let is_missing = |(item, position): (&Item, &Option<_>)| position.is_none() && !is_digits(item);
    if items.iter().zip(&positions).any(is_missing)
        || lacks_digits(text, items, translation, &positions)
    {
        return Some(Loss::Missing);
    }
    let placed = items.iter().zip(&positions);
    let in_order = placed.filter(|(it, _)| it.keep == Keep::InOrder);
    let in_order = in_order.filter_map(|(item, position)| {
        let start = position.as_ref()?.start;
        Some((start, &text[item.range.clone()]))
    });
    let source: Vec<(usize, &str)> = in_order.collect();
    let mut written = source.clone();
    written.sort_unstable();
    let has_order = source.iter().zip(&written).all(|(a, b)| a.1 == b.1);
    // An item that is longer than the one found in it is a new item.
    let is_new = |item: &Item| {
        let Range { start, end } = item.range;
        let used = positions.iter().flatten();
        let n_used = used.map(|it| it.end.min(end).saturating_sub(it.start.max(start)));
        !is_digits(item) && n_used.sum::<usize>() < end - start
    };
    let has_more = protection.items(translation).iter().any(is_new);
    // If the text has conversions of printf, an extra percent sign is an error in the format.
    let strays = |text: &str, ranges: &[&Range<usize>]| {
        let signs = text.match_indices('%');
        let is_stray = |(at, _): &(usize, &str)| !ranges.iter().any(|it| it.contains(at));
        signs.filter(is_stray).count()
    };
    let exact = items.iter().filter(|item| !is_digits(item));
    let exact: Vec<&Range<usize>> = exact.map(|item| &item.range).collect();
    let used: Vec<&Range<usize>> = positions.iter().flatten().collect();
    let is_conversion = |range: &&Range<usize>| text[range.start..].starts_with('%');
    let has_strays =
        exact.iter().any(is_conversion) && strays(translation, &used) > strays(text, &exact);
    (!has_order || has_more || has_strays).then_some(Loss::Changed)
}

/// Returns whether a translation does not keep the items other than numbers.
pub fn lacks_copied(
    text: &str,
    items: &[Item],
    translation: &str,
    protection: &Protection,
) -> bool {
    let exact = items.iter().filter(|item| item.keep != Keep::Digits);
    let exact: Vec<Item> = exact.cloned().collect();
    !exact.is_empty() && loss(text, &exact, translation, protection).is_some()
}

/// Returns whether a translation lacks digits of the text that [`lacks_digits`] lets it write as words: those outside
/// its items, such as small numbers, and numbers of two digits.
pub fn lacks_small_digits(
    text: &str,
    items: &[Item],
    translation: &str,
    positions: &[Option<Range<usize>>],
) -> bool {
    let mut found = groups(&without(translation, positions.iter().flatten()));
    let numbers = items.iter().filter(|item| item.keep == Keep::Digits);
    let numbers = numbers.map(|item| &text[item.range.clone()]);
    let mut lacks_number = false;
    for number in numbers {
        let is_found = take_digits(&groups(number), &mut found);
        lacks_number |= !is_found && number.len() == 2 && number.parse::<u32>().is_ok();
    }
    let rest = without(text, items.iter().map(|item| &item.range));
    let small = groups(&rest).into_iter();
    let mut missing = small.filter(|number| !take_digits(std::slice::from_ref(number), &mut found));
    // Of conversions the translation has other digits: `3 pm` is `15 Uhr`, `2 million` `200万`.
    lacks_number || missing.any(|number| !is_converted(&rest, &number))
}

/// Returns whether a number is one of `1st`, `3 pm` and `2 million`, which may be written with other digits, or none.
fn is_converted(text: &str, number: &str) -> bool {
    const UNITS: [&str; 8] = [
        "am", "pm", "a.m", "p.m", "thousand", "million", "billion", "trillion",
    ];
    let mut places = text.match_indices(number);
    places.any(|(at, _)| {
        let after = &text[at + number.len()..];
        let is_glued = after.starts_with(char::is_alphabetic);
        let unit = after.trim_start().to_ascii_lowercase();
        is_glued || UNITS.iter().any(|name| unit.starts_with(name))
    })
}

/// Returns whether a word found in a translation touches letters only on sides where it does in the text.
fn ends_as(text: &str, range: &Range<usize>, translation: &str, found: &Range<usize>) -> bool {
    let touches = |text: &str, range: &Range<usize>| {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        let inside = &text[range.clone()];
        let (before, behind) = (&text[..range.start], &text[range.end..]);
        [
            is_word(before.chars().next_back()) && is_word(inside.chars().next()),
            is_word(behind.chars().next()) && is_word(inside.chars().next_back()),
        ]
    };
    let (text, found) = (touches(text, range), touches(translation, found));
    text.iter().zip(found).all(|(text, found)| *text || !found)
}

/// Returns whether the digits of a number were cut, glued together or left out.
///
/// Languages write the same number in different ways: with other separators, as a date in another order or with the
/// name of the month, `19th` as `XIX`, `1.5 billion` as `15亿`. So other digits are accepted, unless they are a part of
/// the number itself.
pub fn lacks_digits(
    text: &str,
    items: &[Item],
    translation: &str,
    positions: &[Option<Range<usize>>],
) -> bool {
    let numbers = items.iter().filter(|item| item.keep == Keep::Digits);
    let numbers = numbers.map(|it| &text[it.range.clone()]);
    let numbers = numbers.map(|number| (number, groups(number)));
    let mut numbers: Vec<(&str, Vec<String>)> = numbers.collect();
    if numbers.is_empty() {
        return false;
    }
    numbers.sort_by_key(|(_, groups)| usize::MAX - groups.len());
    let rest = without(translation, positions.iter().flatten());
    let mut found = groups(&rest);
    numbers.retain(|(_, number)| !take_digits(number, &mut found));
    // The other digits of the text, those of small numbers, account for the same digits in the translation.
    for other in groups(&without(text, items.iter().map(|item| &item.range))) {
        take_digits(&[other], &mut found);
    }
    let has_multiplier = rest.contains(|c| "万萬亿億千百만억천".contains(c));
    numbers.iter().any(|(text, number)| {
        let is_cut = |group: &String| is_cut(number, group);
        if found.is_empty() {
            !may_be_a_word(text)
        } else {
            !has_multiplier && (found.iter().any(is_cut) || is_other(text, number, &found))
        }
    })
}

/// Returns whether a number may be written without digits, as an ordinal, decade, time or fraction.
pub fn may_be_a_word(number: &str) -> bool {
    let is_amount = number.contains(|c: char| "€$£¥₹₩%‰.,".contains(c));
    let is_word = number.ends_with(char::is_alphabetic);
    !is_amount && (is_word || groups(number).iter().all(|group| group.len() <= 2))
}

/// Returns whether three digits or more of a number are not in a translation. Dates and decades have other forms.
fn is_other(text: &str, number: &[String], found: &[String]) -> bool {
    let is_found = |group: &String| found.iter().any(|it| it.contains(group));
    let is_lost = |group: &String| group.len() >= 3 && !is_found(group);
    number.len() < 3 && !text.ends_with(char::is_alphabetic) && number.iter().any(is_lost)
}

fn without<'a>(text: &str, ranges: impl Iterator<Item = &'a Range<usize>>) -> String {
    let mut rest = text.to_owned();
    for range in ranges {
        rest.replace_range(range.clone(), &" ".repeat(range.len()));
    }
    rest
}

/// Takes a number's groups from a translation's, in any order. A month may be a name, an hour may lack minutes.
fn take_digits(number: &[String], found: &mut Vec<String>) -> bool {
    let value = |group: &str| group.trim_start_matches('0').to_owned();
    let is_date = number.len() == 3 && number.iter().any(|group| group.len() == 4);
    let mut rest = found.clone();
    let mut missing = Vec::new();
    for group in number {
        match rest.iter().position(|it| value(it) == value(group)) {
            Some(index) => drop(rest.remove(index)),
            None => missing.push(group),
        }
    }
    let is_named = |group: &&String| group.parse().is_ok_and(|value: u32| value <= MAX_SMALL);
    // A group glued to other digits is not written as a name.
    let is_glued = |group: &str| {
        let mut longer = rest.iter().filter(|it| it.len() > group.len());
        longer.any(|it| it.starts_with(group) || it.ends_with(group))
    };
    let may_miss = match missing.as_slice() {
        [] => true,
        [group] if is_date => is_named(group) && !is_glued(group),
        [group] => number.len() > 1 && value(group).is_empty(),
        _ => false,
    };
    if may_miss {
        *found = rest;
    }
    may_miss
}

/// Returns whether a group of digits in a translation is a fragment of a number: `5` of `5,000`, `20` of `20.50`, `35`
/// of `3.5`, `202413` of `2024` and `13`. Zeros may follow: `1500` is `1.5` thousand.
fn is_cut(number: &[String], group: &String) -> bool {
    let [first, others @ ..] = number else {
        return false;
    };
    let is_start = first.len() > group.len() && first.starts_with(group.as_str());
    let all = number.concat();
    let is_longer = |rest: &str| rest.contains(|c| c != '0');
    let is_joined = number.iter().chain([&all]).any(|own| {
        let rest = group.strip_prefix(&**own);
        let rest = rest.or_else(|| group.strip_suffix(&**own));
        own.len() > 2 && rest.is_some_and(is_longer)
    });
    is_start || is_joined || (!others.is_empty() && (group == first || *group == all))
}

/// Maximum number that a translation may write as a word.
pub const MAX_SMALL: u32 = 12;

/// The digit 0 of each script with its own digits.
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xe50, 0xed0, 0x1040, 0x17e0, 0xff10,
];

/// Returns whether a number may be written as a word: it is at most 12 and stands alone or with a unit.
pub fn is_small_number(number: &str) -> bool {
    let has_sign = number.contains(|c: char| "€$£¥₹₩%‰°".contains(c));
    match groups(number).as_slice() {
        [digits] => !has_sign && digits.parse().is_ok_and(|value: u32| value <= MAX_SMALL),
        _ => false,
    }
}

/// A number in the Indian notation, with groups of two digits.
static LAKHS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u:\b\d{1,2}(?:,\d{2})+,\d{3}\b)"));

static THOUSANDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d) (\d{3}(?-u:\b))"));

/// Returns a text with no-break spaces in place of the spaces that may separate thousands.
pub fn with_joined_thousands(text: &str) -> String {
    let joined = |text: &str| THOUSANDS.replace_all(text, "$1\u{a0}$2").into_owned();
    // Matches do not overlap, so millions need a second pass.
    joined(&joined(text))
}

/// Returns the groups of digits of a text, with thousands joined: `1`, `5` and `1234`, `56` for `1.5 and 1,234.56`.
pub fn groups(text: &str) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    // True if thousands may follow the last group.
    let mut is_open = false;
    let text = LAKHS.replace_all(text, |number: &Captures<'_>| number[0].replace(',', ""));
    let mut rest = text.as_ref();
    while let Some(start) = rest.find(|c| digit(c).is_some()) {
        let between = &rest[..start];
        let run: String = rest[start..].chars().map_while(digit).collect();
        let digits = rest[start..].chars().take(run.len());
        let n_bytes: usize = digits.map(char::len_utf8).sum();
        rest = &rest[start + n_bytes..];
        let mut separator = between.chars();
        let is_separator = |c| ".,'’٬٫\u{a0}\u{202f}".contains(c);
        let separates = separator.next().is_some_and(is_separator);
        match groups.last_mut() {
            Some(group) if is_open && run.len() == 3 && separates && separator.next().is_none() => {
                group.push_str(&run);
            }
            _ => {
                is_open = run.len() <= 3 && !run.starts_with('0');
                groups.push(run);
            }
        }
    }
    groups
}

fn digit(c: char) -> Option<char> {
    let value = |zero: &u32| u32::from(c).checked_sub(*zero).filter(|it| *it < 10);
    let value = ZEROS.iter().find_map(value);
    value.and_then(|value| char::from_digit(value, 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(text: &str, translation: &str) -> Option<Loss> {
        let protection = Protection::placeholders();
        loss(text, &protection.items(text), translation, &protection)
    }

    #[test]
    fn placeholders_are_kept_once_each_and_in_order_where_they_have_no_number() {
        for (text, translation, expected) in [
            ("Rename “%s” as “%s”", "»%s« als »%s« umbenennen", None),
            ("%s of %d", "%d von %s", Some(Loss::Changed)),
            ("%1$s of %2$d", "%2$d von %1$s", None),
            ("{a} of {b}", "{b} von {a}", None),
            ("Delete %s?", "Löschen?", Some(Loss::Missing)),
            ("Delete %s?", "%s %s löschen?", Some(Loss::Changed)),
            ("Delete %s?", "%s {x} löschen?", Some(Loss::Changed)),
            ("Delete %s?", "%seite löschen?", Some(Loss::Missing)),
            ("%dx%d pixels", "%dx%d Pixel", None),
            (
                "%(link)ssign up%(end_link)s",
                "%(link)sAnmelden%(end_link)s",
                None,
            ),
            ("%d%% of %s", "%d%% von %s", None),
            ("%1$s (%2$s%%)", "%1$s (% %2$s%%)", Some(Loss::Changed)),
            ("%1$s (%2$s%%)", "%1$s (pe2%s %2$s%%)", Some(Loss::Changed)),
            ("%s and 5%", "%s und 5 %", None),
            ("$name and $name_2", "$name_2 und $name", None),
            ("Hello $name", "Hallo $name_2", Some(Loss::Missing)),
            ("--no is", "--no-color ist", Some(Loss::Changed)),
            (
                "at https://a.b/c is",
                "an https://a.b/c/de ist",
                Some(Loss::Changed),
            ),
        ] {
            assert_eq!(lost(text, translation), expected, "{text} {translation}");
        }
    }

    #[test]
    fn numbers_are_kept_in_the_notation_of_any_language() {
        for (text, translation, expected) in [
            ("for $20.50 in", "für 20,50 $ in", None),
            ("for $20.50 in", "für 20 $ in", Some(Loss::Missing)),
            ("$1,234.56", "1.234,56 $", None),
            ("$1,234.56", "$1", Some(Loss::Missing)),
            ("US$5,000", "5000 US-Dollar", None),
            ("US$5,000", "im$5", Some(Loss::Missing)),
            ("₹1,23,456", "₹123.456", None),
            ("₹1,23,456", "₹1", Some(Loss::Missing)),
            ("in 2024, 13 dogs", "im 202413 Hunde", Some(Loss::Missing)),
            ("2024-05-01, 1990", "2024-05-011990", Some(Loss::Missing)),
            ("2024-05-01, 3.5%", "2024-05-013.5%", Some(Loss::Missing)),
            ("2 dogs in 2024", "im Jahr 2 Hunde", Some(Loss::Missing)),
            ("only $5 for it", "nur 5 $ dafür", None),
            ("3.5% of", "3,5 % von", None),
            ("3.5% of", "35 % von", Some(Loss::Missing)),
            ("at 10:30", "um 10.30 Uhr", None),
            ("1/2 of it", "12 davon", Some(Loss::Missing)),
            ("on 2024-05-01", "am 01.05.2024", None),
            ("v1.2.3 of 2024", "v1.2.3 von 2024", None),
            ("in 2024", "۲۰۲۴", None),
            ("12,345,678 dogs", "12\u{a0}345\u{a0}678 Hunde", None),
            ("2 dogs", "zwei Hunde", None),
            ("the 19th century", "le XIXe siècle", None),
            ("$1.5 billion", "15亿美元", None),
            ("20,000 people", "2万人", None),
            ("at 3:00 pm", "um 15:00 Uhr", None),
            ("at 18:00", "um 18 Uhr", None),
            ("on 12/25/2024", "am 25.12.2024", None),
            ("on 2024-05-01", "am 1. Mai 2024", None),
            ("the 1990s", "20世纪90年代", None),
            ("in 2024", "im Jahr", Some(Loss::Missing)),
            ("2,833 rifles", "2.383 rifles", Some(Loss::Missing)),
            ("$989 billion", "999 bilhões", Some(Loss::Missing)),
            ("from 1918 to 1921", "de 18 a 1921", Some(Loss::Missing)),
            ("834 dogs", "18 von 34 Hunden", Some(Loss::Missing)),
            ("for $20.50 in", "für viel in", Some(Loss::Missing)),
            ("3.5% of", "ein Teil von", Some(Loss::Missing)),
            (
                "In 2024, on 2024-05-01",
                "Am 01.05.2024, im Jahr 2024",
                None,
            ),
            ("%s paid $1,234.56", "%s zahlte 1 $", Some(Loss::Missing)),
        ] {
            assert_eq!(lost(text, translation), expected, "{text} {translation}");
        }
    }
}
