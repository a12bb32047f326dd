//! What a decoder remembers between steps: a value that the caller owns.

use std::mem;

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::attention::KeyValues;
use super::mask::Mask;

/// Fewest places that are held ready, once a second step shows that more will come.
const MIN_ROOM: usize = 16;

/// Holds the keys and values of the tokens decoded so far, and those of the memory.
///
/// [`Transformer::begin`](crate::Transformer::begin) makes one, and every
/// [`Transformer::decode`](crate::Transformer::decode) moves it on. Cloning it forks the search.
///
/// Rows that decode the same source share its memory, which is by far the larger part: a beam keeps one
/// copy for each sentence, not one for each hypothesis, and moves none of them when hypotheses change
/// places.
#[derive(Clone, Debug)]
pub struct DecoderState {
    pub(crate) layers: Vec<LayerState>,
    /// Of the memory's rows.
    pub(crate) memory_mask: Option<Mask>,
    pub(crate) n_decoded: usize,
    /// Which of the sources each row of the memory is of.
    sources: Vec<usize>,
    /// How many rows decode from each row of the memory, one group after the other.
    rows_per_memory: usize,
    device: Device,
}

/// Holds one decoder layer's part of the state.
#[derive(Clone, Debug)]
pub(crate) struct LayerState {
    /// Of the target tokens decoded so far; `None` before the first.
    pub(crate) self_attention: Option<KeyValues>,
    /// Of the memory: projected once, when decoding begins.
    pub(crate) cross_attention: KeyValues,
}

impl LayerState {
    /// Puts new keys and values behind those held, and returns all of them.
    pub(crate) fn extend(&mut self, later: KeyValues) -> KeyValues {
        let held = match self.self_attention.take() {
            Some(held) => extended(held, later),
            None => later,
        };
        self.self_attention = Some(held.clone());
        held
    }
}

/// Writes `later` into the room behind what is held, or into more of it, so that a step moves none but its own.
fn extended(held: KeyValues, later: KeyValues) -> KeyValues {
    let len = held.len() + later.len();
    if len <= held.room() {
        return held.written(later);
    }
    // Twice as much each time: every place is moved at most once on the average.
    let room = later.room_for((2 * held.len()).max(len).max(MIN_ROOM));
    room.written(held).written(later)
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

    /// Returns the number of rows that decode.
    pub fn n_rows(&self) -> usize {
        self.sources.len() * self.rows_per_memory
    }

    /// Returns how many rows decode from each row of the memory.
    pub(crate) fn rows_per_memory(&self) -> usize {
        self.rows_per_memory
    }

    /// Keeps the given rows of the batch, in the given order; a row may be kept more than once.
    ///
    /// This is how a beam search follows its best hypotheses, and how finished sentences leave.
    ///
    /// # Panics
    ///
    /// Panics if there is no such row.
    #[must_use]
    pub fn select(mut self, rows: &[usize]) -> Self {
        let n_rows = self.n_rows();
        assert!(
            rows.iter().all(|row| *row < n_rows),
            "the rows {rows:?} are to be kept, but there are {n_rows}"
        );
        let memories: Vec<usize> = rows.iter().map(|row| row / self.rows_per_memory).collect();
        let sources = memories.iter().map(|memory| self.sources[*memory]);
        let rows_per_memory = common_group(&sources.collect::<Vec<_>>());
        let memories: Vec<usize> = memories.into_iter().step_by(rows_per_memory).collect();
        let kept = self.kept(rows, n_rows);
        // A layer's old tensors are let go before the next one's new ones are made: never are there two whole states.
        let layers = mem::take(&mut self.layers).into_iter();
        let layers = layers.map(|layer| LayerState {
            self_attention: layer.self_attention.map(|held| match &kept {
                Some(kept) => held.select(kept.clone()),
                None => held,
            }),
            cross_attention: layer.cross_attention,
        });
        let moved = Self {
            layers: layers.collect(),
            ..self
        };
        moved.with_memories(&memories, rows_per_memory)
    }

    /// Gives every row a memory of its own.
    #[must_use]
    pub(crate) fn ungrouped(self) -> Self {
        if self.rows_per_memory == 1 {
            return self;
        }
        let rows_per_memory = self.rows_per_memory;
        let memories: Vec<usize> = (0..self.n_rows())
            .map(|row| row / rows_per_memory)
            .collect();
        self.with_memories(&memories, 1)
    }

    /// Keeps the given rows of the memory.
    fn with_memories(self, memories: &[usize], rows_per_memory: usize) -> Self {
        let sources = memories
            .iter()
            .map(|memory| self.sources[*memory])
            .collect();
        let Some(kept) = self.kept(memories, self.sources.len()) else {
            return Self {
                sources,
                rows_per_memory,
                ..self
            };
        };
        let layers = self.layers.into_iter().map(|layer| LayerState {
            cross_attention: layer.cross_attention.select(kept.clone()),
            ..layer
        });
        Self {
            layers: layers.collect(),
            memory_mask: self.memory_mask.map(|mask| mask.select(kept)),
            sources,
            rows_per_memory,
            ..self
        }
    }

    /// Returns the rows to keep as the device wants them; `None` if all of `n` stay where they are.
    fn kept(&self, rows: &[usize], n: usize) -> Option<Tensor<1, Int>> {
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

/// Returns the largest length into which all runs of equal entries can be cut.
fn common_group(sources: &[usize]) -> usize {
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
    use super::common_group;

    #[test]
    fn rows_of_one_source_share_as_far_as_all_groups_are_alike() {
        assert_eq!(common_group(&[0, 0, 0, 0, 2, 2, 2, 2]), 4);
        assert_eq!(common_group(&[0, 0, 0, 0, 2, 2]), 2);
        assert_eq!(common_group(&[0, 0, 0, 1]), 1);
        assert_eq!(common_group(&[3, 3, 1, 1, 3, 3]), 2);
        assert_eq!(common_group(&[]), 1);
    }
}
