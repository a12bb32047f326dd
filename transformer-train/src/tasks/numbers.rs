//! The data of the task `numbers`: English number words.

use transformer_core::random::SplitMix64;

use crate::tasks::task::{self, Split};

/// The numbers of the task are below this.
const END: u64 = 1_000_000_000;

/// All numbers below this are training data: larger numbers are composed of their words.
const ALWAYS_TRAIN: u32 = 100;

const BELOW_20: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
                        sixteen seventeen eighteen nineteen";

/// The words for 20, 30, … 90.
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";

const SCALES: [(u32, &str); 3] = [
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1000, "thousand"),
];

/// The style of a number in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberStyle {
    /// The positions of `and`.
    pub and: And,
    /// The character between tens and ones.
    pub tens: Tens,
}

/// The positions of `and` in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum And {
    /// Nowhere: `one hundred five thousand twelve`.
    Never,
    /// Before the last two digits: `one hundred five thousand and twelve`.
    Last,
    /// There and after every `hundred`, as in British English: `one hundred and five thousand and twelve`.
    Every,
}

/// The character between tens and ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tens {
    /// With a hyphen: `forty-two`.
    Hyphen,
    /// With a space: `forty two`.
    Space,
}

/// Writes a number in English words.
pub fn english(n: u32, style: NumberStyle) -> String {
    if n == 0 {
        return word(BELOW_20, 0);
    }
    let mut words = Vec::new();
    let mut rest = n;
    for (scale, name) in SCALES {
        if rest >= scale {
            let and = match style.and {
                And::Every => And::Every,
                And::Last | And::Never => And::Never,
            };
            push_below_1000(&mut words, rest / scale, NumberStyle { and, ..style });
            words.push(name.to_owned());
            rest %= scale;
        }
    }
    if !words.is_empty() && (1..100).contains(&rest) && style.and != And::Never {
        words.push("and".to_owned());
    }
    push_below_1000(&mut words, rest, style);
    words.join(" ")
}

fn push_below_1000(words: &mut Vec<String>, n: u32, style: NumberStyle) {
    let (hundreds, rest) = (n / 100, n % 100);
    if hundreds > 0 {
        words.push(word(BELOW_20, hundreds));
        words.push("hundred".to_owned());
        if rest > 0 && style.and != And::Never {
            words.push("and".to_owned());
        }
    }
    let (tens, ones) = (rest / 10, rest % 10);
    match (tens, ones) {
        (0, 0) => {}
        (0 | 1, _) => words.push(word(BELOW_20, rest)),
        (_, 0) => words.push(word(TENS, tens - 2)),
        _ => {
            let (tens, ones) = (word(TENS, tens - 2), word(BELOW_20, ones));
            match style.tens {
                Tens::Hyphen => words.push(format!("{tens}-{ones}")),
                Tens::Space => words.extend([tens, ones]),
            }
        }
    }
}

/// Returns the word at an index of a list.
fn word(list: &str, index: u32) -> String {
    let word = list.split(' ').nth(index as usize);
    word.expect("the list has all numbers").to_owned()
}

/// Draws a number of the task.
///
/// One quarter of the draws is uniform. The others draw the number of digits first, so that short numbers are frequent;
/// of these, a third sets digits to 0, so that numbers like `one million seven` are frequent.
pub(super) fn draw(draws: &mut SplitMix64) -> u32 {
    let kind = draws.below(4);
    let number = match kind {
        0 => draws.below(END),
        _ => {
            let n_digits = 1 + draws.below(9) as u32;
            let least = if n_digits == 1 {
                0
            } else {
                10_u64.pow(n_digits - 1)
            };
            least + draws.below(10_u64.pow(n_digits) - least)
        }
    };
    match kind {
        1 => with_zeros(number, draws) as u32,
        _ => number as u32,
    }
}

/// Sets each digit but the first to 0 with probability 2/3.
fn with_zeros(number: u64, draws: &mut SplitMix64) -> u64 {
    let mut unit = 1;
    let mut result = 0;
    while unit <= number {
        let digit = number / unit % 10;
        let first = number / unit < 10;
        if first || draws.below(3) == 0 {
            result += digit * unit;
        }
        unit *= 10;
    }
    result
}

/// Draws a style. Half of the styles have no `and` and, independently, half have hyphens.
pub(super) fn draw_style(draws: &mut SplitMix64) -> NumberStyle {
    let and = match draws.below(4) {
        0 => And::Last,
        1 => And::Every,
        _ => And::Never,
    };
    let tens = if draws.below(2) == 0 {
        Tens::Hyphen
    } else {
        Tens::Space
    };
    NumberStyle { and, tens }
}

