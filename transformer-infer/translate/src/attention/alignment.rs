//! [`Alignment`]: for each word of the output, the source word with the highest attention.

use std::fmt;

use super::{Attention, Kind, LayerHead, Token};
use crate::TranslatorError;

/// The index of each token's word, if it is part of one.
pub(super) type Words = [Option<usize>];

/// Aligned pairs of words, printed in Pharaoh format: `0-0 1-2`.
///
/// Words are separated by whitespace and counted from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Indices of the source word and the output word, in the order of the output.
    pub pairs: Vec<(usize, usize)>,
}

impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (src, tgt)) in self.pairs.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            write!(f, "{separator}{src}-{tgt}")?;
        }
        Ok(())
    }
}

impl Attention {
    /// Returns the source word with the highest attention for each word of the output.
    ///
    /// The weight between two words is the sum over the tokens of both. Attention to EOS is ignored; an output word
    /// without attention to any word has no pair. Ties go to the first source word.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the layer or the head does not exist.
    pub fn alignment(&self, layer_head: LayerHead) -> Result<Alignment, TranslatorError> {
        let map = layer_head.map(self, Kind::Cross)?;
        let words = |tokens: &[Token]| tokens.iter().map(|token| token.word).collect::<Vec<_>>();
        Ok(Alignment::between(
            &words(&self.src_tokens),
            &words(&self.tgt_tokens),
            map.iter().map(Vec::as_slice),
        ))
    }
}

impl Alignment {
    /// Aligns words, given the word of every token of both sides, and the weights as one row per output token.
    pub(super) fn between<'a>(
        src_words: &Words,
        tgt_words: &Words,
        rows: impl Iterator<Item = &'a [f32]>,
    ) -> Self {
        let mut weights = vec![vec![0.0_f64; n_words(src_words)]; n_words(tgt_words)];
        for (tgt_word, row) in tgt_words.iter().zip(rows) {
            let Some(tgt_word) = tgt_word else {
                continue;
            };
            for (src_word, weight) in src_words.iter().zip(row) {
                if let Some(src_word) = src_word {
                    weights[*tgt_word][*src_word] += f64::from(*weight);
                }
            }
        }
        let pair = |(tgt_word, row): (usize, &Vec<f64>)| {
            let src_word = highest(row).filter(|index| row[*index] > 0.0)?;
            Some((src_word, tgt_word))
        };
        Self {
            pairs: weights.iter().enumerate().filter_map(pair).collect(),
        }
    }
}

fn n_words(words: &Words) -> usize {
    words.iter().flatten().max().map_or(0, |last| last + 1)
}

/// Returns the index of the first of the highest weights; `None` for an empty row.
pub(super) fn highest<T: PartialOrd>(weights: &[T]) -> Option<usize> {
    let weights = weights.iter().enumerate();
    let highest = weights.reduce(|highest, it| if it.1 > highest.1 { it } else { highest });
    highest.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{Head, Map};

    fn tokens(words: &[Option<usize>]) -> Vec<Token> {
        let token = |word: &Option<usize>| Token {
            text: String::new(),
            id: 9,
            word: *word,
        };
        words.iter().map(token).collect()
    }

    fn attention(src: &[Option<usize>], tgt: &[Option<usize>], cross: Vec<Vec<Map>>) -> Attention {
        Attention {
            src: String::new(),
            tgt: String::new(),
            src_tokens: tokens(src),
            tgt_tokens: tokens(tgt),
            encoder: Vec::new(),
            decoder: Vec::new(),
            cross,
        }
    }

    fn aligned(attention: &Attention) -> String {
        let alignment = attention.alignment(LayerHead::default());
        alignment.expect("the default needs one layer").to_string()
    }

    /// Three words and EOS; output word `i` attends to source word `order[i]`.
    fn three_words(order: [usize; 3]) -> Attention {
        let mut map = vec![vec![0.1; 4]; 4];
        for (row, column) in order.into_iter().chain([3]).enumerate() {
            map[row][column] = 0.7;
        }
        let words = [Some(0), Some(1), Some(2), None];
        attention(&words, &words, vec![vec![map]])
    }

    #[test]
    fn a_copy_is_aligned_word_for_word() {
        assert_eq!(aligned(&three_words([0, 1, 2])), "0-0 1-1 2-2");
    }

    #[test]
    fn pairs_are_in_the_order_of_the_output() {
        assert_eq!(aligned(&three_words([2, 0, 1])), "2-0 0-1 1-2");
    }

    #[test]
    fn the_weights_of_the_tokens_of_a_source_word_are_added() {
        // The first source word has two tokens of weight 0.3, the second has one of 0.4.
        let map = vec![vec![0.3, 0.3, 0.4]];
        let words = [Some(0), Some(0), Some(1)];
        assert_eq!(
            aligned(&attention(&words, &[Some(0)], vec![vec![map]])),
            "0-0"
        );
    }

    #[test]
    fn the_weights_of_the_tokens_of_an_output_word_are_added() {
        let map = vec![vec![0.6, 0.4], vec![0.1, 0.9]];
        let attention = attention(&[Some(0), Some(1)], &[Some(0), Some(0)], vec![vec![map]]);
        assert_eq!(aligned(&attention), "1-0");
    }

    #[test]
    fn attention_to_eos_is_ignored() {
        let map = vec![vec![0.01, 0.02, 0.97]];
        let words = [Some(0), Some(1), None];
        assert_eq!(
            aligned(&attention(&words, &[Some(0)], vec![vec![map]])),
            "1-0"
        );
    }

    #[test]
    fn a_word_without_attention_to_a_word_has_no_pair() {
        let map = vec![vec![0.0, 1.0], vec![1.0, 0.0]];
        let attention = attention(&[Some(0), None], &[Some(0), Some(1)], vec![vec![map]]);
        assert_eq!(aligned(&attention), "0-1");
    }

    #[test]
    fn the_selected_head_decides() {
        let heads = vec![vec![vec![0.9, 0.1]], vec![vec![0.2, 0.8]]];
        let attention = attention(&[Some(0), Some(1)], &[Some(0)], vec![heads]);
        let of_head = |head| {
            let layer_head = LayerHead {
                layer: Some(1),
                head,
            };
            attention
                .alignment(layer_head)
                .expect("there are two heads")
                .pairs
        };
        assert_eq!(of_head(Head::One(1)), [(0, 0)]);
        assert_eq!(of_head(Head::One(2)), [(1, 0)]);
        assert_eq!(of_head(Head::Mean), [(0, 0)]);
    }

    #[test]
    fn an_empty_output_has_no_pair() {
        let map = vec![vec![0.5, 0.5]];
        let attention = attention(&[Some(0), None], &[None], vec![vec![map]]);
        assert_eq!(aligned(&attention), "");
    }
}
