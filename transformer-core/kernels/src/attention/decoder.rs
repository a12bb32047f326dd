//! Attention of the decoder: one token of each row.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{Buffers, Heads, Rows, Strided, dot, padded, score_blocks, softmax, weighted_sum};
use crate::fused::dispatch;

/// The keys and values of one sentence in one layer.
#[derive(Debug)]
pub struct Memory<'a> {
    /// For each head, in blocks.
    pub keys: &'a [f32],
    /// `[len, values]`.
    pub values: &'a [f32],
    pub len: usize,
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
#[derive(Debug)]
pub struct AttendToPast<'a> {
    pub heads: Heads,
    /// `[rows, keys + keys + values]`: queries, keys and values.
    pub projected: &'a [f32],
    /// For each step, `[rows, keys + values]`.
    pub steps: &'a [Vec<f32>],
    /// For each row, the rows of its steps.
    pub history: &'a [u32],
    /// For each row, the number of its steps; they are the most recent ones.
    pub lens: &'a [usize],
    /// Number of tokens before the newest that a row attends to.
    pub window: Option<usize>,
    /// `[rows, values]`.
    pub attended: &'a mut [f32],
    pub buffers: &'a mut Buffers,
}

impl AttendToPast<'_> {
    /// Writes the attended values.
    #[inline(never)]
    pub fn run(self) {
        dispatch(self);
    }
}

impl WithSimd for AttendToPast<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Heads { n_heads, d_k, d_v } = self.heads;
        let (keys, values) = (self.heads.keys(), self.heads.values());
        let scale = self.heads.scale();
        let Buffers { query, scores, .. } = self.buffers;
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
#[derive(Debug)]
pub struct AttendToMemory<'a> {
    pub heads: Heads,
    /// `[keys]`.
    pub queries: &'a [f32],
    pub memory: &'a Memory<'a>,
    /// `[values]`.
    pub attended: &'a mut [f32],
    pub recorded_heads: Range<usize>,
    /// The mean of the weights of these heads.
    pub mean: &'a mut [f32],
    pub buffers: &'a mut Buffers,
}

impl AttendToMemory<'_> {
    /// Writes the attended values.
    #[inline(never)]
    pub fn run(self) {
        dispatch(self);
    }
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
        let Buffers { query, scores, .. } = self.buffers;
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
