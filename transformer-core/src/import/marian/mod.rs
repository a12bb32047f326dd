//! Marian's translation models (Junczys-Dowmunt et al. 2018, <https://aclanthology.org/P18-4020/>) in the format
//! of Hugging Face's Transformers, in which OPUS-MT publishes its models, and in Marian's own binary format; and the
//! multilingual models of fairseq in the format of Transformers: M2M-100, NLLB-200, SMALL-100 and mBART; Pegasus and BART.
//!
//! Marian's special tokens have other ids: `</s>` is 0, `<unk>` 1, and decoding starts from the last token, `<pad>`.
//! Our special tokens are constants of the format, so the import reorders the rows of all vocabulary matrices, and no
//! other code needs to know. Where Marian decodes from `<pad>`, its row becomes our `<s>`, and our `<pad>` is a new row
//! of zeros with a logit so low that its probability is 0. So the probabilities of all other tokens do not change.
//! Multilingual models decode from `</s>`: our `<s>` is a copy of its row with an impossible logit, and theirs is an
//! ordinary token.
//!
//! [`to_marian`](crate::export::to_marian) exports to this format.

pub mod binary;
mod byte_level;
mod error;
mod folder;
mod generation;
mod multilingual;
mod reference;
mod settings;
pub(crate) mod vocabulary;
pub(crate) mod weights;

pub use error::MarianError;
pub use folder::Marian;
#[doc(hidden)]
pub use generation::{EarlyStopping, Generation};
#[doc(hidden)]
pub use reference::{Difference, Reference};
