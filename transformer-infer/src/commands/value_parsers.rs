//! Parsers of values on the command line.

use clap::builder::RangedU64ValueParser;

/// Parses an integer of at least 1.
pub(crate) fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}
