//! Batches of token ids: their limits, and the results in the order of the sources.

mod budget;
mod limits;
mod threads;
mod translate;

pub use budget::batches_within;
pub use limits::BatchLimits;
pub(crate) use threads::{default_threads, in_pool};
pub(crate) use translate::{FEWEST_ROWS, ROWS_PER_BATCH};
pub use translate::{Source, translate_ids, translate_packed, translate_sources};
