//! Search for likely token sequences (§6.1), over anything that can score a next token.
//!
//! Nothing here knows a Transformer or a tensor: a model is whatever implements [`NextToken`].

mod beam;
#[cfg(test)]
mod beam_tests;
mod config;
mod greedy;
mod hypothesis;
mod next_token;
mod penalty;
#[cfg(test)]
mod table;

pub use beam::beam_search;
pub use config::{MaxLen, Search, SearchError};
pub use greedy::greedy_search;
pub use hypothesis::Hypothesis;
pub use next_token::{Best, NEVER_GENERATED, NextToken};
pub use penalty::LengthPenalty;
