//! Sums of integers without vector instructions: the definition that tests compare others with. No processor is known that
//! needs them, because `rten-gemm` has exact sums wherever AVX2 is missing.

use super::{Step, Sums, WIDTH, pair};

/// Number of activations that are multiplied at once.
pub(super) const GROUP: usize = 2;

/// Maximum number of rows that are multiplied by a panel at once.
pub(super) const MAX_ROWS: usize = 4;

/// The scalar code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel;

impl Kernel {
    pub(super) fn new() -> Self {
        Self
    }

    /// Returns what is added to activations.
    pub(super) fn added(self) -> u8 {
        0
    }

    pub(super) fn group(self, group: &[i8]) -> i32 {
        pair(group)
    }

    /// Runs a function that calls [`sum`](Self::sum).
    #[inline(always)]
    pub(super) fn run(self, function: impl FnOnce()) {
        function();
    }

    /// Returns `start` plus the products of rows of groups with a panel.
    #[inline(always)]
    pub(super) fn sum(self, panel: &[Step], start: &[i32; WIDTH], rows: &[i32]) -> Sums {
        let mut found = [*start; MAX_ROWS];
        for (row, sums) in rows.chunks_exact(panel.len()).zip(&mut found) {
            for (Step(step), pair) in panel.iter().zip(row) {
                let [first, second] = [*pair as i16, (pair >> 16) as i16].map(i32::from);
                for (sum, [one, other]) in sums.iter_mut().zip(step.as_chunks().0) {
                    *sum += i32::from(*one) * first + i32::from(*other) * second;
                }
            }
        }
        found
    }
}