pub(super) fn split_of(number: u32) -> Split {
    match number {
        0..ALWAYS_TRAIN => Split::Train,
        _ => task::split_of(u64::from(number)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AMERICAN: NumberStyle = NumberStyle {
        and: And::Never,
        tens: Tens::Hyphen,
    };
    const BRITISH: NumberStyle = NumberStyle {
        and: And::Every,
        tens: Tens::Hyphen,
    };
    const LAST: NumberStyle = NumberStyle {
        and: And::Last,
        tens: Tens::Space,
    };

    /// Parses number words of any style: each word adds or multiplies.
    fn parse(words: &str) -> Option<u32> {
        let mut total = 0;
        let mut group = 0;
        for word in words.split([' ', '-']) {
            match word {
                "and" | "zero" => {}
                "hundred" => group *= 100,
                "thousand" => {
                    total += group * 1000;
                    group = 0;
                }
                "million" => {
                    total += group * 1_000_000;
                    group = 0;
                }
                _ => group += value(word)?,
            }
        }
        Some(total + group)
    }

    fn value(word: &str) -> Option<u32> {
        let stem = |ten: u32| match ten {
            2 => "twen",
            3 => "thir",
            4 => "for",
            5 => "fif",
            6 => "six",
            7 => "seven",
            8 => "eigh",
            _ => "nine",
        };
        let ones = "one two three four five six seven eight nine ten eleven twelve";
        if let Some(at) = ones.split(' ').position(|name| name == word) {
            return Some(at as u32 + 1);
        }
        if let Some(start) = word.strip_suffix("teen") {
            return (3..10)
                .find(|&n| stem(n) == start || (n == 4 && start == "four"))
                .map(|n| 10 + n);
        }
        let start = word.strip_suffix("ty")?;
        (2..10).find(|&n| stem(n) == start).map(|n| 10 * n)
    }

    fn any_style() -> impl Strategy<Value = NumberStyle> {
        let and = proptest::sample::select(vec![And::Never, And::Last, And::Every]);
        let tens = proptest::sample::select(vec![Tens::Hyphen, Tens::Space]);
        (and, tens).prop_map(|(and, tens)| NumberStyle { and, tens })
    }

    proptest! {
        #[test]
        fn words_are_parsed_back_to_the_number(seed: u64, style in any_style()) {
            let number = draw(&mut SplitMix64::new(seed));
            let words = english(number, style);
            prop_assert_eq!(parse(&words), Some(number), "{}", words);
        }
    }

    #[test]
    fn all_numbers_below_2000_are_parsed_back() {
        for number in 0..2000 {
            assert_eq!(parse(&english(number, BRITISH)), Some(number));
        }
    }

    #[test]
    fn american_style_has_no_and() {
        let cases = [
            (0, "zero"),
            (13, "thirteen"),
            (20, "twenty"),
            (42, "forty-two"),
            (105, "one hundred five"),
            (305_217, "three hundred five thousand two hundred seventeen"),
            (1_000_007, "one million seven"),
            (900_000_000, "nine hundred million"),
        ];
        assert_eq!(
            cases.map(|(n, _)| english(n, AMERICAN)),
            cases.map(|(_, words)| words)
        );
    }

    #[test]
    fn british_style_has_and_after_every_hundred_and_before_the_last_two_digits() {
        let cases = [
            (100, "one hundred"),
            (105, "one hundred and five"),
            (1_000_007, "one million and seven"),
            (2012, "two thousand and twelve"),
            (
                305_217,
                "three hundred and five thousand two hundred and seventeen",
            ),
            (1_007_000, "one million seven thousand"),
            (
                999_999_999,
                "nine hundred and ninety-nine million nine hundred and ninety-nine thousand nine \
                 hundred and ninety-nine",
            ),
        ];
        assert_eq!(
            cases.map(|(n, _)| english(n, BRITISH)),
            cases.map(|(_, words)| words)
        );
    }

    #[test]
    fn the_style_last_has_and_before_the_last_two_digits_only() {
        let cases = [
            (
                305_217,
                "three hundred five thousand two hundred and seventeen",
            ),
            (150_042, "one hundred fifty thousand and forty two"),
            (142_000, "one hundred forty two thousand"),
        ];
        assert_eq!(
            cases.map(|(n, _)| english(n, LAST)),
            cases.map(|(_, words)| words)
        );
    }

    #[test]
    fn the_largest_u32_has_words() {
        let words = english(u32::MAX, AMERICAN);
        assert!(
            words.starts_with("four billion two hundred ninety-four million"),
            "{words}"
        );
    }

    #[test]
    fn all_numbers_of_digits_are_frequent() {
        let mut counts = [0; 9];
        for seed in 0..9000 {
            let digits = draw(&mut SplitMix64::new(seed)).to_string();
            counts[digits.len() - 1] += 1;
        }
        assert!(counts.iter().all(|&count| count > 500), "{counts:?}");
    }

    #[test]
    fn numbers_with_many_zeros_are_frequent() {
        let rich = |n: u32| n > 1_000_000 && n.to_string().matches('0').count() >= 5;
        let n_rich = (0..9000)
            .filter(|&seed| rich(draw(&mut SplitMix64::new(seed))))
            .count();
        assert!(n_rich > 300, "{n_rich}");
    }

    #[test]
    fn numbers_below_100_are_training_data() {
        assert!((0..100).all(|number| split_of(number) == Split::Train));
    }
}
