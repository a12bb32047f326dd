//! The decoder, one token per row and step.

use pulp::{Simd, WithSimd};

use super::attention::{
    BLOCK, Heads, Rows, Strided, dot, padded, score_blocks, softmax, weighted_sum, write_blocks,
};
use super::layers::{PackedCrossAttention, PackedDecoderLayer, PackedSelfAttention, Stack};
use super::products::{AttentionBuffers, Workspace};
use super::state::{LayerState, PackedState};
use crate::cpu::instruction_set;

impl Stack<PackedDecoderLayer> {
    /// Projects the keys and values of the memory in [`Workspace::x`], for all steps.
    pub(super) fn begin(&self, state: &mut PackedState, workspace: &mut Workspace) {
        let Workspace {
            kernels,
            x,
            projected,
            ..
        } = workspace;
        let heads = self.heads;
        let (keys, values) = (heads.keys(), heads.values());
        for layer in &self.layers {
            layer
                .cross_attention
                .keys_values
                .forward(kernels, x, projected);
            let n_tokens = projected.len() / (keys + values);
            let n_blocks: usize = state
                .sentences
                .iter()
                .map(|it| padded(it.len()) / BLOCK)
                .sum();
            let mut layer_state = LayerState {
                memory_keys: vec![0.0; n_blocks * BLOCK * keys],
                memory_values: Vec::with_capacity(n_tokens * values),
                steps: Vec::new(),
            };
            for (sentence, first) in state.sentences.iter().zip(&state.first_blocks) {
                let len = sentence.len();
                let tokens =
                    &projected[sentence.start * (keys + values)..sentence.end * (keys + values)];
                let size = padded(len) * heads.d_k;
                let blocks =
                    &mut layer_state.memory_keys[first * BLOCK * keys..][..padded(len) * keys];
                for (head, blocks) in blocks.chunks_exact_mut(size).enumerate() {
                    write_blocks(
                        &tokens[head * heads.d_k..],
                        keys + values,
                        heads.d_k,
                        len,
                        blocks,
                    );
                }
            }
            for token in projected.chunks_exact(keys + values) {
                layer_state.memory_values.extend_from_slice(&token[keys..]);
            }
            state.layers.push(layer_state);
        }
    }

    /// Replaces the embedded tokens in [`Workspace::x`], one for each row, by the decoder's output.
    ///
    /// Adds the mean over the heads of the last layer's attention to `attention`, if given: for each
    /// row, one weight for each token of its sentence.
    pub(super) fn step(
        &self,
        state: &mut PackedState,
        workspace: &mut Workspace,
        mut attention: Option<&mut Vec<Vec<f32>>>,
    ) {
        state.begin_step();
        for (index, layer) in self.layers.iter().enumerate() {
            layer.self_attention.decode(self, index, state, workspace);
            let is_last = index + 1 == self.layers.len();
            let recorded = attention.as_deref_mut().filter(|_| is_last);
            layer.cross_attention.decode(
                self.heads,
                &state.layers[index],
                state,
                workspace,
                recorded,
            );
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
        state: &mut PackedState,
        workspace: &mut Workspace,
    ) {
        let Workspace {
            kernels,
            x,
            normalized,
            projected,
            attended,
            output,
            attention,
            ..
        } = workspace;
        let input = self.residual.input(x, normalized);
        self.queries_keys_values.forward(kernels, input, projected);
        let heads = stack.heads;
        let (keys, values) = (heads.keys(), heads.values());
        let mut step = Vec::with_capacity(state.rows.len() * (keys + values));
        for row in projected.chunks_exact(2 * keys + values) {
            step.extend_from_slice(&row[keys..]);
        }
        let n_steps = state.n_steps;
        let steps = &mut state.layers[layer].steps;
        steps.push(step);
        attended.resize(state.rows.len() * values, 0.0);
        let window = stack
            .window
            .map_or(n_steps, |window| window.saturating_add(1));
        instruction_set().dispatch(AttendToPast {
            heads,
            projected,
            steps,
            history: &state.history,
            n_steps,
            first: n_steps.saturating_sub(window),
            attended,
            buffers: attention,
        });
        self.output.forward(kernels, attended, output);
        self.residual.add(x, output);
    }
}

impl PackedCrossAttention {
    fn decode(
        &self,
        heads: Heads,
        layer: &LayerState,
        state: &PackedState,
        workspace: &mut Workspace,
        mut recorded: Option<&mut Vec<Vec<f32>>>,
    ) {
        let Workspace {
            kernels,
            x,
            normalized,
            projected,
            attended,
            output,
            attention,
            ..
        } = workspace;
        let input = self.residual.input(x, normalized);
        self.queries.forward(kernels, input, projected);
        let (keys, values) = (heads.keys(), heads.values());
        attended.resize(state.rows.len() * values, 0.0);
        let rows = projected
            .chunks_exact(keys)
            .zip(attended.chunks_exact_mut(values));
        for ((queries, attended), sentence) in rows.zip(&state.rows) {
            let tokens = state.sentences[*sentence].clone();
            let first_block = state.first_blocks[*sentence];
            let memory = Memory {
                keys: &layer.memory_keys[first_block * BLOCK * keys..]
                    [..padded(tokens.len()) * keys],
                values: &layer.memory_values[tokens.start * values..tokens.end * values],
                len: tokens.len(),
            };
            let mut mean = Vec::new();
            if recorded.is_some() {
                mean.resize(tokens.len(), 0.0);
            }
            instruction_set().dispatch(AttendToMemory {
                heads,
                queries,
                memory: &memory,
                attended,
                mean: &mut mean,
                buffers: attention,
            });
            if let Some(recorded) = &mut recorded {
                recorded.push(mean);
            }
        }
        self.output.forward(kernels, attended, output);
        self.residual.add(x, output);
    }
}

/// The keys and values of one sentence in one layer.
struct Memory<'a> {
    /// For each head in blocks.
    keys: &'a [f32],
    /// `[len, values]`.
    values: &'a [f32],
    len: usize,
}

