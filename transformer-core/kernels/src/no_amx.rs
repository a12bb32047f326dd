//! Stub of [`amx`](super::amx) for processors and operating systems without it.

use super::tile::{Block, Line, SIDE, Sums, Tile};

const UNAVAILABLE: &str = "matrices are laid out in tiles only where tiles are available";

pub(crate) fn available() -> bool {
    false
}

pub(crate) fn has_bf16() -> bool {
    false
}

pub(crate) fn round_rows(_: [&[f32; 2 * SIDE]; SIDE]) -> Block {
    unreachable!("{UNAVAILABLE}")
}

pub(crate) fn round_columns(_: [&[f32; SIDE]; 2 * SIDE]) -> Block {
    unreachable!("{UNAVAILABLE}")
}

pub(crate) fn transposed(_: Block) -> Block {
    unreachable!("{UNAVAILABLE}")
}

pub(crate) struct Tiles;

impl Tiles {
    pub(crate) fn new(_: usize) -> Self {
        unreachable!("{UNAVAILABLE}")
    }

    pub(crate) fn square(&self, _: &[Line], _: usize, _: [&[Tile]; 2], _: &mut Sums) {
        unreachable!("{UNAVAILABLE}")
    }

    pub(crate) fn square_bf16(&self, _: &[Line], _: usize, _: [&[Tile]; 2], _: &mut Sums) {
        unreachable!("{UNAVAILABLE}")
    }

    pub(crate) fn wide(&self, _: &[Line], _: usize, _: [&[Tile]; 4], _: &mut Sums) {
        unreachable!("{UNAVAILABLE}")
    }
}
