//! Import of weights: PyTorch state dicts, Marian's models and word vectors.
//!
//! - [`state_dict`]: [`StateDict`], the named tensors of a `.pt` or `.safetensors` file.
//!   [`StateDict::from_model`], in [`export`](crate::export), collects those of a model.
//! - [`names`]: [`Names`], the naming conventions of other programs.
//! - [`fit`]: [`StateDict::to_transformer`], which builds a model from a state dict or lists all differences.
//! - [`marian`]: [`Marian`], a model with its tokenizers.
//! - [`word_vectors`]: [`WordVectors`], in the text formats of word2vec and GloVe.

pub mod fit;
pub mod marian;
pub mod names;
pub mod state_dict;
pub mod word_vectors;

#[cfg(feature = "pytorch")]
mod pytorch;
#[cfg(not(feature = "pytorch"))]
#[path = "no_pytorch.rs"]
mod pytorch;
mod state_dict_error;

pub use fit::{ImportError, Misfit};
pub use marian::{Marian, MarianError};
pub use names::{Names, PytorchNames};
pub use state_dict::{NonFinite, StateDict};
pub use state_dict_error::StateDictError;
pub use word_vectors::{WordVectors, WordVectorsError};
