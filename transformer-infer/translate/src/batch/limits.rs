//! [`BatchLimits`]: limits of batches and lengths; [`batches_within`]: batches within a budget of padded cells.

use serde::{Deserialize, Serialize};
use transformer_core::TransformerConfig;
use transformer_search::{Request, Search};

/// Limits the size of a batch and the length of sequences.
///
/// They change only time and memory, not translations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchLimits {
    /// Maximum number of a batch's source tokens, including EOS and padding, times the beam size or the number of
    /// samples. Default 4096. A single source may exceed it.
    pub batch_tokens: usize,
    /// Maximum length of a source, in tokens without EOS; longer sources are truncated. Default 1024.
    pub max_src_len: usize,
    /// Maximum number of tokens to generate, including EOS, even if [`Search::max_len`] allows more. Default: no limit.
    pub max_tgt_len: Option<usize>,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            batch_tokens: 4096,
            max_src_len: 1024,
            max_tgt_len: None,
        }
    }
}

impl BatchLimits {
    /// Returns the default limits, lowered to the model's number of learned positions.
    pub fn for_model(config: &TransformerConfig) -> Self {
        Self::default().within(config)
    }

    /// Lowers the limits to the number of learned positions; other positional encodings have no limit.
    #[must_use]
    pub fn within(self, config: &TransformerConfig) -> Self {
        match config.position_limit() {
            None => self,
            Some(most) => Self {
                max_src_len: self.max_src_len.min(most - 1), // EOS has a position, too
                max_tgt_len: Some(self.max_tgt_len.map_or(most, |len| len.min(most))),
                ..self
            },
        }
    }

    pub(crate) fn request(&self, search: &Search, src_len: usize) -> Request {
        let request = search.request(src_len.min(self.max_src_len));
        let most = self.max_tgt_len.unwrap_or(usize::MAX);
        Request {
            max_len: request.max_len.min(most),
            ..request
        }
    }
}

/// Splits items, in the given order, into batches of at most `budget` cells, padding included.
///
/// Every item of a batch is padded to the widest one, so a batch has `items · widest` cells. Sort the items by width
/// first to reduce padding. An item that is wider than the budget is a batch by itself.
///
/// # Example
///
/// ```
/// use transformer_translate::batches_within;
///
/// let lens = [4_usize, 9, 5, 2];
/// let batches = batches_within(10, [1, 2, 0, 3], |index| lens[index]);
/// assert_eq!(batches, [vec![1], vec![2, 0], vec![3]]);
/// ```
pub fn batches_within(
    budget: usize,
    items: impl IntoIterator<Item = usize>,
    width: impl Fn(usize) -> usize,
) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut widest = 0;
    for item in items {
        let width = width(item);
        match batches.last_mut() {
            Some(batch) if (batch.len() + 1) * widest.max(width) <= budget => {
                batch.push(item);
                widest = widest.max(width);
            }
            _ => {
                batches.push(vec![item]);
                widest = width;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use transformer_core::config::Positions;

    use super::*;

    #[test]
    fn learned_positions_limit_both_lengths() {
        let config = TransformerConfig {
            positions: Positions::Learned,
            max_positions: 20,
            ..TransformerConfig::tiny(9, 9)
        };
        let limits = BatchLimits::for_model(&config);
        assert_eq!((limits.max_src_len, limits.max_tgt_len), (19, Some(20)));
    }

    #[test]
    fn sinusoids_limit_nothing() {
        let limits = BatchLimits::for_model(&TransformerConfig::tiny(9, 9));
        assert_eq!(limits, BatchLimits::default());
    }
}

#[cfg(test)]
mod budget_tests {
    use super::*;

    #[test]
    fn items_of_growing_width_are_counted_at_the_width_of_the_last() {
        // Two of five cells fill the budget; ten and thirty cells are alone, within the budget or not.
        let widths = [2, 3, 5, 10, 31];
        let batches = batches_within(12, 0..5, |index| widths[index]);
        assert_eq!(batches, [vec![0, 1], vec![2], vec![3], vec![4]]);
    }

    #[test]
    fn an_item_over_the_budget_is_a_batch_of_its_own() {
        assert_eq!(batches_within(0, [1, 0], |index| index), [[1], [0]]);
    }
}
