//! [`DecoderState`]: the decoder's cache between steps, a value that the caller owns.

use std::mem;

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::key_values::KeyValues;
use super::mask::Mask;

/// The keys and values of the tokens decoded so far, or the cells of a recurrence, and the keys and values of the
/// memory.
///
/// [`Transformer::begin`](crate::Transformer::begin) creates it, and every
/// [`Transformer::decode`](crate::Transformer::decode) appends to it. Clones are independent.
///
/// Rows that decode the same source share the keys and values of its memory, which are by far the larger part: beam
/// search stores them once per sentence, not once per hypothesis, and does not copy them when it reorders hypotheses.
#[derive(Clone, Debug)]
pub struct DecoderState {
    pub(crate) layers: Vec<LayerState>,
    /// Padding of the memory.
    pub(crate) memory_mask: Option<Mask>,
    pub(crate) n_decoded: usize,
    /// For each row of the memory, the index of its source sentence.
    sources: Vec<usize>,
    /// Number of consecutive rows, such as hypotheses of a beam, for each row of the memory.
    rows_per_memory: usize,
    device: Device,
}

#[derive(Clone, Debug)]
pub(crate) struct LayerState {
    /// The target tokens decoded so far.
    pub(crate) own: OwnState,
    /// Keys and values of the memory, projected once when decoding begins.
    pub(crate) cross_attention: KeyValues,
}

/// The target tokens decoded so far, as one layer sees them.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a state has one for each layer, and those of a model have one kind; the sizes depend on the backends"
)]
pub(crate) enum OwnState {
    /// Keys and values of self-attention; `None` before the first token.
    Steps(Option<KeyValues>),
    /// The cell of a recurrence, `[rows, d_model]`; zeros before the first token.
    Vector(Tensor<2>),
}

impl OwnState {
    fn select(self, rows: Tensor<1, Int>) -> Self {
        match self {
            Self::Steps(steps) => Self::Steps(steps.map(|it| it.select(rows))),
            Self::Vector(vector) => Self::Vector(vector.select(0, rows)),
        }
    }
}

impl DecoderState {
    /// Returns the state before the first token, with one row for each row of the memory.
    pub(crate) fn new(
        layers: Vec<LayerState>,
        memory_mask: Option<Mask>,
        n_rows: usize,
        device: Device,
    ) -> Self {
        Self {
            layers,
            memory_mask,
            n_decoded: 0,
            sources: (0..n_rows).collect(),
            rows_per_memory: 1,
            device,
        }
    }

    /// Returns the number of target tokens decoded so far.
    pub fn n_decoded(&self) -> usize {
        self.n_decoded
    }

    /// Returns the number of target sequences that are decoded.
    pub fn n_rows(&self) -> usize {
        self.sources.len() * self.rows_per_memory
    }

    pub(crate) fn rows_per_memory(&self) -> usize {
        self.rows_per_memory
    }

    /// Selects rows of the batch, in the given order; a row may occur more than once.
    ///
    /// Beam search continues its best hypotheses this way, and removes finished sentences.
    ///
    /// # Panics
    ///
    /// Panics if a row does not exist.
    #[must_use]
    pub fn select(mut self, rows: &[usize]) -> Self {
        let n_rows = self.n_rows();
        assert!(
            rows.iter().all(|row| *row < n_rows),
            "rows {rows:?} are selected, but there are {n_rows}"
        );
        let memories: Vec<usize> = rows.iter().map(|row| row / self.rows_per_memory).collect();
        let sources = memories.iter().map(|memory| self.sources[*memory]);
        let rows_per_memory = common_group_size(&sources.collect::<Vec<_>>());
        let memories: Vec<usize> = memories.into_iter().step_by(rows_per_memory).collect();
        let selected = self.selection(rows, n_rows);
        // A layer's old tensors are dropped before those of the next layer are copied: there are
        // never two whole states.
        let layers = mem::take(&mut self.layers).into_iter();
        let layers = layers.map(|layer| LayerState {
            own: match &selected {
                Some(rows) => layer.own.select(rows.clone()),
                None => layer.own,
            },
            cross_attention: layer.cross_attention,
        });
        let state = Self {
            layers: layers.collect(),
            ..self
        };
        state.select_memories(&memories, rows_per_memory)
    }

    /// Gives every row its own copy of the memory's keys and values.
    #[must_use]
    pub(crate) fn ungrouped(self) -> Self {
        if self.rows_per_memory == 1 {
            return self;
        }
        let rows_per_memory = self.rows_per_memory;
        let memories: Vec<usize> = (0..self.n_rows())
            .map(|row| row / rows_per_memory)
            .collect();
        self.select_memories(&memories, 1)
    }

    /// Selects rows of the memory.
    fn select_memories(self, memories: &[usize], rows_per_memory: usize) -> Self {
        let sources = memories
            .iter()
            .map(|memory| self.sources[*memory])
            .collect();
        let Some(selected) = self.selection(memories, self.sources.len()) else {
            return Self {
                sources,
                rows_per_memory,
                ..self
            };
        };
        let layers = self.layers.into_iter().map(|layer| LayerState {
            cross_attention: layer.cross_attention.select(selected.clone()),
            ..layer
        });
        Self {
            layers: layers.collect(),
            memory_mask: self.memory_mask.map(|mask| mask.select(selected)),
            sources,
            rows_per_memory,
            ..self
        }
    }

    /// Returns the selected rows as a tensor; `None` if they are all of the `n` rows in their present order.
    fn selection(&self, rows: &[usize], n: usize) -> Option<Tensor<1, Int>> {
        if rows.len() == n && rows.iter().enumerate().all(|(row, from)| row == *from) {
            return None;
        }
        let rows: Vec<i64> = rows.iter().map(|row| *row as i64).collect();
        let n_rows = rows.len();
        Some(Tensor::from_data(
            TensorData::new(rows, [n_rows]),
            &self.device,
        ))
    }
}

/// Returns the greatest common divisor of the lengths of all runs of equal entries; 1 if there are none.
fn common_group_size(sources: &[usize]) -> usize {
    let runs = sources.chunk_by(|a, b| a == b).map(<[usize]>::len);
    runs.fold(0, greatest_common_divisor).max(1)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::common_group_size;

    #[test]
    fn the_group_size_divides_all_runs_of_rows_of_one_source() {
        assert_eq!(common_group_size(&[0, 0, 0, 0, 2, 2, 2, 2]), 4);
        assert_eq!(common_group_size(&[0, 0, 0, 0, 2, 2]), 2);
        assert_eq!(common_group_size(&[0, 0, 0, 1]), 1);
        assert_eq!(common_group_size(&[3, 3, 1, 1, 3, 3]), 2);
        assert_eq!(common_group_size(&[]), 1);
    }
}
