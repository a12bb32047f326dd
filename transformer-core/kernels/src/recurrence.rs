//! The recurrence in place of the decoder's self-attention (SSRU, Kim et al. 2019).

use pulp::NullaryFnOnce;

use super::finish::{relu, sigmoid};
use super::instruction_set;

/// Computes `c ← σ(f)∘c + (1 − σ(f))∘u` and `max(0, c)` for each row.
///
/// # Shapes
///
/// - `projected`: `[rows, width + width]`: the candidate `u` and the forget gate `f`
/// - `cells`, `output`: `[rows, width]`
///
/// # Panics
///
/// Panics if the width is 0.
#[inline(never)]
pub fn recur(width: usize, projected: &[f32], cells: &mut [f32], output: &mut [f32]) {
    instruction_set().dispatch(Recur {
        width,
        projected,
        cells,
        output,
    });
}

struct Recur<'a> {
    width: usize,
    projected: &'a [f32],
    cells: &'a mut [f32],
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
