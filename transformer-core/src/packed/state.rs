//! [`PackedState`]: the cache of decoding.

use std::sync::Arc;

use transformer_kernels::attention::{Heads, padded};

use super::layers::PackedLinear;

/// The keys and values of the tokens decoded so far, or one vector for all of them, and those of the memory.
///
/// Each row is a target sequence. Rows that translate the same sentence share its memory, and rows with a common
/// beginning share its keys and values: selecting rows copies indices only, and the vectors of a recurrence.
///
/// Rows may have begun at different steps: new sentences [join](Self::join) those that are being decoded, and each row
/// has its own position. Data is freed when no row refers to it: the memory of a sentence with its last row, the keys
/// and values of a step with the last row that took part in it.
#[derive(Clone, Debug)]
pub struct PackedState {
    /// For each row, the memory of its sentence.
    pub(super) memories: Vec<Arc<SentenceMemory>>,
    /// For each row, the number of its tokens so far. They were decoded in the last steps.
    pub(super) lens: Vec<usize>,
    pub(super) own: OwnState,
}

/// The target tokens decoded so far, as the decoder sees them.
#[derive(Clone, Debug)]
pub(super) enum OwnState {
    /// Keys and values of self-attention.
    Steps(Steps),
    /// For each layer, the cells of a recurrence: `[rows, d_model]`.
    Vectors(Vec<Vec<f32>>),
}

/// The keys and values of the tokens decoded so far.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// For each row and each of its tokens, the row that it was in the step that decoded the token.
    pub(super) history: Vec<u32>,
    /// For each layer and step, `[rows, keys + values]`, with the rows that there were then.
    pub(super) layers: Vec<Vec<Vec<f32>>>,
}

/// The memory of a sentence as every decoder layer attends to it.
#[derive(Debug)]
pub(super) struct SentenceMemory {
    /// Number of its tokens.
    pub(super) len: usize,
    /// For each layer: the keys, for each head in blocks, and then the values `[len, values]`.
    features: Vec<f32>,
    /// The output layer for the tokens to which the translation is limited; absent if all tokens are allowed.
    pub(super) outputs: Option<LimitedOutputs>,
}

/// The output layer for some tokens.
#[derive(Debug)]
pub(super) struct LimitedOutputs {
    /// The tokens, in ascending order.
    pub(super) ids: Vec<u32>,
    pub(super) projection: PackedLinear,
}

impl SentenceMemory {
    pub(super) fn zeros(len: usize, n_layers: usize, heads: Heads) -> Self {
        Self {
            len,
            features: vec![0.0; n_layers * Self::layer_size(len, heads)],
            outputs: None,
        }
    }

    fn layer_size(len: usize, heads: Heads) -> usize {
        padded(len) * heads.keys() + len * heads.values()
    }

    /// Returns the keys and the values of a layer.
    pub(super) fn layer(&self, layer: usize, heads: Heads) -> (&[f32], &[f32]) {
        let size = Self::layer_size(self.len, heads);
        self.features[layer * size..][..size].split_at(padded(self.len) * heads.keys())
    }

    /// Returns the keys and the values of a layer, to write them.
    pub(super) fn layer_mut(&mut self, layer: usize, heads: Heads) -> (&mut [f32], &mut [f32]) {
        let size = Self::layer_size(self.len, heads);
        let n_keys = padded(self.len) * heads.keys();
        self.features[layer * size..][..size].split_at_mut(n_keys)
    }
}

impl OwnState {
    /// Keeps the given rows of those that have decoded `lens` tokens.
    fn select(&mut self, rows: &[usize], lens: &[usize]) {
        match self {
            Self::Steps(steps) => steps.select(rows, lens),
            Self::Vectors(layers) => {
                for cells in layers {
                    let width = cells.len() / lens.len().max(1);
                    let selected = rows.iter().flat_map(|row| &cells[row * width..][..width]);
                    *cells = selected.copied().collect();
                }
            }
        }
    }

    /// Appends the rows of a state in which nothing has been decoded yet.
    fn join(&mut self, new: Self) {
        match (self, new) {
            (Self::Steps(steps), Self::Steps(new)) if steps.layers.len() == new.layers.len() => {}
            (Self::Vectors(layers), Self::Vectors(new)) if layers.len() == new.len() => {
                for (cells, new) in layers.iter_mut().zip(new) {
                    cells.extend(new);
                }
            }
            _ => panic!("both states are of the same model"),
        }
    }
}

