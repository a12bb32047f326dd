//! Preparation for every pass of a model: weights without autodiff, and ids that exist.

use burn::module::Module;
use transformer_core::Transformer;

/// Returns the model in the form for inference. On a device that records gradients, dropout would be active and the
/// autodiff graph would grow.
pub(crate) fn without_autodiff(model: &Transformer) -> Transformer {
    if model.device().is_autodiff() {
        model.valid()
    } else {
        model.clone()
    }
}

/// Checks on the CPU that all ids are in a vocabulary: a GPU would read the memory after the embedding matrix.
///
/// # Panics
///
/// Panics if an id is not in the vocabulary; `side` is `source` or `target`.
pub(crate) fn assert_in_vocabulary(side: &str, ids: &[u32], vocab_size: usize) {
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocab_size) {
        panic!("the {side} has the id {id}, which is not in its vocabulary of {vocab_size} tokens");
    }
}
