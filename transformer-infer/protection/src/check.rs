//! [`Check`]: the faults of a translation that can be seen without knowing the languages.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use transformer_text::{LanguageCode, is_dense};

use crate::Protection;
use crate::kept::with_joined_thousands;
use crate::kept::{lacks_copied, lacks_digits, lacks_small_digits, positions};
use crate::kinds::pattern;
use crate::protection::Item;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumIter)]
pub enum Fault {
    /// The source has letters, and the translation has neither letters nor digits.
    #[strum(to_string = "empty")]
    Empty,
    /// A placeholder, URL or other copied text is missing, or there is one too many.
    #[strum(to_string = "copied text")]
    Copied,
    /// Digits of the source are missing.
    #[strum(to_string = "numbers")]
    Numbers,
    /// Letters or words are repeated over and over.
    #[strum(to_string = "repetition")]
    Repetition,
    /// The translation is far longer or far shorter than the source.
    #[strum(to_string = "length")]
    Length,
    /// The letters are of a script that the target language does not use.
    #[strum(to_string = "script")]
    Script,
}

/// A set of faults, shown as their names with commas between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults(u8);

/// The number of doubtful translations, their faults, and the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubtful {
    /// The number of translations with faults.
    pub n: usize,
    /// All their faults.
    pub faults: Faults,
    /// The number of the first one; 0 if there is none.
    pub first: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    /// The scripts of the target language; `None` if they are unknown.
    scripts: Option<&'static Regex>,
    /// False if the capital of a letter of the language is not that of Unicode.
    pub(crate) can_capitalize: bool,
}

/// Languages, and the scripts of their letters. Languages with several scripts are absent, or have them all.
const SCRIPTS: &[(&str, &str)] = &[
    ("ru uk bg be mk ky tg mn", r"\p{Cyrillic}"),
    ("el", r"\p{Greek}"),
    ("ar fa ur ps", r"\p{Arabic}"),
    ("he yi", r"\p{Hebrew}"),
    ("hi mr ne", r"\p{Devanagari}"),
    ("bn as", r"\p{Bengali}"),
    ("pa", r"\p{Gurmukhi}\p{Arabic}"),
    ("gu", r"\p{Gujarati}"),
    ("ta", r"\p{Tamil}"),
    ("te", r"\p{Telugu}"),
    ("kn", r"\p{Kannada}"),
    ("ml", r"\p{Malayalam}"),
    ("si", r"\p{Sinhala}"),
    ("th", r"\p{Thai}"),
    ("lo", r"\p{Lao}"),
    ("my", r"\p{Myanmar}"),
    ("km", r"\p{Khmer}"),
    ("ka", r"\p{Georgian}"),
    ("hy", r"\p{Armenian}"),
    ("am ti", r"\p{Ethiopic}"),
    ("zh yue", r"\p{Han}\p{Bopomofo}"),
    ("ja", r"\p{Han}\p{Hiragana}\p{Katakana}ー"),
    ("ko", r"\p{Hangul}\p{Han}"),
    (
        "en de fr es pt it nl sv da nb nn no is fi et lv lt pl cs sk sl hr hu ro sq ca gl eu ga cy mt tr id ms vi sw tl \
         fil af eo la",
        r"\p{Latin}",
    ),
];

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let letters = SCRIPTS.iter().map(|(_, scripts)| format!("[{scripts}]"));
    letters.map(|letters| pattern(&letters)).collect()
});

/// The longest repeated span, in characters.
const MAX_PERIOD: usize = 100;

impl Check {
    pub(crate) fn new(target: Option<&LanguageCode>) -> Self {
        // A code with a script, such as `sr-Latn`, may name another than the usual one.
        let is_plain = |code: &&LanguageCode| {
            let mut parts = code.as_str().split('-').skip(1);
            parts.all(|part| part.len() != 4 || ["Hans", "Hant"].contains(&part))
        };
        let scripts = target.filter(is_plain).and_then(|code| {
            let is_of = |(languages, _): &(&str, &str)| {
                languages.split(' ').any(|known| known == code.language())
            };
            COMPILED.get(SCRIPTS.iter().position(is_of)?)
        });
        let is_turkic = |code: &LanguageCode| ["tr", "az"].contains(&code.language());
        Self {
            scripts,
            can_capitalize: !target.is_some_and(is_turkic),
        }
    }

