//! The layouts of tiles: blocks of matrices that a processor multiplies at once, here of 8-bit integers. For
//! [`bf16`](super::bf16) the same bytes are half as many bfloat16, in pairs instead of fours.

use bytemuck::{Pod, Zeroable};

/// Number of rows of a tile of activations, and of columns of a tile of weights.
pub(crate) const SIDE: usize = 16;
/// Number of products of one sum in one step.
pub(crate) const DEPTH: usize = 64;

/// A row of a tile of activations: integers from −127 to 127, or for [`vnni`](super::vnni) from 1 to 255, as bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [i8; DEPTH]);

/// A tile of weights `[DEPTH / 4, SIDE, 4]`: four integers of a column are side by side.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Tile(pub(crate) [i8; DEPTH * SIDE]);

/// Sums of two tiles of rows with two of columns, or of one with four, row by row.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Sums(pub(crate) [i32; 4 * SIDE * SIDE]);

/// Pairs of bfloat16 that are multiplied in one step: `[SIDE rows, SIDE pairs]`, or transposed.
pub(crate) type Block = [[u32; SIDE]; SIDE];

/// The vectors by which [`vnni`](super::vnni) multiplies tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// Of AVX-512, which has 32 registers.
    Of512Bits,
    /// Of AVX-VNNI, with 16 registers.
    Of256Bits,
}

/// Maximum number of rows that [`vnni`](super::vnni) multiplies at once: with four vectors of sums each, they fill the
/// registers.
pub(crate) const MAX_ROWS: usize = 6;
