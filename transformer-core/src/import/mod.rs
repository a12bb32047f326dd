//! Weights from elsewhere: state dicts of PyTorch models, and word vectors.
//!
//! - [`state_dict`]: [`StateDict`], the named tensors of a `.pt` or `.safetensors` file.
//!   [`StateDict::of`] is the way back.
//! - [`names`]: [`Names`], what the same parameters are called elsewhere.
//! - [`fit`]: [`StateDict::to_transformer`], which lays one over the other, or lists all that differs.
//! - [`marian`]: [`Marian`], a whole model with its tokenizers.
//! - [`word_vectors`]: [`WordVectors`], in the text formats of word2vec and GloVe.

pub mod fit;
pub mod marian;
pub mod names;
pub mod state_dict;
pub mod word_vectors;

mod collect;

pub use fit::{ImportError, Misfit};
pub use marian::{Marian, MarianError};
pub use names::{Names, PytorchNames};
pub use state_dict::{StateDict, StateDictError};
pub use word_vectors::{WordVectors, WordVectorsError};
