//! The encoder, on the tokens of all sentences without padding.

use std::ops::Range;

use transformer_kernels::attention::AttendWithin;

use super::layers::{PackedEncoderLayer, PackedSelfAttention, Stack};
use super::workspace::Workspace;

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
            let attention = AttendWithin {
                heads,
                window: stack.window,
                projected,
                attended,
                buffers: &mut workspace.attention,
            };
            attention.run();
        }
        self.output
            .forward(kernels, attended, &mut workspace.output);
        self.residual.add(&mut workspace.x, &workspace.output);
    }
}