    /// Returns the faults of a translation; `items` is the copied text of the source.
    pub(crate) fn faults(
        self,
        source: &str,
        items: &[Item],
        translation: &str,
        protection: &Protection,
    ) -> Faults {
        let lacks_text = lacks_copied(source, items, translation, protection);
        let rules = [
            (Fault::Empty, is_empty(source, translation)),
            (Fault::Copied, lacks_text),
            (Fault::Numbers, lacks_numbers(source, items, translation)),
            (Fault::Repetition, is_repetitive(source, translation)),
            (Fault::Length, has_odd_length(source, translation)),
            (Fault::Script, self.has_other_script(source, translation)),
        ];
        let found = rules.iter().filter(|(_, is_found)| *is_found);
        Faults(found.fold(0, |bits, (fault, _)| bits | 1 << *fault as u8))
    }

    fn has_other_script(self, source: &str, translation: &str) -> bool {
        let Some(scripts) = self.scripts else {
            return false;
        };
        // Names and code of the source may stay as they are.
        let words = translation.split(|c: char| !c.is_alphabetic());
        let new = words.filter(|word| !word.is_empty() && !source.contains(word));
        let (mut n_letters, mut n_own) = (0, 0);
        for word in new {
            n_letters += word.chars().count();
            n_own += scripts.find_iter(word).count();
        }
        n_letters >= 4 && n_own * 10 < n_letters
    }
}

impl Faults {
    /// Returns the faults in the order of their weight: lost text before lost copied text, and both before the number of
    /// other kinds.
    #[doc(hidden)]
    pub fn weight(self) -> (bool, bool, u32) {
        let [empty, copied] = [Fault::Empty, Fault::Copied].map(|fault| self.contains(fault));
        (empty, copied, self.0.count_ones())
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns these faults and others.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns whether there is one of a kind.
    pub fn contains(self, fault: Fault) -> bool {
        self.0 & 1 << fault as u8 != 0
    }
}

impl Doubtful {
    /// Adds a translation, unless it has no faults. Numbers rise.
    pub fn add(&mut self, number: u64, faults: Faults) {
        if faults.is_empty() {
            return;
        }
        if self.n == 0 {
            self.first = number;
        }
        self.n += 1;
        self.faults = self.faults.and(faults);
    }

