//! The Transformer as a [`NextToken`](transformer_search::NextToken) model: one decoder state per row, which grows by
//! one token at each step.

mod packed;
mod top_k;
mod transformer;

pub use packed::PackedScorer;
pub(crate) use packed::{ended, is_limited};
pub use transformer::Scorer;
pub(crate) use transformer::{assert_in_vocabulary, without_autodiff};
