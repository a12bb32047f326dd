//! Attention of the encoder: all tokens of a sentence at once.

use pulp::{Simd, WithSimd};

use super::{Buffers, Heads, Strided, padded, score_blocks, softmax, weighted_sum, write_blocks};
use crate::fused::dispatch;

/// Attends from every token of a sentence to all tokens of it, or to those within the window.
#[derive(Debug)]
pub struct AttendWithin<'a> {
    pub heads: Heads,
    /// Number of tokens on either side that a token attends to.
    pub window: Option<usize>,
    /// `[len, keys + keys + values]`: queries, keys and values.
    pub projected: &'a [f32],
    /// `[len, values]`.
    pub attended: &'a mut [f32],
    pub buffers: &'a mut Buffers,
}

impl AttendWithin<'_> {
    /// Writes the attended values.
    #[inline(never)]
    pub fn run(self) {
        dispatch(self);
    }
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
        let Buffers {
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
