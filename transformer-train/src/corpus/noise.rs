//! [`SourceNoise`]: sources in changed case and with typing errors, so that a model learns to read them.
//!
//! Belinkov and Bisk 2018, "Synthetic and Natural Noise Both Break Neural Machine Translation",
//! <https://arxiv.org/abs/1711.02173>: swapped letters and neighbors on the keyboard. As in the paper, the first and
//! the last letter of a word do not change.

use transformer_core::random::{SplitMix64, hash};
use transformer_core::text::{Tokenizer, UNK};

use crate::config::DataSettings;

/// Makes the random numbers of noise independent of all others with the same seed: "mistyped" in ASCII.
const MISTYPED: u64 = 0x6d69_7374_7970_6564;

/// Number of letters of the shortest word that gets typing errors.
const MIN_LETTERS: usize = 4;

const KEYS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

#[derive(Debug)]
pub(crate) struct SourceNoise {
    pub(crate) tokenizer: Tokenizer,
    /// The ids of the tokens that never change, in ascending order.
    pub(crate) symbols: Vec<u32>,
    /// The tags of sources, as ids. The tokenizer of a model that is trained further may split a tag into several.
    pub(crate) tags: Vec<Vec<u32>>,
    /// The probabilities of noise, and `max_len`: a source that noise would make longer is not changed.
    pub(crate) settings: DataSettings,
    pub(crate) seed: u64,
}

impl SourceNoise {
    /// Returns the source at a position of an update with noise. The result depends only on the arguments and the seed.
    /// A source with unknown tokens is not changed, because its text is lost.
    pub(super) fn apply(&self, ids: &[u32], update: u64, position: u64) -> Vec<u32> {
        if ids.contains(&UNK) {
            return ids.to_vec();
        }
        let seed = hash(hash(self.seed ^ MISTYPED, update), position);
        let mut random = SplitMix64::new(seed);
        let case = LetterCase::drawn(&self.settings, &mut random);
        let tags = self.tags.iter().filter(|tag| ids.starts_with(tag));
        let (tag, rest) = ids.split_at(tags.map(Vec::len).max().unwrap_or(0));
        let mut noisy = Vec::with_capacity(ids.len() + 4);
        noisy.extend_from_slice(tag);
        for run in rest.chunk_by(|left, right| self.is_symbol(*left) == self.is_symbol(*right)) {
            match self.is_symbol(run[0]) {
                true => noisy.extend_from_slice(run),
                false => noisy.extend(self.noisy_text(run, case, &mut random)),
            }
        }
        match noisy.len() > self.settings.max_len {
            true => ids.to_vec(),
            false => noisy,
        }
    }

    /// Returns the tokens between symbols with noise. They are not changed if the text does not change, or if the noise
    /// would produce unknown tokens or symbols.
    fn noisy_text(&self, ids: &[u32], case: LetterCase, random: &mut SplitMix64) -> Vec<u32> {
        let text = self.tokenizer.decode(ids);
        let noisy = mistyped(&case.of(&text), self.settings.noise_typos, random);
        if noisy == text {
            return ids.to_vec();
        }
        let noisy = self.tokenizer.encode(&noisy);
        let is_other = |id: &u32| *id == UNK || self.is_symbol(*id);
        match noisy.is_empty() || noisy.iter().any(is_other) {
            true => ids.to_vec(),
            false => noisy,
        }
    }

    fn is_symbol(&self, id: u32) -> bool {
        self.symbols.binary_search(&id).is_ok()
    }
}

#[derive(Clone, Copy, Debug)]
enum LetterCase {
    Kept,
    Lower,
    Upper,
}

impl LetterCase {
    fn drawn(settings: &DataSettings, random: &mut SplitMix64) -> Self {
        let drawn = random.uniform();
        if drawn < settings.noise_lowercase {
            Self::Lower
        } else if drawn < settings.noise_lowercase + settings.noise_uppercase {
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

#[derive(Clone, Copy, Debug)]
enum Typo {
    Swapped,
    Dropped,
    Doubled,
    Neighbor,
}

/// Returns a word with one error between its first and its last letter: two letters swapped, or a letter dropped,
/// doubled, or replaced by a neighbor on the keyboard. Only errors that change the word are drawn: equal letters are
/// not swapped, and a letter that is not on the keyboard has no neighbor.
fn mistyped_word(word: &str, random: &mut SplitMix64) -> Vec<char> {
    let mut chars: Vec<char> = word.chars().collect();
    let is_letter = |index: &usize| chars[*index].is_alphabetic();
    let letters: Vec<usize> = (0..chars.len()).filter(is_letter).collect();
    if letters.len() < MIN_LETTERS {
        return chars;
    }
    let inner = &letters[1..letters.len() - 1];
    let pairs = inner.windows(2).map(|pair| (pair[0], pair[1]));
    let swaps = pairs.filter(|(left, right)| chars[*left] != chars[*right]);
    let swaps: Vec<(usize, usize)> = swaps.collect();
    let with_key = inner.iter().map(|&index| (index, neighbors(chars[index])));
    let with_key = with_key.filter(|(_, neighbors)| !neighbors.is_empty());
    let with_key: Vec<(usize, Vec<char>)> = with_key.collect();

    let mut typos = vec![Typo::Dropped, Typo::Doubled];
    typos.extend((!swaps.is_empty()).then_some(Typo::Swapped));
    typos.extend((!with_key.is_empty()).then_some(Typo::Neighbor));
    match drawn(&typos, random) {
        Typo::Swapped => {
            let (left, right) = drawn(&swaps, random);
            chars.swap(*left, *right);
        }
        Typo::Dropped => {
            chars.remove(*drawn(inner, random));
        }
        Typo::Doubled => {
            let index = *drawn(inner, random);
            chars.insert(index, chars[index]);
        }
        Typo::Neighbor => {
            let (index, neighbors) = drawn(&with_key, random);
            chars[*index] = *drawn(neighbors, random);
        }
    }
    chars
}

fn drawn<'a, T>(items: &'a [T], random: &mut SplitMix64) -> &'a T {
    &items[random.below(items.len() as u64) as usize]
}

/// Returns the letters beside this one on the keyboard, in the same case; none if it is not on the keyboard.
fn neighbors(letter: char) -> Vec<char> {
    let lower = letter.to_ascii_lowercase();
    let beside = KEYS.iter().find_map(|row| {
        let index = row.find(lower)?;
        let left = row[..index].chars().next_back();
        Some(left.into_iter().chain(row[index + 1..].chars().next()))
    });
    let in_case = |found: char| match letter.is_ascii_uppercase() {
        true => found.to_ascii_uppercase(),
        false => found,
    };
    beside.into_iter().flatten().map(in_case).collect()
}

#[cfg(test)]
mod tests {
    use transformer_core::text::{TokenizerConfig, TokenizerKind};

