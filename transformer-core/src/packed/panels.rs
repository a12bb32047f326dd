//! The layout of 32-bit floats for [`panel_product`](super::panel_product).
//!
//! A panel is [`WIDTH`] columns of the weights, row after row, so that one step of the kernel reads contiguous memory.

use bytemuck::{Pod, Zeroable};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::cpu::instruction_set;

/// Number of elements of a line of the processor's cache, and of its longest vectors.
pub(super) const LINE: usize = 16;

/// Number of lines of a row of a panel.
pub(super) const LINES: usize = 3;

/// Number of columns of a panel; the last one may have fewer lines.
pub(super) const WIDTH: usize = LINES * LINE;

/// Neighboring elements of a row of a panel.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line([f32; LINE]);

/// A matrix of floats `[d_in, d_out]` in panels.
pub(super) struct PanelMatrix {
    /// Panel after panel, each `[d_in, lines]`, filled with zeros.
    lines: Vec<Line>,
    shape: [usize; 2],
}

/// Returns whether the kernel fits this processor: with vectors of at least 8 elements, that is AVX2 or AVX-512. It was
/// not measured with shorter ones.
pub(super) fn fit() -> bool {
    struct HasLongVectors;

    impl WithSimd for HasLongVectors {
        type Output = bool;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> bool {
            S::F32_LANES >= 8
        }
    }

    instruction_set().dispatch(HasLongVectors)
}

impl PanelMatrix {
    /// Packs a matrix, given with the strides of its rows and columns.
    pub(super) fn new(values: &[f32], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let [d_in, d_out] = shape;
        let mut lines = vec![Line::zeroed(); d_out.div_ceil(LINE) * d_in];
        let panels = lines.par_chunks_mut(LINES * d_in).enumerate();
        panels.for_each(|(index, panel)| {
            let columns = index * WIDTH..d_out.min((index + 1) * WIDTH);
            let width = columns.len().next_multiple_of(LINE);
            let rows: &mut [f32] = bytemuck::cast_slice_mut(panel);
            for (k, row) in rows.chunks_exact_mut(width).enumerate() {
                for (value, column) in row.iter_mut().zip(columns.clone()) {
                    *value = values[k * strides[0] + column * strides[1]];
                }
            }
        });
        Self { lines, shape }
    }

    /// Returns `[d_in, d_out]`.
    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Returns the panel that begins with a column, and all that follow it.
    pub(super) fn lines_from(&self, column: usize) -> &[Line] {
        &self.lines[column / LINE * self.shape[0]..]
    }
}
