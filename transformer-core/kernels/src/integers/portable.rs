//! Sums of integers without vector instructions: the definition that tests compare others with. No processor is known that
//! needs them, because `rten-gemm` has exact sums wherever AVX2 is missing.

use std::array;

pub(super) use super::pairs::GROUP;
use super::{Step, SumIntegers, Sums, WIDTH};

/// Maximum number of rows that are multiplied by a panel at once.
pub(super) const MAX_ROWS: usize = 4;

/// The scalar code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel;

impl Kernel {
    pub(super) fn new() -> Self {
        Self
    }
}

impl SumIntegers for Kernel {
    fn group(self, group: &[i8]) -> i32 {
        // Weights after the last one are zeros.
        let byte = |index| group.get(index).map_or(0, |it| *it as u8);
        i32::from_ne_bytes(array::from_fn(byte))
    }

    #[inline(always)]
    fn run(self, function: impl FnOnce()) {
        function();
    }

    #[inline(always)]
    fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
        let mut found = [*start; MAX_ROWS];
        for (row, sums) in rows.chunks_exact(panel.len()).zip(&mut found) {
            for (Step(step), group) in panel.iter().zip(row) {
                let group = group.to_ne_bytes().map(|it| i32::from(it as i8));
                for (sum, weights) in sums.iter_mut().zip(step.as_chunks::<GROUP>().0) {
                    let products = weights.iter().zip(group).map(|(it, x)| i32::from(*it) * x);
                    *sum += products.sum::<i32>();
                }
            }
        }
        found
    }
}