    use super::*;

    const LINE: &str = "<2de> Two white dogs are running, x";

    /// Returns noise of sources, for a tokenizer with this configuration.
    fn noise_with(config: &TokenizerConfig, settings: DataSettings) -> SourceNoise {
        let letters = ('a'..='z').chain('A'..='Z').collect::<String>();
        let text = [LINE, LINE, "<2DE>", &letters];
        let tokenizer = Tokenizer::train(config, text).expect("it is text");
        SourceNoise {
            symbols: tokenizer.user_symbols(),
            tags: Vec::new(),
            tokenizer,
            settings,
            seed: 5,
        }
    }

    fn config(user_symbols: &[&str]) -> TokenizerConfig {
        TokenizerConfig {
            kind: TokenizerKind::Bpe,
            vocab_size: 200,
            byte_fallback: false,
            user_symbols: user_symbols.iter().map(|it| (*it).to_owned()).collect(),
            ..TokenizerConfig::default()
        }
    }

    fn settings([noise_lowercase, noise_uppercase, noise_typos]: [f64; 3]) -> DataSettings {
        DataSettings {
            noise_lowercase,
            noise_uppercase,
            noise_typos,
            ..DataSettings::default()
        }
    }

    fn noise(lowercase: f64, uppercase: f64, typos: f64) -> SourceNoise {
        let settings = settings([lowercase, uppercase, typos]);
        noise_with(&config(&["<2de>"]), settings)
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
        let mut noise = noise(0.0, 1.0, 0.0);
        assert_eq!(noise.apply(&[UNK, 9], 7, 0), [UNK, 9]);
        let ids = noise.tokenizer.encode("two dogs");
        noise.settings.max_len = 1;
        assert_eq!(noise.apply(&ids, 7, 0), ids);
    }

    #[test]
    fn a_tag_of_several_tokens_stays() {
        let mut noise = noise_with(&config(&[]), settings([0.0, 1.0, 0.0]));
        // The start of another tag.
        noise.tags = ["<2", "<2de>"]
            .map(|tag| noise.tokenizer.encode(tag))
            .into();
        assert!(noise.tags[1].len() > 1);
        assert_eq!(text(&noise, 7), "<2de> TWO WHITE DOGS ARE RUNNING, X");
    }

    #[test]
    fn noise_that_would_spell_a_symbol_is_left_out() {
        let noise = noise(1.0, 0.0, 0.0);
        let ids = noise.tokenizer.encode("<2DE> Two");
        assert!(!ids.contains(&noise.symbols[0]) && !ids.contains(&UNK));
        assert_eq!(noise.apply(&ids, 7, 0), ids);
    }

    #[test]
    fn noise_that_would_make_unknown_words_is_left_out() {
        let words = TokenizerConfig {
            kind: TokenizerKind::Word,
            ..config(&["<2de>"])
        };
        let noise = noise_with(&words, settings([0.0, 1.0, 0.0]));
        let ids = noise.tokenizer.encode(LINE);
        assert!(!ids.contains(&UNK));
        assert_eq!(noise.apply(&ids, 7, 0), ids);
    }

    #[test]
    fn text_that_noise_does_not_change_keeps_its_tokens() {
        let noise = noise(1.0, 0.0, 0.0);
        // Letters that training would merge.
        let ids: Vec<u32> = ["▁", "d", "o", "g", "s"]
            .map(|token| noise.tokenizer.id(token).expect("it is a character"))
            .into();
        assert_ne!(noise.tokenizer.encode("dogs"), ids);
        assert_eq!(noise.apply(&ids, 7, 0), ids);
    }

    #[test]
    fn every_error_changes_words_with_equal_letters_or_without_keys() {
        let mut random = SplitMix64::new(3);
        for word in ["letter", "письмо", "oooo"] {
            for _ in 0..200 {
                let noisy: String = mistyped_word(word, &mut random).into_iter().collect();
                assert_ne!(noisy, word);
            }
        }
    }

    #[test]
    fn keys_have_their_neighbors_in_the_same_case() {
        let found =
            ['q', 'G', 'm', 'ß'].map(|letter| neighbors(letter).into_iter().collect::<String>());
        assert_eq!(found, ["w", "FH", "n", ""]);
    }
}
