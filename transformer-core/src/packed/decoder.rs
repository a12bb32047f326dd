//! The decoder, one token per row and step.

use std::ops::Range;

use transformer_kernels::attention::{
    AttendToMemory, AttendToPast, Heads, Memory, padded, write_blocks,
};

use super::layers::{
    PackedCrossAttention, PackedDecoderLayer, PackedMixing, PackedSelfAttention, Stack,
};
use super::state::{OwnState, PackedState, SentenceMemory, Steps};
use super::workspace::Workspace;

impl Stack<PackedDecoderLayer> {
    /// Projects the keys and values of the memory in [`Workspace::x`], for all steps.
    ///
    /// `lens` are the numbers of tokens of the sentences, which follow each other in the memory.
    pub(super) fn begin(&self, lens: &[usize], workspace: &mut Workspace) -> PackedState {
        let (kernels, projected) = (&mut workspace.kernels, &mut workspace.projected);
        let (heads, n_layers) = (self.heads, self.layers.len());
        let (n_keys, width) = (heads.keys(), heads.keys() + heads.values());
        let memory = |len: &usize| SentenceMemory::zeros(*len, n_layers, heads);
        let mut memories: Vec<SentenceMemory> = lens.iter().map(memory).collect();
        for (index, layer) in self.layers.iter().enumerate() {
            layer
                .cross_attention
                .keys_values
                .forward(kernels, &workspace.x, projected);
            let mut rest = projected.as_slice();
            for memory in &mut memories {
                let len = memory.len;
                let (tokens, others) = rest.split_at(len * width);
                rest = others;
                let (keys, values) = memory.layer_mut(index, heads);
                let blocks = keys.chunks_exact_mut(padded(len) * heads.d_k);
                for (head, blocks) in blocks.enumerate() {
                    let features = &tokens[head * heads.d_k..];
                    write_blocks(features, width, heads.d_k, len, blocks);
                }
                let values = values.chunks_exact_mut(heads.values());
                for (value, token) in values.zip(tokens.chunks_exact(width)) {
                    value.copy_from_slice(&token[n_keys..]);
                }
            }
        }
        PackedState::new(memories, self.own_state(lens.len()))
    }

    pub(super) fn own_state(&self, n_rows: usize) -> OwnState {
        let vector = |layer: &PackedDecoderLayer| match &layer.mixing {
            PackedMixing::SelfAttention(_) => None,
            PackedMixing::Recurrence(it) => Some(vec![0.0; n_rows * it.width()]),
        };
        match self.layers.iter().map(vector).collect() {
            Some(vectors) => OwnState::Vectors(vectors),
            None => OwnState::Steps(Steps::new(self.layers.len())),
        }
    }

    /// Replaces the embedded tokens in [`Workspace::x`], one for each row, by the decoder's output.
    ///
    /// Records attention to the sentences if `recorded` is given.
    pub(super) fn step(
        &self,
        state: &mut PackedState,
        workspace: &mut Workspace,
        mut recorded: Option<&mut Recorded>,
    ) {
        state.begin_step();
        for (index, layer) in self.layers.iter().enumerate() {
            match (&layer.mixing, &mut state.own) {
                (PackedMixing::SelfAttention(attention), OwnState::Steps(steps)) => {
                    attention.decode(self, index, steps, &state.lens, workspace);
                }
                (PackedMixing::Recurrence(recurrence), OwnState::Vectors(cells)) => {
                    recurrence.decode(&mut cells[index], workspace);
                }
                _ => panic!("the state is of another model"),
            }
            let recorded = recorded.as_deref_mut().filter(|it| it.layer == index);
            layer
                .cross_attention
                .decode(self.heads, index, state, workspace, recorded);
            layer.feed_forward.forward(workspace);
        }
        if let Some(norm) = &self.final_norm {
            norm.forward(&mut workspace.x);
        }
    }
}

impl PackedSelfAttention {
    fn decode(
        &self,
        stack: &Stack<PackedDecoderLayer>,
        layer: usize,
        Steps { history, layers }: &mut Steps,
        lens: &[usize],
        workspace: &mut Workspace,
    ) {
        let input = self.residual.input(&workspace.x, &mut workspace.normalized);
        let (kernels, projected) = (&mut workspace.kernels, &mut workspace.projected);
        self.queries_keys_values.forward(kernels, input, projected);
        let heads = stack.heads;
        let (keys, values) = (heads.keys(), heads.values());
        let n_rows = lens.len();
        let mut step = Vec::with_capacity(n_rows * (keys + values));
        for row in projected.chunks_exact(2 * keys + values) {
            step.extend_from_slice(&row[keys..]);
        }
        let steps = &mut layers[layer];
        steps.push(step);
        let attended = &mut workspace.attended;
        attended.resize(n_rows * values, 0.0);
        let attention = AttendToPast {
            heads,
            projected,
            steps,
            history,
            lens,
            window: stack.window,
            attended,
            buffers: &mut workspace.attention,
        };
        attention.run();
        self.output
            .forward(kernels, attended, &mut workspace.output);
        self.residual.add(&mut workspace.x, &workspace.output);
    }
}

impl PackedCrossAttention {
    fn decode(
        &self,
        heads: Heads,
        layer: usize,
        state: &PackedState,
        workspace: &mut Workspace,
        mut recorded: Option<&mut Recorded>,
    ) {
        let input = self.residual.input(&workspace.x, &mut workspace.normalized);
        let (kernels, projected) = (&mut workspace.kernels, &mut workspace.projected);
        self.queries.forward(kernels, input, projected);
        let (keys, values) = (heads.keys(), heads.values());
        let attended = &mut workspace.attended;
        attended.resize(state.n_rows() * values, 0.0);
        let rows = projected
            .chunks_exact(keys)
            .zip(attended.chunks_exact_mut(values));
        for ((queries, attended), sentence) in rows.zip(&state.memories) {
            let len = sentence.len;
            let (keys, values) = sentence.layer(layer, heads);
            let memory = Memory { keys, values, len };
            let mut mean = Vec::new();
            let mut recorded_heads = 0..0;
            if let Some(recorded) = &recorded {
                mean.resize(len, 0.0);
                recorded_heads = recorded.heads.clone();
            }
            let attention = AttendToMemory {
                heads,
                queries,
                memory: &memory,
                attended,
                recorded_heads,
                mean: &mut mean,
                buffers: &mut workspace.attention,
            };
            attention.run();
            if let Some(recorded) = &mut recorded {
                recorded.weights.push(mean);
            }
        }
        self.output
            .forward(kernels, attended, &mut workspace.output);
        self.residual.add(&mut workspace.x, &workspace.output);
    }
}

/// Attention to the sentences, as the decoder computes it.
pub(super) struct Recorded {
    pub(super) layer: usize,
    /// The heads; their mean is recorded.
    pub(super) heads: Range<usize>,
    /// For each row of each step, one weight for each token of its sentence.
    pub(super) weights: Vec<Vec<f32>>,
}