impl Steps {
    pub(super) fn new(n_layers: usize) -> Self {
        Self {
            history: Vec::new(),
            layers: vec![Vec::new(); n_layers],
        }
    }

    fn select(&mut self, rows: &[usize], lens: &[usize]) {
        let mut starts = Vec::with_capacity(lens.len());
        let mut n_before = 0;
        for len in lens {
            starts.push(n_before);
            n_before += len;
        }
        let history = rows
            .iter()
            .flat_map(|row| &self.history[starts[*row]..][..lens[*row]]);
        self.history = history.copied().collect();
        let longest = rows.iter().map(|row| lens[*row]).max().unwrap_or(0);
        for steps in &mut self.layers {
            steps.drain(..steps.len() - longest);
        }
    }

    /// Begins a step, with separate keys and values for each of the rows that have decoded `lens` tokens.
    fn begin(&mut self, lens: &[usize]) {
        let mut history = Vec::with_capacity(self.history.len() + lens.len());
        let mut rest = self.history.as_slice();
        for (row, len) in lens.iter().enumerate() {
            let (past, others) = rest.split_at(*len);
            rest = others;
            history.extend_from_slice(past);
            history.push(row as u32);
        }
        self.history = history;
    }
}

impl PackedState {
    /// Makes the state before the first token, with one row for each sentence.
    pub(super) fn new(memories: Vec<SentenceMemory>, own: OwnState) -> Self {
        Self {
            lens: vec![0; memories.len()],
            memories: memories.into_iter().map(Arc::new).collect(),
            own,
        }
    }

    /// Returns the number of rows.
    pub fn n_rows(&self) -> usize {
        self.memories.len()
    }

    /// Returns the number of target tokens of a row that have been decoded so far.
    ///
    /// # Panics
    ///
    /// Panics if the row does not exist.
    pub fn n_decoded(&self, row: usize) -> usize {
        self.lens[row]
    }

    /// Returns the number of steps with stored keys and values: those of the longest row; 0 if the decoder has a
    /// recurrence, and stores none.
    pub fn n_steps(&self) -> usize {
        match &self.own {
            OwnState::Steps(steps) => steps.layers.first().map_or(0, Vec::len),
            OwnState::Vectors(_) => 0,
        }
    }

    /// Returns the number of source tokens of a row, EOS included.
    ///
    /// # Panics
    ///
    /// Panics if the row does not exist.
    pub fn src_len(&self, row: usize) -> usize {
        self.memories[row].len
    }

    /// Returns the tokens to which a row is limited, in ascending order, special tokens first; `None` if it is not.
    ///
    /// # Panics
    ///
    /// Panics if the row does not exist.
    pub fn candidates(&self, row: usize) -> Option<&[u32]> {
        let outputs = self.memories[row].outputs.as_ref();
        outputs.map(|outputs| outputs.ids.as_slice())
    }

    /// Limits the next tokens of all rows of a sentence.
    ///
    /// # Panics
    ///
    /// Panics if the row was copied before.
    pub(super) fn limit(&mut self, row: usize, outputs: LimitedOutputs) {
        let memory = Arc::get_mut(&mut self.memories[row]);
        memory
            .expect("a new state has one row per sentence")
            .outputs = Some(outputs);
    }

    /// Keeps the given rows, in the given order; a row may be given more than once, or not at all.
    ///
    /// # Panics
    ///
    /// Panics if a row does not exist.
    pub fn select(&mut self, rows: &[usize]) {
        self.own.select(rows, &self.lens);
        self.memories = rows
            .iter()
            .map(|row| Arc::clone(&self.memories[*row]))
            .collect();
        self.lens = rows.iter().map(|row| self.lens[*row]).collect();
    }

    /// Appends the rows of a state in which nothing has been decoded yet. They are decoded together
    /// with the others from now on, and their logits are the same as without them.
    ///
    /// # Panics
    ///
    /// Panics if the other state has decoded a token, or is of a model with another number of layers.
    pub fn join(&mut self, new: Self) {
        assert!(
            new.lens.iter().all(|len| *len == 0),
            "only a state without tokens can join"
        );
        self.own.join(new.own);
        self.memories.extend(new.memories);
        self.lens.extend(new.lens);
    }

    /// Begins a step, with separate keys and values for each row.
    pub(super) fn begin_step(&mut self) {
        if let OwnState::Steps(steps) = &mut self.own {
            steps.begin(&self.lens);
        }
        for len in &mut self.lens {
            *len += 1;
        }
    }
}
