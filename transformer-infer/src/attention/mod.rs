//! What a model looks at: the weights of every head for one sentence, as data, alignment, page and figure.
//!
//! - [`Attention`]: the weights and their tokens, from [`Translator::attention`](crate::Translator::attention).
//! - [`Heads`]: which layer, and which of its heads or their mean.
//! - [`Alignment`]: which word of the source each word of the output looks at, in Pharaoh's notation; of many lines
//!   at once from [`Translator::alignments`](crate::Translator::alignments).
//! - [`page`]: everything on one HTML page that needs nothing else.
//! - [`figure`]: one map as a picture for a paper.

mod align_batch;
mod alignment;
mod error;
mod figure;
mod heads;
mod kind;
mod page;
mod record;
mod selection;
mod weights;

pub use alignment::Alignment;
pub use error::AttentionError;
pub use figure::figure;
pub use heads::Heads;
pub use kind::{Head, Kind};
pub use page::{GENERATOR, page};
pub use selection::{Selection, View};
pub use weights::{Attention, Map, Token};
