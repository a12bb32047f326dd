//! Marian's translation models (Junczys-Dowmunt et al. 2018, <https://aclanthology.org/P18-4020/>) in the
//! form in which Hugging Face's Transformers keeps them, as OPUS-MT publishes its own.
//!
//! Marian numbers its tokens otherwise: `</s>` is 0, `<unk>` 1, and decoding starts from the last one,
//! `<pad>`. Our special tokens are constants of the format, so the rows of all vocabulary matrices are put in
//! our order here, and nothing behind the import knows of it. Where Marian starts from `<pad>`, its row is our
//! `<s>`, and our `<pad>` is a new row of zeros whose logit is so low that its probability is 0; so the
//! probabilities of all other tokens stay what they were.
//!
//! - `folder`: [`Marian`], a folder that was read.
//! - `settings`: its JSON files.
//! - `vocabulary`: its tokens.
//! - `weights`: its matrices, in our order.
//! - `check`: how far the logits are from those of another program.
//! - `error`: what can be wrong.
//!
//! [`to_marian`](crate::export::to_marian) is the way back.

mod check;
mod error;
mod folder;
mod names;
mod settings;
pub(crate) mod vocabulary;
pub(crate) mod weights;

pub use check::{Difference, Reference};
pub use error::MarianError;
pub use folder::Marian;
pub(super) use names::marian;
pub use settings::{EarlyStopping, Generation};

/// The logit of our `<pad>` where Marian has no such token: small enough that its probability is 0 in single
/// precision, and within the range of half precision.
const NEVER: f32 = -1e4;
