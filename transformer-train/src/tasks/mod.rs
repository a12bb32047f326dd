//! Built-in tasks with generated text, for training without a corpus.

mod nearest;
mod numbers;
mod sequences;
mod split;
mod task;

pub(crate) use nearest::nearest;
#[doc(hidden)]
pub use numbers::{And, NumberStyle, Tens, english};
#[doc(hidden)]
pub use sequences::MAX_SEQUENCE_LEN;
#[doc(hidden)]
pub use split::Split;
pub use task::Task;
