//! [`PackedTransformer::largest_inputs`]: the ranges of activations, for formats that fix their scales.

use super::{PackedTransformer, Workspace};
use crate::text::{BOS, EOS};

impl PackedTransformer {
    /// Translates a source with EOS greedily, and returns the largest magnitude in the input of each matrix product, in
    /// the order of the products: in the first list those before the first target token, and in each other list those of
    /// one token.
    ///
    /// # Panics
    ///
    /// Panics as [`begin`](Self::begin) does, and if the translation is longer than the learned positions.
    pub(crate) fn largest_inputs(&self, source: &[u32], max_len: usize) -> Vec<Vec<f32>> {
        let mut workspace = Workspace::new();
        workspace.kernels.largest_inputs = Some(Vec::new());
        let take = |workspace: &mut Workspace| {
            let found = workspace.kernels.largest_inputs.replace(Vec::new());
            found.unwrap_or_default()
        };
        let mut state = self.begin(&[source], &mut workspace);
        let mut all = vec![take(&mut workspace)];
        let mut last = BOS;
        for _ in 0..max_len {
            let logits = self.step(&mut state, &[last], &mut workspace);
            let ordinary = (EOS..).zip(&logits[EOS as usize..]);
            let best = ordinary.max_by(|a, b| a.1.total_cmp(b.1));
            last = best.map_or(EOS, |(id, _)| id);
            all.push(take(&mut workspace));
            if last == EOS {
                break;
            }
        }
        all
    }
}
