//! Stub of [`integers`](super::integers) for processors for which `rten-gemm` has exact and fast products.

/// Never created.
pub(super) enum IntegerMatrix {}

impl IntegerMatrix {
    pub(super) fn new(_: &[i8], _: [usize; 2], _: [usize; 2]) -> Option<Self> {
        None
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        match *self {}
    }

    pub(super) fn multiply(&self, _: &[i8], _: &mut Vec<i32>, _: &mut [i32]) {
        match *self {}
    }
}
