//! Marks: taken off a passage with its sentences, and put back into translations.

mod cut;
mod form;
mod placement;
mod put_back;
mod sentence;
mod units;

pub(super) use cut::{Piece, cut};
pub use form::Form;
pub(super) use put_back::{Chunk, put_back};
pub(super) use sentence::Sentence;
pub(super) use units::{Unit, units};
