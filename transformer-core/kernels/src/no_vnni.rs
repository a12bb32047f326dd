//! Stub of [`vnni`](super::vnni) for other processors.

use super::tile::{Line, SIDE, Sums, Tile};

pub(crate) const MAX_ROWS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    Of512Bits,
    Of256Bits,
}

impl Vectors {
    pub(crate) fn exist(self) -> bool {
        false
    }
}

pub(crate) fn sum(
    _: Vectors,
    _: usize,
    _: (&[Line], usize),
    _: [&[Tile]; 4],
    _: [&[i32; SIDE]; 4],
    _: &mut Sums,
) {
    unreachable!("matrices are laid out in tiles only where their instructions are available")
}
