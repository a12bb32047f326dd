//! Search for likely token sequences (§6.1), with any model that scores a next token.
//!
//! Nothing here depends on a Transformer or a tensor: any [`NextToken`] is a model.

#[cfg(test)]
extern crate self as transformer_search;

mod at_limit;
mod beam;
mod candidates;
mod config;
mod coverage;
mod ensemble;
mod error;
mod greedy;
mod hypothesis;
mod length_limit;
mod next_token;
mod penalty;
mod phrase;
mod phrase_beam;
mod phrase_tracker;
mod predicted;
mod prefix_scorer;
mod processors;
mod recorder;
mod request;
mod run;
mod running;
mod sample;
mod sampling;
mod sentence_beam;
mod sequences;
mod stop_rule;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use at_limit::AtLimit;
pub use beam::beam_search;
pub use config::Search;
#[doc(hidden)]
pub use ensemble::{Ensemble, EnsembleMean};
pub use error::SearchError;
pub use greedy::greedy_search;
pub use hypothesis::Hypothesis;
pub use length_limit::LengthLimit;
pub use next_token::NextToken;
#[doc(hidden)]
pub use next_token::{NEVER_GENERATED, ScoredToken};
pub use penalty::LengthPenalty;
#[doc(hidden)]
pub use phrase::{Phrase, Position, TokenEdges, Variant};
#[doc(hidden)]
pub use prefix_scorer::PrefixScorer;
#[doc(hidden)]
pub use recorder::{Recorder, SearchStep};
#[doc(hidden)]
pub use request::Request;
#[doc(hidden)]
pub use running::{Found, RunningSearch};
pub use sample::sample;
pub use sampling::Sampling;
pub use stop_rule::StopRule;
