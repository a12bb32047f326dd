//! [`Survey`]: the size and the characters of a training text, from which a recipe is chosen.

use std::collections::HashMap;

use transformer_core::text::is_dense;

use crate::corpus::ParallelText;
use crate::corpus::fingerprint::SeenPairs;
use crate::error::TrainError;

/// Share of the text that the characters of [`Survey::n_characters`] make up, as in SentencePiece's
/// `character_coverage`.
const COVERAGE: f64 = 0.9995;

/// Mean tokens of a word, and mean characters of a token, with some thousands of entries.
const TOKENS_PER_WORD: f64 = 1.25;
const CHARACTERS_PER_TOKEN: f64 = 5.5;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Survey {
    /// Pairs without blank sides that differ from all others.
    pub(crate) n_pairs: u64,
    /// Tokens of the sources and of the targets, estimated.
    pub(crate) tokens: [u64; 2],
    /// The number of characters that make up nearly all of the text.
    pub(crate) n_characters: u64,
}

impl Survey {
    pub(crate) fn n_tokens(&self) -> u64 {
        self.tokens.iter().sum()
    }

    pub(crate) fn of(text: &ParallelText) -> Result<Self, TrainError> {
        let mut seen = SeenPairs::default();
        let mut counts: HashMap<char, u64> = HashMap::new();
        let mut tokens = [0.0; 2];
        for pair in text.pairs()? {
            let pair = pair?;
            let is_blank = pair.0.trim().is_empty() || pair.1.trim().is_empty();
            if is_blank || !seen.insert(&pair) {
                continue;
            }
            for (line, tokens) in [pair.0, pair.1].iter().zip(&mut tokens) {
                *tokens += tokens_of(line);
                for c in line.chars().filter(|c| !c.is_whitespace()) {
                    *counts.entry(c).or_default() += 1;
                }
            }
        }
        Ok(Self {
            n_pairs: seen.len() as u64,
            tokens: tokens.map(|it| it as u64),
            n_characters: n_covering(counts.into_values().collect()),
        })
    }
}

/// Estimates the tokens of a line. A character of a script without letters for sounds says as much as 3.5 letters.
fn tokens_of(line: &str) -> f64 {
    let weight = |c: char| if is_dense(c) { 3.5 } else { 1.0 };
    let characters: f64 = line.chars().map(weight).sum();
    let words = line.split_whitespace().count() as f64;
    (words * TOKENS_PER_WORD).max(characters / CHARACTERS_PER_TOKEN)
}

fn n_covering(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let goal = COVERAGE * counts.iter().sum::<u64>() as f64;
    let mut covered = 0;
    let mut n = 0;
    for count in counts {
        if covered as f64 >= goal {
            break;
        }
        covered += count;
        n += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_pairs_are_counted_and_their_tokens_estimated() {
        let pairs = [
            ("a dog runs", "ein Hund rennt"),
            ("a dog runs", "ein Hund rennt"),
            ("", "x"),
            ("狗在跑", "ein Hund rennt"),
        ];
        let pairs = pairs.map(|(src, tgt)| (src.to_owned(), tgt.to_owned()));
        let survey = Survey::of(&ParallelText::from_pairs(pairs.into()));
        let survey = survey.expect("the pairs are in memory");
        // 3.75 tokens for three words, and 1.9 for three Chinese characters.
        assert_eq!((survey.n_pairs, survey.tokens), (2, [5, 7]));
    }

    #[test]
    fn rare_characters_are_not_counted() {
        assert_eq!(n_covering(vec![5000, 1, 4000, 999]), 3);
        assert_eq!(n_covering(vec![1, 1, 1]), 3);
        assert_eq!(n_covering(Vec::new()), 0);
    }
}
