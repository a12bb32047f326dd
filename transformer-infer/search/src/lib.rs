//! Search for likely token sequences (§6.1), with any model that scores a next token.
//!
//! Nothing here depends on a Transformer or a tensor: any [`NextToken`] is a model.

#[cfg(test)]
extern crate self as transformer_search;

mod config;
mod ensemble;
mod error;
mod hypothesis;
mod next_token;
mod phrase_beam;
mod phrase_tracker;
mod processors;
mod renormalize;
mod request;
mod rules;
mod run;
mod running;
mod sentence_beam;
mod sequences;
#[cfg(test)]
mod tests;

pub use config::Search;
#[doc(hidden)]
pub use ensemble::{Ensemble, EnsembleMean};
pub use error::SearchError;
pub use hypothesis::Hypothesis;
pub use next_token::NextToken;
#[doc(hidden)]
pub use next_token::{NEVER_GENERATED, PrefixScorer, Recorder, ScoredToken, SearchStep};
#[doc(hidden)]
pub use renormalize::log_prob_without;
#[doc(hidden)]
pub use request::{Phrase, Position, Request, TokenEdges, Variant};
#[doc(hidden)]
pub use rules::AtLimit;
pub use rules::{LengthLimit, LengthPenalty, StopRule};
pub use run::{beam_search, greedy_search, sample};
#[doc(hidden)]
pub use running::{Found, RunningSearch};
pub use sequences::Sampling;
