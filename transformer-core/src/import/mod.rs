//! What others trained, brought into models of ours.
//!
//! - [`word_vectors`]: [`WordVectors`], in the text formats of word2vec and GloVe.

pub mod word_vectors;

pub use word_vectors::{WordVectors, WordVectorsError};
