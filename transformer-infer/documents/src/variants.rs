//! [`Variants`]: other texts for a sentence, which a model may translate better.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Protection;
use super::trial::Way;
use transformer_protection::kinds::{Keep, pattern};
use transformer_protection::protection::Item;

/// Other texts for a sentence, with as many bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variants {
    /// The text in lower case, if it is in capitals.
    pub(super) lower: Option<String>,
    /// The text with round numbers, if it has others.
    pub(super) round: Option<Round>,
}

/// A text with round numbers: models keep them more often, and write them in the notation of their language.
#[derive(Clone, Debug)]
pub(super) struct Round {
    text: String,
    /// The digits of each round number, and the digits that it replaces.
    digits: Vec<(String, String)>,
}

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9]+(?:[.,'’\u{a0}\u{202f}][0-9]+)*"));

impl Variants {
    pub(crate) fn of(text: &str, items: &[Item]) -> Self {
        Self {
            lower: lower_case(text, items),
            round: Round::of(text, items),
        }
    }

    /// Returns the text for a way, if it is another.
    pub(super) fn line(&self, way: Way) -> Option<&str> {
        match way {
            Way::LowerCase => self.lower.as_deref(),
            Way::Round => self.round.as_ref().map(|round| round.text.as_str()),
            Way::Usual | Way::NoRepeats | Way::Wide => None,
        }
    }

    /// Restores the capitals or the digits of the sentence in a translation. The number of bytes stays the same.
    pub(super) fn written(&self, way: Way, translation: String, protection: &Protection) -> String {
        match (way, &self.round) {
            (Way::LowerCase, _) => {
                let items = protection.items(&translation);
                with_case(&translation, &items, |c| same_length(c, c.to_uppercase()))
            }
            (Way::Round, Some(round)) => round.with_own_digits(&translation),
            _ => translation,
        }
    }

    /// Returns whether a translation can be used, after its case and digits were restored: with round numbers, each number
    /// of the sentence must occur as often as there.
    pub(super) fn can_use(&self, way: Way, text: &str, translation: &str) -> bool {
        let round = self.round.as_ref().filter(|_| way == Way::Round);
        round.is_none_or(|round| round.is_kept(text, translation))
    }
}

impl Round {
    /// Replaces each number by a round one that the text lacks, except dates, times, ordinals, decades, and `0…`.
    fn of(text: &str, items: &[Item]) -> Option<Self> {
        let numbers = NUMBER.find_iter(text).map(|it| digits(it.as_str()));
        let mut taken: Vec<String> = numbers.collect();
        let mut round = Self {
            text: text.to_owned(),
            digits: Vec::new(),
        };
        for item in items.iter().filter(|item| item.keep == Keep::Digits) {
            let word = &text[item.range.clone()];
            let mut numbers = NUMBER.find_iter(word);
            let (Some(number), None) = (numbers.next(), numbers.next()) else {
                continue;
            };
            let own = digits(number.as_str());
            if own.starts_with('0') || word.ends_with(char::is_alphabetic) {
                continue;
            }
            let zeros = "0".repeat(own.len() - 1);
            let first = own.bytes().next().map_or(1, |first| first - b'0');
            let firsts = (0..9).map(|n| (first - 1 + n) % 9 + 1);
            let mut others = firsts.map(|first| format!("{first}{zeros}"));
            let is_round = own.trim_end_matches('0').len() <= 1;
            if let Some(other) = others.find(|it| !is_round && !taken.contains(it)) {
                let start = item.range.start + number.start();
                let with_other = with_digits(number.as_str(), &other);
                let range = start..start + number.len();
                round.text.replace_range(range, &with_other);
                taken.push(other.clone());
                round.digits.push((other, own));
            }
        }
        (!round.digits.is_empty()).then_some(round)
    }

    /// Returns a translation with the digits of the sentence, in the notation that the translation has for each number.
    fn with_own_digits(&self, translation: &str) -> String {
        let own = |number: &Captures<'_>| {
            let found = digits(&number[0]);
            let own = self.digits.iter().find(|(round, _)| *round == found);
            own.map_or(number[0].to_owned(), |(_, own)| {
                with_digits(&number[0], own)
            })
        };
        NUMBER.replace_all(translation, own).into_owned()
    }

    /// Returns whether a translation with the digits of the sentence has each of these numbers as often as the sentence.
    fn is_kept(&self, text: &str, translation: &str) -> bool {
        let count = |text, own: &String| {
            let numbers = NUMBER.find_iter(text);
            numbers.filter(|it| digits(it.as_str()) == *own).count()
        };
        let mut own = self.digits.iter().map(|(_, own)| own);
        own.all(|own| count(text, own) == count(translation, own))
    }
}

fn digits(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect()
}

fn with_digits(number: &str, digits: &str) -> String {
    let mut digits = digits.chars();
    let other = |c: char| match c.is_ascii_digit() {
        true => digits.next().unwrap_or(c),
        false => c,
    };
    number.chars().map(other).collect()
}

/// Returns a text in lower case with an initial capital, if its letters are capitals; all but those of its items. Letters
/// of scripts without capitals are none.
fn lower_case(text: &str, items: &[Item]) -> Option<String> {
    let letters = outside(text, items).filter(|c| c.is_alphabetic());
    if letters.clone().count() < 2 || !letters.clone().all(char::is_uppercase) {
        return None;
    }
    let mut is_first = true;
    Some(with_case(text, items, |c| {
        let is_initial = is_first;
        is_first &= !c.is_alphabetic();
        match is_initial {
            true => c,
            false => same_length(c, c.to_lowercase()),
        }
    }))
}

/// Returns the characters outside of the items that are copied as they are.
fn outside<'a>(text: &'a str, items: &'a [Item]) -> impl Iterator<Item = char> + Clone + 'a {
    let exact = move || items.iter().filter(|item| item.keep != Keep::Digits);
    let is_outside = move |at: usize| !exact().any(|item| item.range.contains(&at));
    let characters = text.char_indices().filter(move |(at, _)| is_outside(*at));
    characters.map(|(_, c)| c)
}

fn with_case(text: &str, items: &[Item], mut map: impl FnMut(char) -> char) -> String {
    let exact = items.iter().filter(|item| item.keep != Keep::Digits);
    let exact: Vec<&Range<usize>> = exact.map(|item| &item.range).collect();
    let characters = text.char_indices();
    let mapped = characters.map(|(at, c)| match exact.iter().any(|it| it.contains(&at)) {
        true => c,
        false => map(c),
    });
    mapped.collect()
}

/// Returns a character in another case, or the same if that takes another number of bytes.
fn same_length(c: char, mut other: impl Iterator<Item = char>) -> char {
    match (other.next(), other.next()) {
        (Some(one), None) if one.len_utf8() == c.len_utf8() => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a text with round numbers, and the digits of the text in a translation of that.
    fn round(text: &str, translation: &str) -> [String; 2] {
        let items = Protection::placeholders().items(text);
        let round = Round::of(text, &items).expect("it has numbers");
        let written = round.with_own_digits(translation);
        [round.text, written]
    }

    #[test]
    fn numbers_come_back_in_the_notation_of_the_translation() {
        let [text, written] = round("It costs $1,234.56, or 3.5%", "Custa 1.000,00 $, ou 3,0%");
        assert_eq!(text, "It costs $1,000.00, or 3.0%");
        assert_eq!(written, "Custa 1.234,56 $, ou 3,5%");
    }

    #[test]
    fn each_round_number_stands_for_one() {
        let [text, written] = round("From 1918 to 1921, 1000 of 28", "28: 1000, 3000–2000");
        assert_eq!(text, "From 2000 to 3000, 1000 of 20");
        assert_eq!(written, "28: 1000, 1921–1918");
    }

    #[test]
    fn a_translation_is_used_if_each_round_number_comes_back_once() {
        for (text, translation, is_used) in [
            ("12,345 dogs", "10.000 Hunde", true),
            ("12,345 dogs", "1万", false),
            ("At 8 pm, 28 people", "Um 20 Uhr 20 Menschen", false),
            ("28 cats and 28 dogs", "20 Katzen und 30 Hunde", true),
            ("28 cats and 28 dogs", "20 Katzen und Hunde", false),
        ] {
            let items = Protection::placeholders().items(text);
            let variants = Variants::of(text, &items);
            let round = variants.round.as_ref().expect("it has numbers");
            let written = round.with_own_digits(translation);
            assert_eq!(
                variants.can_use(Way::Round, text, &written),
                is_used,
                "{written}"
            );
        }
    }

    #[test]
    fn dates_times_placeholders_and_round_numbers_stay() {
        for text in [
            "on 2024-05-01 at 10:30",
            "%20d of 200",
            "5 dogs",
            "see #1234",
            "the 1990s and the 19th century",
            "0.5% of",
        ] {
            let items = Protection::placeholders().items(text);
            assert!(Round::of(text, &items).is_none(), "{text}");
        }
    }

    #[test]
    fn only_text_in_capitals_is_written_in_lower_case() {
        let lower = |text| lower_case(text, &[]);
        assert_eq!(lower("OPEN THE FILE").as_deref(), Some("Open the file"));
        assert_eq!(lower("ДВЕ СОБАКИ").as_deref(), Some("Две собаки"));
        for text in [
            "Open the FILE",
            "ATMで5万円",
            "USB 3 디버깅",
            "A 5",
            "شبكة WIFI",
        ] {
            assert_eq!(lower(text), None, "{text}");
        }
    }
}
