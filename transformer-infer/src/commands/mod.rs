//! The commands of `transformer-infer`, each in its own file or folder, and the flags and files that they share.

mod attention;
mod bleu;
mod compare;
mod error;
mod evaluate;
mod export;
mod extend_vocabulary;
mod import;
mod inspect;
mod language_flags;
mod line_warnings;
mod lines;
mod open_translator;
mod output_path;
mod parallel;
mod picture;
mod piece_bleu;
mod progress;
mod quantize;
mod score;
mod score_options;
mod scores;
#[cfg(feature = "serve")]
mod serve;
mod speed_flags;
mod terms;
mod translate;
mod value_parsers;

pub(crate) use attention::AttentionCommand;
pub(crate) use bleu::BleuCommand;
pub(crate) use compare::Compare;
pub(crate) use error::CommandError;
pub(crate) use evaluate::Evaluate;
pub(crate) use export::Export;
pub(crate) use extend_vocabulary::ExtendVocabulary;
pub(crate) use import::Import;
pub(crate) use inspect::{Inspect, languages_of};
pub(crate) use language_flags::LanguageFlags;
pub(crate) use line_warnings::LineWarnings;
pub(crate) use lines::{BYTES_AT_ONCE, LineFlags, Lines, next_lines, on_one_line};
pub(crate) use open_translator::open;
pub(crate) use output_path::{OutputPathError, check_file, check_folder};
pub(crate) use parallel::{ParallelLines, Row};
pub(crate) use picture::{PictureError, unfinished};
pub(crate) use progress::Progress;
pub(crate) use quantize::Quantize;
pub(crate) use score::Score;
pub(crate) use score_options::ScoreOptions;
pub(crate) use scores::Scores;
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
pub(crate) use speed_flags::SpeedFlags;
pub(crate) use terms::{TermFlags, TermReport, print_terms, terms_in};
pub(crate) use translate::Translate;
pub(crate) use value_parsers::at_least_one;
