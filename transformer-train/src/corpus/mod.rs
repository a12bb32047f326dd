//! Parallel text: files and standard input, pairs of lines, and the token store made from them.

mod encode;
mod encoded_corpus;
mod error;
mod lines;
mod pairs;
mod parallel_text;
mod source;

pub use encode::{CorpusSummary, Duplicates, Filter, OverLong, encode};
pub use encoded_corpus::EncodedCorpus;
pub use error::CorpusError;
pub use pairs::Pairs;
pub use parallel_text::ParallelText;
pub use source::CorpusSource;
