//! [`SourceNoise`]: sources in another case and with typing errors, so that a model learns to read them.
//!
//! Belinkov and Bisk 2018, "Synthetic and Natural Noise Both Break Neural Machine Translation",
//! <https://arxiv.org/abs/1711.02173>: swapped letters and neighbors on the keyboard. The
//! first and the last letter of a word stay, as there.

use transformer_core::random::{SplitMix64, hash};
use transformer_core::text::{Tokenizer, UNK};

use crate::config::Noise;

/// Makes the random numbers of noise independent of all others with the same seed: "mistyped" in
/// ASCII.
const MISTYPED: u64 = 0x6d69_7374_7970_6564;

/// Number of letters of the shortest word that gets typing errors.
const MIN_LETTERS: usize = 4;

/// The rows of a keyboard.
const KEYS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// Adds noise to sources, which are given as token ids.
#[derive(Debug)]
pub(crate) struct SourceNoise {
    pub(crate) tokenizer: Tokenizer,
    /// The ids of the tokens that stay as they are, in ascending order.
    pub(crate) symbols: Vec<u32>,
    pub(crate) noise: Noise,
    pub(crate) seed: u64,
    /// Maximum length, in tokens. Sources that noise would make longer are not changed.
    pub(crate) max_len: usize,
}

impl SourceNoise {
    /// Returns the source at a position of an update with noise. The result depends only on the
    /// arguments and the seed. A source with unknown tokens, whose text is lost, stays as it is.
    pub(super) fn apply(&self, ids: &[u32], update: u64, position: u64) -> Vec<u32> {
        if ids.contains(&UNK) {
            return ids.to_vec();
        }
        let seed = hash(hash(self.seed ^ MISTYPED, update), position);
        let mut random = SplitMix64::new(seed);
        let case = LetterCase::drawn(&self.noise, &mut random);
        let is_symbol = |id: &u32| self.symbols.binary_search(id).is_ok();
        let mut noisy = Vec::with_capacity(ids.len() + 4);
        for run in ids.chunk_by(|left, right| is_symbol(left) == is_symbol(right)) {
            match is_symbol(&run[0]) {
                true => noisy.extend_from_slice(run),
                false => {
                    let text = case.of(&self.tokenizer.decode(run));
                    let text = mistyped(&text, self.noise.typos, &mut random);
                    noisy.extend(self.tokenizer.encode(&text));
                }
            }
        }
        match noisy.is_empty() || noisy.len() > self.max_len {
            true => ids.to_vec(),
            false => noisy,
        }
    }
}

/// The case of all letters of a line.
#[derive(Clone, Copy, Debug)]
enum LetterCase {
    Kept,
    Lower,
    Upper,
}

impl LetterCase {
    fn drawn(noise: &Noise, random: &mut SplitMix64) -> Self {
        let drawn = random.uniform();
        if drawn < noise.lowercase {
            Self::Lower
        } else if drawn < noise.lowercase + noise.uppercase {
            Self::Upper
        } else {
            Self::Kept
        }
    }

    fn of(self, text: &str) -> String {
        match self {
            Self::Kept => text.to_owned(),
            Self::Lower => text.to_lowercase(),
            Self::Upper => text.to_uppercase(),
        }
    }
}

/// Returns a text in which each word has a typing error with probability `rate`.
fn mistyped(text: &str, rate: f64, random: &mut SplitMix64) -> String {
    let mut noisy = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        match random.uniform() < rate {
            true => noisy.extend(mistyped_word(word, random)),
            false => noisy.push_str(word),
        }
    }
    noisy
}

/// Returns a word with one error between its first and its last letter: two letters swapped, a
/// letter dropped, doubled, or replaced by a neighbor on the keyboard.
fn mistyped_word(word: &str, random: &mut SplitMix64) -> Vec<char> {
    let mut chars: Vec<char> = word.chars().collect();
    let is_letter = |index: &usize| chars[*index].is_alphabetic();
    let letters: Vec<usize> = (0..chars.len()).filter(is_letter).collect();
    if letters.len() < MIN_LETTERS {
        return chars;
    }
    let inner = letters.len() as u64 - 2;
    let at = |random: &mut SplitMix64, n: u64| 1 + random.below(n) as usize;
    match random.below(4) {
        0 => {
            let first = at(random, inner - 1);
            chars.swap(letters[first], letters[first + 1]);
        }
        1 => {
            chars.remove(letters[at(random, inner)]);
        }
        2 => {
            let index = letters[at(random, inner)];
            chars.insert(index, chars[index]);
        }
        _ => {
            let index = letters[at(random, inner)];
            chars[index] = neighbor(chars[index], random);
        }
    }
    chars
}

