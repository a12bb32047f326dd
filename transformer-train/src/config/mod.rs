//! The experiment: every setting of a training run, read from one TOML file.

mod adapters;
mod check;
#[cfg(test)]
mod check_tests;
mod continued;
mod corpora;
mod data;
#[cfg(test)]
mod data_tests;
#[cfg(test)]
mod documented_tests;
mod error;
mod experiment;
mod filter;
mod length_penalty;
mod model;
mod optional;
mod range;
mod read;
mod recipe;
mod schema;
mod setting;
mod tokenizer;
mod training;
mod user_settings;
mod validation;

pub(crate) use check::check_tokenizer;
#[doc(hidden)]
pub use continued::{ContinuedRun, ContinuedSettings};
pub(crate) use corpora::FILE_KEYS;
#[doc(hidden)]
pub use corpora::{CorpusSettings, CorpusSource, TaggedCorpus, Tags, ValidationSource};
pub use data::DataSettings;
#[doc(hidden)]
pub use data::{DataSource, Store};
pub use error::ConfigError;
pub use experiment::Experiment;
#[doc(hidden)]
pub use experiment::{EmbeddingSettings, FinetuneSettings, ReportSettings, TensorBoard};
#[doc(hidden)]
pub use filter::{Copies, Duplicates, Empty, LineLimit, LongLines, OverLong};
#[doc(hidden)]
pub use model::ModelSettings;
pub(crate) use model::check_sequences;
#[cfg(test)]
pub(crate) use read::keys as setting_keys;
pub(crate) use read::put;
pub use tokenizer::TokenizerSettings;
#[doc(hidden)]
pub use tokenizer::{Vocabularies, Vocabulary};
pub use training::TrainingSettings;
#[doc(hidden)]
pub use training::{BestBy, Checkpointing, ComputePrecision, ScheduleKind, SmoothingForm};
#[doc(hidden)]
pub use user_settings::UserSettings;
#[doc(hidden)]
pub use validation::ValidationSettings;
#[doc(hidden)]
pub use validation::{CommandFailure, ScoreCommand};
