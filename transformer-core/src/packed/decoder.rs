//! The decoder, one token per row and step.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::attention::{
    Heads, Rows, Strided, dot, padded, score_blocks, softmax, weighted_sum, write_blocks,
};
use super::fused::dispatch;
use super::layers::{
    PackedCrossAttention, PackedDecoderLayer, PackedMixing, PackedSelfAttention, Stack,
};
use super::products::{AttentionBuffers, Workspace};
use super::state::{OwnState, PackedState, SentenceMemory, Steps};

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
        dispatch(AttendToPast {
            heads,
            projected,
            steps,
            history,
            lens,
            window: stack.window,
            attended,
            buffers: &mut workspace.attention,
        });
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
            dispatch(AttendToMemory {
                heads,
                queries,
                memory: &memory,
                attended,
                recorded_heads,
                mean: &mut mean,
                buffers: &mut workspace.attention,
            });
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

/// The keys and values of one sentence in one layer.
struct Memory<'a> {
    /// For each head, in blocks.
    keys: &'a [f32],
    /// `[len, values]`.
    values: &'a [f32],
    len: usize,
}

/// The keys and values of the past of one row.
struct Past<'a> {
    /// For each step, `[rows, width]`.
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
    /// For each step, `[rows, keys + values]`.
    steps: &'a [Vec<f32>],
    /// For each row, the rows of its steps.
    history: &'a [u32],
    /// For each row, the number of its steps; they are the most recent ones.
    lens: &'a [usize],
    /// Number of tokens before the newest that a row attends to.
    window: Option<usize>,
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
        let AttentionBuffers { query, scores, .. } = self.buffers;
        query.resize(keys, 0.0);
        let mut rest = self.history;
        let rows = self.projected.chunks_exact(2 * keys + values);
        let rows = rows.zip(self.attended.chunks_exact_mut(values));
        for ((row, attended), n_steps) in rows.zip(self.lens) {
            let (history, others) = rest.split_at(*n_steps);
            rest = others;
            let window = self.window.map_or(*n_steps, |it| it.saturating_add(1));
            let len = window.min(*n_steps);
            scores.resize(n_heads * len, 0.0);
            for (scaled, feature) in query.iter_mut().zip(row) {
                *scaled = feature * scale;
            }
            let past = |offset| Past {
                steps: &self.steps[self.steps.len() - len..],
                rows: &history[n_steps - len..],
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
    recorded_heads: Range<usize>,
    /// The mean of the weights of these heads.
    mean: &'a mut [f32],
    buffers: &'a mut AttentionBuffers,
}

impl WithSimd for AttendToMemory<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Heads { d_k, d_v, .. } = self.heads;
        let values = self.heads.values();
        let scale = self.heads.scale();
        let share = 1.0 / self.recorded_heads.len() as f32;
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
            if self.recorded_heads.contains(&head) {
                for (mean, weight) in self.mean.iter_mut().zip(weights) {
                    *mean += *weight * share;
                }
            }
        }
    }
}
