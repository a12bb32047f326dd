//! The layouts of tiles: blocks of matrices of 8-bit integers that a processor multiplies at once.

use bytemuck::{Pod, Zeroable};

/// Number of rows of a tile of activations, and of columns of a tile of weights.
pub(super) const SIDE: usize = 16;
/// Number of products of one sum in one step.
pub(super) const DEPTH: usize = 64;

/// A row of a tile of activations: integers from −127 to 127.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [i8; DEPTH]);

/// A tile of weights `[DEPTH / 4, SIDE, 4]`: four integers of a column are side by side.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Tile(pub(super) [i8; DEPTH * SIDE]);

/// Sums of two tiles of rows with two of columns, or of one with four, row by row.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Sums(pub(super) [i32; 4 * SIDE * SIDE]);
