//! Import of weights: PyTorch state dicts, Marian's models and word vectors.
//!
//! - [`StateDict`]: the named tensors of a `.pt` or `.safetensors` file.
//!   [`StateDict::from_model`], in [`export`](crate::export), collects those of a model.
//! - [`Names`]: the naming conventions of other programs.
//! - [`StateDict::to_transformer`]: builds a model from a state dict or lists all differences.
//! - [`ctranslate2`]: models of CTranslate2 and Argos Translate.
//! - [`Marian`]: a model with its tokenizers.
//! - [`WordVectors`]: vectors in the text formats of word2vec and GloVe.

pub mod ctranslate2;
#[doc(hidden)]
pub mod fit;
#[doc(hidden)]
pub mod marian;
#[doc(hidden)]
pub mod names;
#[doc(hidden)]
pub mod state_dict;
#[doc(hidden)]
pub mod word_vectors;

#[cfg(feature = "pytorch")]
mod pytorch;
#[cfg(not(feature = "pytorch"))]
#[path = "no_pytorch.rs"]
mod pytorch;

#[doc(hidden)]
pub use ctranslate2::CTranslate2Error;
#[doc(hidden)]
pub use fit::{ImportError, Misfit};
pub use marian::Marian;
#[doc(hidden)]
pub use marian::MarianError;
pub use names::Names;
#[doc(hidden)]
pub use names::PytorchNames;
pub use state_dict::StateDict;
#[doc(hidden)]
pub use state_dict::{NonFinite, StateDictError};
#[doc(hidden)]
pub use word_vectors::{WordVectors, WordVectorsError};
