//! For any mangling of a sentence's words by a model, the translation has all copied text and every number once.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};

use super::doubles::{LineTranslator, translate_parts};
use crate::{DocumentLine, LineLimits, Part, Passage, Protection, Split, TranslatedLine};
use transformer_protection::kept::{groups, may_be_a_word};
use transformer_protection::kinds::{KINDS, Keep};
use transformer_protection::protection::Item;

/// A translator that drops words, moves them, or joins them to their neighbors, according to random bits.
#[derive(Clone, Debug)]
struct Mangles {
    drops: u64,
    glues: u64,
    rotates: usize,
    /// True if the translation has the required texts.
    obeys: bool,
    can_write: bool,
}

impl Mangles {
    fn translate(&self, line: &DocumentLine<'_>) -> String {
        let words: Vec<&str> = line.text.split(' ').collect();
        let mut translated = String::new();
        for at in 0..words.len() {
            let is = |bits: u64| bits >> (at % 64) & 1 == 1;
            if is(self.drops) {
                continue;
            }
            if !translated.is_empty() && !is(self.glues) {
                translated.push(' ');
            }
            translated.push_str(words[(at + self.rotates) % words.len()]);
        }
        for term in line.terms.iter().filter(|_| self.obeys) {
            if !translated.contains(term) {
                translated = format!("{translated} {term}");
            }
        }
        translated
    }
}

impl LineLimits for Mangles {
    fn can_write(&self, _: &str) -> bool {
        self.can_write
    }
}

impl LineTranslator for Mangles {
    fn translate_line(&self, line: &DocumentLine<'_>) -> TranslatedLine {
        TranslatedLine {
            text: self.translate(line),
            ..TranslatedLine::default()
        }
    }
}

fn mangles() -> impl Strategy<Value = Mangles> {
    // Half of the models keep their words apart, and some lose none.
    let glues = prop_oneof![Just(0), any::<u64>()];
    let drops = prop_oneof![1 => Just(0), 3 => any::<u64>()];
    let drawn = (drops, glues, 0..9_usize, any::<bool>(), any::<bool>());
    drawn.prop_map(|(drops, glues, rotates, obeys, can_write)| Mangles {
        drops,
        glues,
        rotates,
        obeys,
        can_write,
    })
}

/// Returns a sentence of words and copied text, some of it joined by signs or in quotes.
fn sentence() -> impl Strategy<Value = String> {
    let examples: Vec<&str> = KINDS
        .iter()
        .flat_map(|kind| kind.examples.iter().copied())
        .collect();
    let numbers = [
        "₹1,23,456",
        "1.234,56 €",
        "$20.50",
        "12.5%",
        "100 %",
        "2024-05-01",
        "31/12/2024",
        "v2.10.3",
        "1990",
        "$5",
        "1 000 000",
        "15,000",
        "£3.50",
    ];
    let examples = [examples, numbers.to_vec()].concat();
    let copied = || prop::sample::select(examples.clone()).prop_map(str::to_owned);
    let joined = (
        copied(),
        prop::sample::select(vec!["/", "-", "x", "–"]),
        copied(),
    );
    let joined = joined.prop_map(|(a, sign, b)| format!("{a}{sign}{b}"));
    let enclosed = (prop::sample::select(vec!["“”", "()", "''", "«»"]), copied());
    let enclosed = enclosed.prop_map(|(around, it)| {
        let (open, close) = around.split_at(around.len() / 2);
        format!("{open}{it}{close}")
    });
    let word = "[a-z]{2,6}[,;]?";
    let piece = prop_oneof![4 => word, 3 => copied(), 1 => joined, 1 => enclosed];
    let pieces = prop::collection::vec(piece, 1..9);
    ("[A-Z][a-z]{2,5}", pieces, "[.?!]?")
        .prop_map(|(first, pieces, end)| format!("{first} {}{end}", pieces.join(" ")))
}

static PROTECTION: LazyLock<Protection> = LazyLock::new(Protection::placeholders);

fn translate(lines: &Mangles, source: &str) -> String {
    let parts = vec![Part::Passage(Passage::plain(source))];
    translate_parts(lines, parts, Split::Sentences, &PROTECTION, &mut |_, _| ()).concat()
}

/// Returns the text that is copied exactly, in order.
fn exact(text: &str, items: &[Item]) -> Vec<String> {
    let exact = items.iter().filter(|item| item.keep != Keep::Digits);
    exact
        .map(|item| text[item.range.clone()].to_owned())
        .collect()
}

/// Checks 500 sentences and manglings, the same in every run: which of two joined texts a sign belongs to is not always
/// clear. `proptest!` would take the seed of the environment.
fn check(holds: impl Fn(&str, &str) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(500)
    });
    let result = runner.run(&(sentence(), mangles()), |(source, lines)| {
        holds(&source, &translate(&lines, &source))
    });
    result.expect("it holds for every mangling");
}

#[test]
fn what_is_copied_is_in_a_mangled_translation_once() {
    check(|source, translated| {
        let copied = exact(source, &PROTECTION.items(source));
        for text in &copied {
            let count = |of: &str| of.matches(text).count();
            let n_copied = copied.iter().filter(|it| *it == text).count();
            let found = count(translated);
            let is_kept = n_copied <= found && found <= count(source);
            prop_assert!(is_kept, "{} in {}", text, translated);
        }
        Ok(())
    });
}

#[test]
fn numbers_are_in_a_mangled_translation() {
    check(|source, translated| {
        let mut found = groups(translated);
        for item in PROTECTION.items(source) {
            let number = &source[item.range.clone()];
            if item.keep == Keep::Digits && !may_be_a_word(number) {
                for group in groups(number) {
                    let at = found.iter().position(|it| *it == group);
                    prop_assert!(at.is_some(), "{} in {}", number, translated);
                    found.remove(at.unwrap_or_default());
                }
            }
        }
        Ok(())
    });
}
