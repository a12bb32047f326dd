//! Built-in tasks with generated text, for training without a corpus.

mod numbers;
mod sequences;
mod task;

#[doc(hidden)]
pub use numbers::{And, NumberStyle, Tens, english};
#[doc(hidden)]
pub use sequences::MAX_SEQUENCE_LEN;
#[doc(hidden)]
pub use task::Split;
pub use task::Task;
pub(crate) use task::nearest;
