//! Parallel text: files and standard input, pairs of lines, and the token store made from them.

mod disk_store;
mod encode;
mod encoded_corpus;
mod error;
mod fingerprint;
mod lines;
mod pairs;
mod parallel_text;
mod read_text;
mod sentence_pair;
mod source;
mod store_folder;
mod subword_dropout;
mod summary;
mod token_store;
mod training_text;

pub(crate) use disk_store::{DiskStore, LENGTHS, StoreWriter};
pub use encode::encode;
pub(crate) use encode::{encode_in_memory, encode_into};
pub use encoded_corpus::EncodedCorpus;
pub use error::CorpusError;
pub(crate) use fingerprint::Fingerprint;
pub use pairs::Pairs;
pub use parallel_text::ParallelText;
pub(crate) use read_text::ReadText;
pub use sentence_pair::SentencePair;
pub(crate) use store_folder::{IfMissing, StorePlace, Stored, holds_only_stores};
pub use subword_dropout::SubwordDropout;
pub use summary::CorpusSummary;
pub(crate) use token_store::TokenStore;
pub(crate) use training_text::{Subwords, TrainingText};
