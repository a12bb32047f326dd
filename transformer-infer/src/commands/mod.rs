//! The commands of `transformer-infer`, one file each.

mod attention;
mod bleu;
mod compare;
mod error;
mod evaluate;
mod export;
mod import;
mod inspect;
mod lines;
mod open;
mod parallel;
mod picture;
mod place;
mod progress;
mod quantize;
mod score;
mod score_options;
mod translate;

use clap::builder::RangedU64ValueParser;

pub(crate) use attention::AttentionCommand;
pub(crate) use bleu::BleuCommand;
pub(crate) use compare::Compare;
pub(crate) use error::CommandError;
pub(crate) use evaluate::Evaluate;
pub(crate) use export::Export;
pub(crate) use import::Import;
pub(crate) use inspect::Inspect;
pub(crate) use lines::{STANDARD_INPUT, lines_of, on_one_line, read_lines};
pub(crate) use open::open;
pub(crate) use parallel::{count, print_scores, read_parallel};
pub(crate) use picture::{PictureError, unfinished};
pub(crate) use place::{PlaceError, check_file, check_folder};
pub(crate) use progress::Progress;
pub(crate) use quantize::Quantize;
pub(crate) use score::Score;
pub(crate) use score_options::ScoreOptions;
pub(crate) use translate::Translate;

/// Parses a number of at least 1.
fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}
