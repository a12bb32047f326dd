//! The commands of `transformer-infer`, each in its own file or folder, and the flags and files that they share.

mod attention;
mod bleu;
mod buckets;
mod compare;
mod compare_page;
#[cfg(feature = "serve")]
mod config_file;
mod error;
mod evaluate;
mod export;
mod extend_vocabulary;
mod flags;
mod import;
mod inspect;
mod lines;
mod output_path;
mod progress;
mod quantize;
mod score;
mod scores;
#[cfg(feature = "serve")]
mod serve;
mod shortlist;
mod translate;

pub(crate) use attention::{AttentionCommand, PictureError};
pub(crate) use bleu::BleuCommand;
pub(crate) use compare::Compare;
pub(crate) use error::CommandError;
pub(crate) use evaluate::Evaluate;
pub(crate) use export::Export;
pub(crate) use extend_vocabulary::ExtendVocabulary;
pub(crate) use flags::{
    LanguageFlags, SpeedFlags, TermFlags, TermReport, at_least_one, one_of, open, print_terms,
    terms_in,
};
pub(crate) use import::Import;
pub(crate) use inspect::{Inspect, languages_of};
pub(crate) use lines::{
    BYTES_AT_ONCE, LineFlags, Lines, ParallelLines, Row, next_lines, on_one_line,
};
pub(crate) use output_path::{OutputPathError, Replacement, check_file, check_folder};
pub(crate) use progress::{LineRate, LineWarnings, Progress, tell};
pub(crate) use quantize::Quantize;
pub(crate) use score::Score;
pub(crate) use scores::{ScoreOptions, Scores};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
pub(crate) use shortlist::ShortlistCommand;
pub(crate) use translate::Translate;
