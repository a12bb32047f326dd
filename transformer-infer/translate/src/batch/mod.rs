//! Batches of token ids: their limits, and the results in the order of the sources.

mod limits;
mod threads;
mod translate;

pub use limits::{BatchLimits, batches_within};
pub(crate) use threads::{default_threads, in_pool};
pub(crate) use translate::{FEWEST_ROWS, ROWS_PER_BATCH};
pub use translate::{Source, translate_ids, translate_packed, translate_sources};
