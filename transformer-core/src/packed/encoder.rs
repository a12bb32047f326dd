//! The encoder, on the tokens of all sentences without padding.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::attention::{Heads, Strided, padded, score_blocks, softmax, weighted_sum, write_blocks};
use super::fused::dispatch;
use super::layers::{PackedEncoderLayer, PackedSelfAttention, Stack};
use super::products::{AttentionBuffers, Workspace};

impl Stack<PackedEncoderLayer> {
    /// Replaces the embedded tokens in [`Workspace::x`] by the memory.
    ///
    /// `sentences` are the ranges of the tokens of each sentence.
    pub(super) fn encode(&self, sentences: &[Range<usize>], workspace: &mut Workspace) {
        for layer in &self.layers {
            layer.self_attention.encode(self, sentences, workspace);
            layer.feed_forward.forward(workspace);
        }
        if let Some(norm) = &self.final_norm {
            norm.forward(&mut workspace.x);
        }
    }
}

impl PackedSelfAttention {
    fn encode(
        &self,
        stack: &Stack<PackedEncoderLayer>,
        sentences: &[Range<usize>],
        workspace: &mut Workspace,
    ) {
        let input = self.residual.input(&workspace.x, &mut workspace.normalized);
        let (kernels, projected) = (&mut workspace.kernels, &mut workspace.projected);
        self.queries_keys_values.forward(kernels, input, projected);
        let heads = stack.heads;
        let (width, values) = (2 * heads.keys() + heads.values(), heads.values());
        let attended = &mut workspace.attended;
        attended.resize(projected.len() / width * values, 0.0);
        for sentence in sentences {
            let projected = &projected[sentence.start * width..sentence.end * width];
            let attended = &mut attended[sentence.start * values..sentence.end * values];
            dispatch(AttendWithin {
                heads,
                window: stack.window,
                projected,
                attended,
                buffers: &mut workspace.attention,
            });
        }
        self.output
            .forward(kernels, attended, &mut workspace.output);
        self.residual.add(&mut workspace.x, &workspace.output);
    }
}

/// Attends from every token of a sentence to all tokens of it, or to those within the window.
struct AttendWithin<'a> {
    heads: Heads,
    window: Option<usize>,
    /// `[len, keys + keys + values]`: queries, keys and values.
    projected: &'a [f32],
    /// `[len, values]`.
    attended: &'a mut [f32],
    buffers: &'a mut AttentionBuffers,
}

impl WithSimd for AttendWithin<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Heads { n_heads, d_k, d_v } = self.heads;
        let (keys, values) = (self.heads.keys(), self.heads.values());
        let scale = self.heads.scale();
        let width = 2 * keys + values;
        let len = self.projected.len() / width;
        let window = self.window.unwrap_or(len);
        let AttentionBuffers {
            query,
            keys: blocks,
            scores,
        } = self.buffers;
        query.resize(d_k, 0.0);
        blocks.resize(padded(len) * d_k, 0.0);
        scores.resize(padded(len), 0.0);
        for head in 0..n_heads {
            write_blocks(
                &self.projected[keys + head * d_k..],
                width,
                d_k,
                len,
                blocks,
            );
            for token in 0..len {
                let features = &self.projected[token * width + head * d_k..][..d_k];
                for (scaled, feature) in query.iter_mut().zip(features) {
                    *scaled = feature * scale;
                }
                score_blocks(simd, query, blocks, scores);
                let first = token.saturating_sub(window);
                let end = len.min(token.saturating_add(window).saturating_add(1));
                let weights = &mut scores[first..end];
                softmax(weights);
                let seen = Strided {
                    features: &self.projected[first * width + 2 * keys + head * d_v..],
                    width,
                };
                let attended = &mut self.attended[token * values + head * d_v..][..d_v];
                weighted_sum(simd, weights, &seen, attended);
            }
        }
    }
}