    /// Returns these translations and those of another text, with the first of this one.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self {
            n: self.n + others.n,
            faults: self.faults.and(others.faults),
            ..self
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = <Fault as strum::IntoEnumIterator>::iter();
        let kinds = kinds.filter(|kind| self.contains(*kind));
        for (index, kind) in kinds.enumerate() {
            write!(f, "{}{kind}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

fn is_empty(source: &str, translation: &str) -> bool {
    source.contains(char::is_alphabetic) && !translation.contains(char::is_alphanumeric)
}

fn lacks_numbers(source: &str, items: &[Item], translation: &str) -> bool {
    // Most sentences have no digits.
    if !source.contains(char::is_numeric) {
        return false;
    }
    let lacks = |translation: &str| {
        let positions = positions(source, items, translation);
        lacks_digits(source, items, translation, &positions)
            || lacks_small_digits(source, items, translation, &positions)
    };
    // A space may be the separator of thousands, or stand between two numbers.
    lacks(translation) && lacks(&with_joined_thousands(translation))
}

fn is_repetitive(source: &str, translation: &str) -> bool {
    let ordinary = |period| if period < 3 { 4 } else { 2 };
    let n_repeats = repetitions(translation, ordinary);
    // What the source repeats, however short it is, may be repeated.
    n_repeats > 0 && n_repeats > repetitions(source, |_| 1)
}

/// Returns how many times a span with a letter occurs in succession; 0 if not more often than in `ordinary` text.
fn repetitions(text: &str, ordinary: fn(usize) -> usize) -> usize {
    let text: Vec<char> = text.chars().collect();
    let mut most = 0;
    for period in 1..=MAX_PERIOD.min(text.len() / 3) {
        let least = 1 + ordinary(period);
        let (mut n_equal, mut has_letter) = (0, false);
        for at in period..text.len() {
            if text[at] != text[at - period] {
                (n_equal, has_letter) = (0, false);
                continue;
            }
            n_equal += 1;
            has_letter |= text[at].is_alphabetic();
            let n_repeats = 1 + n_equal / period;
            if has_letter && n_repeats >= least {
                most = most.max(n_repeats);
            }
        }
    }
    most
}

fn has_odd_length(source: &str, translation: &str) -> bool {
    // Scripts without letters for sounds write about 2.5 times as much with a character.
    let weight = |c: char| if is_dense(c) { 5 } else { 2 };
    let length = |text: &str| text.chars().map(weight).sum::<usize>();
    let (src, tgt) = (length(source), length(translation));
    tgt > 4 * src + 60 || src > 5 * tgt + 60
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(target: &str, source: &str, translation: &str) -> String {
        let target: LanguageCode = target.parse().expect("a code");
        let protection = Protection::placeholders().with_check(Some(&target));
        protection.faults(source, translation).to_string()
    }

    #[test]
    fn good_translations_have_no_faults() {
        for (target, source, translation) in [
            ("de", "It costs 1,234.56 euros.", "Es kostet 1.234,56 Euro."),
            ("fr", "12,500 dogs", "12 500 chiens"),
            ("fr", "12,345,678 dogs", "12 345 678 chiens"),
            ("de", "Meet at 3 pm", "Treffen um 15 Uhr"),
            ("ja", "2 million people", "200万人"),
            ("de", "1st place", "Erster Platz"),
            (
                "de",
                "never never never never",
                "niemals niemals niemals niemals",
            ),
            ("de", "Go go go go go!", "Los los los los los!"),
            ("fa", "Page 14 of 20", "صفحهٔ ۱۴ از ۲۰"),
            ("de", "Ha ha ha ha ha!", "Ha ha ha ha ha!"),
            ("de", "See https://a.b/c", "Siehe https://a.b/c"),
            ("de", "Name .......... page", "Name .......... Seite"),
            ("ru", "OpenOffice Writer", "OpenOffice Writer"),
            ("ja", "Open the OpenOffice file", "OpenOfficeファイルを開く"),
            ("zh", "Internationalization", "国际化"),
            ("sr-Latn", "A white dog", "Beli pas"),
            ("xx", "A white dog", "Белый пёс"),
            ("de", "%d of %d", "%d von %d"),
            ("de", "OK", "In Ordnung"),
        ] {
            assert_eq!(faults(target, source, translation), "", "{translation}");
        }
    }

    #[test]
    fn each_kind_of_fault_is_found() {
        for (target, source, translation, expected) in [
            ("de", "A dog", "…", "empty"),
            ("de", "Hello %s", "Hallo", "copied text"),
            ("de", "Write to a@b.example", "Schreiben Sie", "copied text"),
            ("de", "It costs 1,234.56", "Es kostet 1.234", "numbers"),
            ("de", "Step 7 of MP3", "Schritt von MP3", "numbers"),
            ("de", "Cost", "Kossssssss", "repetition"),
            ("pt", "Go down?", "Vá DO DO DO?", "repetition"),
            ("pt", "Prove it", "Como é que é que é que", "repetition"),
            (
                "de",
                "A dog runs",
                "der Hund, der Hund, der Hund, der Hund",
                "repetition",
            ),
            ("ru", "A white dog", "Beli pas", "script"),
            ("en", "Собака бежит", "Собака", ""),
            ("en", "Собака бежит", "Пёс бежал", "script"),
        ] {
            assert_eq!(
                faults(target, source, translation),
                expected,
                "{translation}"
            );
        }
    }

    #[test]
    fn only_lengths_beyond_reason_are_faults() {
        let long: String = ('a'..='z').chain('A'..='Z').collect();
        assert_eq!(faults("de", "Dog", &long), "length");
        assert_eq!(faults("de", &long.repeat(2), "Hund"), "length");
        assert_eq!(faults("de", "A dog", "Ein recht großer, brauner Hund"), "");
    }

    #[test]
    fn several_kinds_are_named_in_one_line() {
        assert_eq!(
            faults("de", "Pay 20 to %s", "Zahlen aaaaaaaaa"),
            "copied text, numbers, repetition"
        );
    }

    #[test]
    fn without_a_check_nothing_is_a_fault() {
        let protection = Protection::placeholders();
        assert!(protection.faults("A dog", "").is_empty());
    }
}
