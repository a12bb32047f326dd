//! The recurrence in place of the decoder's self-attention, one token per row and step.

use pulp::NullaryFnOnce;

use super::activation::{relu, sigmoid};
use super::layers::PackedRecurrence;
use super::products::Workspace;
use crate::cpu::instruction_set;

impl PackedRecurrence {
    /// Returns the number of features of a cell.
    pub(super) fn width(&self) -> usize {
        self.residual.norm.width()
    }

    /// Computes the embedded tokens in [`Workspace::x`] and the cells after them, one for each row.
    pub(super) fn decode(&self, cells: &mut [f32], workspace: &mut Workspace) {
        let input = self.residual.input(&workspace.x, &mut workspace.normalized);
        let (projected, output) = (&mut workspace.projected, &mut workspace.output);
        self.candidates_forgets
            .forward(&mut workspace.kernels, input, projected);
        output.resize(cells.len(), 0.0);
        instruction_set().dispatch(Recur {
            width: self.width(),
            projected,
            cells,
            output,
        });
        self.residual.add(&mut workspace.x, output);
    }
}

/// Computes `c ← σ(f)∘c + (1 − σ(f))∘u` and `max(0, c)` for each row.
struct Recur<'a> {
    width: usize,
    /// `[rows, width + width]`: the candidate `u` and the forget gate `f`.
    projected: &'a [f32],
    /// `[rows, width]`.
    cells: &'a mut [f32],
    /// `[rows, width]`.
    output: &'a mut [f32],
}

impl NullaryFnOnce for Recur<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let rows = self.cells.chunks_exact_mut(self.width);
        let rows = rows.zip(self.output.chunks_exact_mut(self.width));
        let projected = self.projected.chunks_exact(2 * self.width);
        for ((cells, output), projected) in rows.zip(projected) {
            let (candidates, forgets) = projected.split_at(self.width);
            let features = cells.iter_mut().zip(output);
            for ((cell, output), (candidate, forget)) in
                features.zip(candidates.iter().zip(forgets))
            {
                let forget = sigmoid(*forget);
                *cell = forget * *cell + (1.0 - forget) * candidate;
                *output = relu(*cell);
            }
        }
    }
}
