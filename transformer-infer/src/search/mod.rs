//! Search for likely token sequences (§6.1), over anything that can score a next token.
//!
//! Nothing here knows a Transformer or a tensor: a model is whatever implements [`NextToken`].

mod at_limit;
mod beam;
mod config;
mod coverage;
mod ensemble;
mod error;
mod greedy;
mod hypothesis;
mod length_limit;
mod next_token;
mod penalty;
mod processors;
mod request;
mod sampling;
mod stop_rule;
#[cfg(test)]
mod tests;
mod walk;

pub use at_limit::AtLimit;
pub use beam::beam_search;
pub use config::Search;
pub use ensemble::{Ensemble, EnsembleMean};
pub use error::SearchError;
pub use greedy::greedy_search;
pub use hypothesis::Hypothesis;
pub use length_limit::LengthLimit;
pub(crate) use next_token::best_few_of_row;
pub use next_token::{Best, NEVER_GENERATED, NextToken};
pub use penalty::LengthPenalty;
pub use request::Request;
pub use sampling::{Sampling, sample};
pub use stop_rule::StopRule;
