//! [`Variants`]: other texts for a sentence, which a model may translate better.

use std::ops::Range;

use super::Protection;
use super::kinds::Keep;
use super::protection::Item;
use super::trial::Way;

/// Other texts for a sentence, with as many bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variants {
    /// The text in lower case, if it is in capitals.
    pub(super) lower: Option<String>,
}

impl Variants {
    /// Makes the variants of a text with its items.
    pub(crate) fn of(text: &str, items: &[Item]) -> Self {
        Self {
            lower: lower_case(text, items),
        }
    }

    /// Returns the text for a way, if it is another.
    pub(super) fn line(&self, way: Way) -> Option<&str> {
        let lower = self.lower.as_deref();
        lower.filter(|_| way == Way::LowerCase)
    }

    /// Returns a translation as the sentence is written, with as many bytes.
    pub(super) fn written(way: Way, translation: String, protection: &Protection) -> String {
        if way != Way::LowerCase {
            return translation;
        }
        let items = protection.items(&translation);
        with_case(&translation, &items, |c| same_length(c, c.to_uppercase()))
    }
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

/// Maps the characters outside of items.
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
