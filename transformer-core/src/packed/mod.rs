//! The Transformer on packed weights: generation on CPUs, in 32-bit floats or 8-bit integers.
//!
//! The same model as [`model`](crate::model), for generation only. Three things make it fast: the weights are laid out
//! once for matrix products (queries, keys and values of one input are one product); sentences are computed without
//! padding; and the cache of decoding is never copied when a beam is reordered.
//!
//! A [`PackedTransformer`] is immutable, so any number of threads can share it. All mutable state is in [`PackedState`]
//! and [`Workspace`], one of each per thread. Every function computes on the calling thread, or on the rayon pool that
//! it belongs to.
//!
//! Each row is computed by the same operations in the same order, independent of the other rows. So the logits of a
//! sentence do not depend on its batch, to the last bit.

mod decoder;
mod encoder;
mod inspect;
#[cfg(test)]
mod instruction_set_tests;
#[cfg(test)]
mod join_tests;
mod layers;
mod norm;
mod precision;
#[cfg(test)]
mod shortlist_tests;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod transformer;
mod weights;
mod workspace;

pub use precision::ComputePrecision;
pub use state::PackedState;
pub use transformer::PackedTransformer;
pub use workspace::Workspace;
