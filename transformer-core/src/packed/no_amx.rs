//! Stub of [`amx`](super::amx) for processors and operating systems without it.

use super::tile::{Line, Sums, Tile};

/// The reason why no function of tiles is called.
const UNAVAILABLE: &str = "matrices are laid out in tiles only where tiles are available";

pub(super) fn available() -> bool {
    false
}

/// Never created.
pub(super) struct Tiles;

impl Tiles {
    pub(super) fn new(_: usize) -> Self {
        unreachable!("{UNAVAILABLE}")
    }

    pub(super) fn square(&self, _: &[Line], _: usize, _: [&[Tile]; 2], _: &mut Sums) {
        unreachable!("{UNAVAILABLE}")
    }

    pub(super) fn wide(&self, _: &[Line], _: usize, _: [&[Tile]; 4], _: &mut Sums) {
        unreachable!("{UNAVAILABLE}")
    }
}
