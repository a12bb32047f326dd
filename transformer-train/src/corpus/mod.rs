//! Parallel text: files, pairs of lines, and the token store that is built from them.

mod cleaning;
mod encode;
mod fingerprint;
mod input;
mod loaded_data;
mod noise;
mod pairs;
#[cfg(test)]
mod pairs_tests;
mod parallel_text;
mod sample;
mod store_location;
mod stored_corpus;
mod summary;
mod survey;
mod token_store;
mod training_text;
#[cfg(test)]
mod tsv_tests;

pub(crate) use cleaning::{CLEANING_RULES, Cleaning};
pub(crate) use encode::{KeptPair, encode, encode_into, tokenized};
pub(crate) use fingerprint::{Fingerprint, has_own_hash, with_own_hash};
pub(crate) use loaded_data::{LoadedData, open_train};
pub(crate) use noise::SourceNoise;
pub(crate) use pairs::Pairs;
pub(crate) use parallel_text::ParallelText;
pub(crate) use store_location::{IfMissing, StoreLocation, contains_only_stores};
pub(crate) use stored_corpus::StoredCorpus;
pub use summary::CorpusSummary;
pub(crate) use survey::Survey;
pub use token_store::SentencePair;
pub(crate) use token_store::{DiskWriter, LENGTHS, StoreWriter, TokenStore};
pub(crate) use training_text::{BpeDropout, PairDropout, TrainingText};