/// Returns a letter beside this one on the keyboard, in the same case; the letter itself if it has
/// no key.
fn neighbor(letter: char, random: &mut SplitMix64) -> char {
    let lower = letter.to_ascii_lowercase();
    let right = random.below(2) == 1;
    let found = KEYS.iter().find_map(|row| {
        let index = row.find(lower)?;
        let beside = match right {
            true => row[index + 1..].chars().next(),
            false => row[..index].chars().next_back(),
        };
        // At the end of a row there is one neighbor.
        beside.or_else(|| match right {
            true => row[..index].chars().next_back(),
            false => row[index + 1..].chars().next(),
        })
    });
    match found {
        Some(found) if letter.is_ascii_uppercase() => found.to_ascii_uppercase(),
        Some(found) => found,
        None => letter,
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::text::{TokenizerConfig, TokenizerKind};

    use super::*;

    const LINE: &str = "<2de> Two white dogs are running, x";

    fn noise(lowercase: f64, uppercase: f64, typos: f64) -> SourceNoise {
        let config = TokenizerConfig {
            kind: TokenizerKind::Bpe,
            vocab_size: 200,
            byte_fallback: false,
            user_symbols: vec!["<2de>".to_owned()],
            ..TokenizerConfig::default()
        };
        let letters = ('a'..='z').chain('A'..='Z').collect::<String>();
        let tokenizer = Tokenizer::train(&config, [LINE, &letters]).expect("it is text");
        SourceNoise {
            symbols: tokenizer.user_symbols(),
            tokenizer,
            noise: Noise {
                lowercase,
                uppercase,
                typos,
            },
            seed: 5,
            max_len: 99,
        }
    }

    fn text(noise: &SourceNoise, update: u64) -> String {
        let ids = noise.tokenizer.encode(LINE);
        noise.tokenizer.decode(&noise.apply(&ids, update, 3))
    }

    #[test]
    fn without_noise_the_tokens_stay() {
        let noise = noise(0.0, 0.0, 0.0);
        let ids = noise.tokenizer.encode(LINE);
        assert_eq!(noise.apply(&ids, 7, 0), ids);
    }

    #[test]
    fn the_case_of_a_whole_line_changes_but_not_that_of_a_symbol() {
        let lower = text(&noise(1.0, 0.0, 0.0), 7);
        assert_eq!(lower, "<2de> two white dogs are running, x");
        let upper = text(&noise(0.0, 1.0, 0.0), 7);
        assert_eq!(upper, "<2de> TWO WHITE DOGS ARE RUNNING, X");
    }

    #[test]
    fn an_update_has_the_same_noise_every_time_and_others_have_other_noise() {
        let noise = noise(0.3, 0.3, 0.9);
        assert_eq!(text(&noise, 7), text(&noise, 7));
        assert_ne!(text(&noise, 7), text(&noise, 8));
    }

    #[test]
    fn words_of_four_letters_get_one_error_within_them() {
        let noise = noise(0.0, 0.0, 1.0);
        for update in 0..50 {
            let noisy = text(&noise, update);
            let [tag, two, white, dogs, are, running, x] = noisy.split(' ').collect::<Vec<_>>()[..]
            else {
                panic!("{noisy}");
            };
            assert_eq!([tag, two, are, x], ["<2de>", "Two", "are", "x"]);
            for (word, noisy) in [("white", white), ("dogs", dogs), ("running,", running)] {
                assert!(word.len().abs_diff(noisy.len()) <= 1, "{noisy}");
                assert_eq!(word.chars().next(), noisy.chars().next(), "{noisy}");
                assert_eq!(word.chars().last(), noisy.chars().last(), "{noisy}");
            }
        }
    }

    #[test]
    fn the_rate_is_the_share_of_words_with_an_error() {
        let mut random = SplitMix64::new(9);
        let text = "beautiful ".repeat(4000);
        let noisy = mistyped(&text, 0.25, &mut random);
        let changed = noisy
            .split(' ')
            .filter(|it| !it.is_empty() && *it != "beautiful");
        // Binomial with mean 1000 and standard deviation 27; no error leaves this word as it is.
        assert!((860..1140).contains(&changed.count()));
    }

    #[test]
    fn a_source_with_unknown_tokens_or_too_long_with_noise_stays() {
        let noise = noise(0.0, 1.0, 0.0);
        assert_eq!(noise.apply(&[UNK, 9], 7, 0), [UNK, 9]);
        let ids = noise.tokenizer.encode("two dogs");
        let short = SourceNoise {
            max_len: 1,
            ..noise
        };
        assert_eq!(short.apply(&ids, 7, 0), ids);
    }

    #[test]
    fn keys_have_their_neighbors_in_the_same_case() {
        let mut random = SplitMix64::new(1);
        for (letter, expected) in [('q', "w"), ('G', "FH"), ('m', "n"), ('ß', "ß")] {
            for _ in 0..9 {
                assert!(expected.contains(neighbor(letter, &mut random)), "{letter}");
            }
        }
    }
}