/// The keys and values of the past of one row.
struct Past<'a> {
    /// For each step `[rows, width]`.
    steps: &'a [Vec<f32>],
    /// For each step, the row of that step.
    rows: &'a [u32],
    width: usize,
    /// The first feature that is returned.
    offset: usize,
}

impl Rows for Past<'_> {
    #[inline(always)]
    fn row(&self, step: usize) -> &[f32] {
        &self.steps[step][self.rows[step] as usize * self.width + self.offset..]
    }
}

/// Attends from each row to its tokens so far.
struct AttendToPast<'a> {
    heads: Heads,
    /// `[rows, keys + keys + values]`: queries, keys and values.
    projected: &'a [f32],
    /// For each step `[rows, keys + values]`.
    steps: &'a [Vec<f32>],
    /// `[rows, n_steps]`.
    history: &'a [u32],
    n_steps: usize,
    /// The first step that is within the window.
    first: usize,
    /// `[rows, values]`.
    attended: &'a mut [f32],
    buffers: &'a mut AttentionBuffers,
}

impl WithSimd for AttendToPast<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Heads { n_heads, d_k, d_v } = self.heads;
        let (keys, values) = (self.heads.keys(), self.heads.values());
        let scale = self.heads.scale();
        let len = self.n_steps - self.first;
        let AttentionBuffers { query, scores, .. } = self.buffers;
        query.resize(keys, 0.0);
        scores.resize(n_heads * len, 0.0);
        let rows = self.projected.chunks_exact(2 * keys + values);
        let rows = rows.zip(self.attended.chunks_exact_mut(values));
        for ((row, attended), history) in rows.zip(self.history.chunks_exact(self.n_steps)) {
            for (scaled, feature) in query.iter_mut().zip(row) {
                *scaled = feature * scale;
            }
            let past = |offset| Past {
                steps: &self.steps[self.first..],
                rows: &history[self.first..],
                width: keys + values,
                offset,
            };
            let past_keys = past(0);
            for step in 0..len {
                let heads = query
                    .chunks_exact(d_k)
                    .zip(past_keys.row(step)[..keys].chunks_exact(d_k));
                for (head, (query, key)) in heads.enumerate() {
                    scores[head * len + step] = dot(simd, query, key);
                }
            }
            let outputs = attended.chunks_exact_mut(d_v);
            for (head, (weights, output)) in scores.chunks_exact_mut(len).zip(outputs).enumerate() {
                softmax(weights);
                weighted_sum(simd, weights, &past(keys + head * d_v), output);
            }
        }
    }
}

/// Attends from one row to the memory of its sentence.
struct AttendToMemory<'a> {
    heads: Heads,
    /// `[keys]`.
    queries: &'a [f32],
    memory: &'a Memory<'a>,
    /// `[values]`.
    attended: &'a mut [f32],
    /// The mean of the heads' weights is added to it, unless it is empty.
    mean: &'a mut [f32],
    buffers: &'a mut AttentionBuffers,
}

impl WithSimd for AttendToMemory<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Heads { n_heads, d_k, d_v } = self.heads;
        let values = self.heads.values();
        let scale = self.heads.scale();
        let share = 1.0 / n_heads as f32;
        let len = self.memory.len;
        let AttentionBuffers { query, scores, .. } = self.buffers;
        query.resize(d_k, 0.0);
        scores.resize(padded(len), 0.0);
        let blocks = self.memory.keys.chunks_exact(padded(len) * d_k);
        let heads = self.queries.chunks_exact(d_k).zip(blocks);
        for (head, (queries, blocks)) in heads.enumerate() {
            for (scaled, feature) in query.iter_mut().zip(queries) {
                *scaled = feature * scale;
            }
            score_blocks(simd, query, blocks, scores);
            let weights = &mut scores[..len];
            softmax(weights);
            let seen = Strided {
                features: &self.memory.values[head * d_v..],
                width: values,
            };
            weighted_sum(
                simd,
                weights,
                &seen,
                &mut self.attended[head * d_v..][..d_v],
            );
            for (mean, weight) in self.mean.iter_mut().zip(weights) {
                *mean += *weight * share;
            }
        }
    }
}
