//! Stub of [`vnni`](super::vnni) for other processors.

use super::tile::{Line, SIDE, Sums, Tile, Vectors};

pub(crate) fn exist(_: Vectors) -> bool {
    false
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
