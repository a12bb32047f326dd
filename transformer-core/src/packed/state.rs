//! [`PackedState`]: the cache of decoding.

use std::ops::Range;

/// The keys and values of the tokens decoded so far, and those of the memory.
///
/// Each row is a target sequence. Rows that translate the same sentence share its memory, and rows
/// with a common beginning share the keys and values of it: selecting rows copies indices only.
#[derive(Clone, Debug)]
pub struct PackedState {
    pub(super) layers: Vec<LayerState>,
    /// For each sentence, the range of its tokens in the memory.
    pub(super) sentences: Vec<Range<usize>>,
    /// For each sentence, the first block of its keys.
    pub(super) first_blocks: Vec<usize>,
    /// For each row, the index of its sentence.
    pub(super) rows: Vec<usize>,
    /// `[rows, n_steps]`: for each row and step, the row of that step's keys and values.
    pub(super) history: Vec<u32>,
    pub(super) n_steps: usize,
}

/// The keys and values of one decoder layer.
#[derive(Clone, Debug, Default)]
pub(super) struct LayerState {
    /// The memory's keys, for each sentence and head in blocks.
    pub(super) memory_keys: Vec<f32>,
    /// `[memory tokens, values]`.
    pub(super) memory_values: Vec<f32>,
    /// For each step `[rows, keys + values]`, with the rows that there were then.
    pub(super) steps: Vec<Vec<f32>>,
}

impl PackedState {
    /// Returns the number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of target tokens decoded so far.
    pub fn n_decoded(&self) -> usize {
        self.n_steps
    }

    /// Returns the number of source tokens of a row, EOS included.
    pub fn src_len(&self, row: usize) -> usize {
        self.sentences[self.rows[row]].len()
    }

    /// Keeps the given rows, in the given order; a row may be given more than once, or not at all.
    ///
    /// # Panics
    ///
    /// Panics if a row does not exist.
    pub fn select(&mut self, rows: &[usize]) {
        let n_steps = self.n_steps;
        let history = rows
            .iter()
            .flat_map(|row| &self.history[row * n_steps..(row + 1) * n_steps]);
        self.history = history.copied().collect();
        self.rows = rows.iter().map(|row| self.rows[*row]).collect();
    }

    /// Begins a step: each row has keys and values of its own in it.
    pub(super) fn begin_step(&mut self) {
        let n_steps = self.n_steps;
        let mut history = Vec::with_capacity(self.rows.len() * (n_steps + 1));
        for row in 0..self.rows.len() {
            history.extend_from_slice(&self.history[row * n_steps..(row + 1) * n_steps]);
            history.push(row as u32);
        }
        self.history = history;
        self.n_steps += 1;
    }
}
