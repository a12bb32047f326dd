//! Search for likely token sequences (§6.1), with any model that scores a next token.
//!
//! Nothing here depends on a Transformer or a tensor: any [`NextToken`] is a model.

#[cfg(test)]
extern crate self as transformer_search;

mod candidates;
mod config;
mod ensemble;
mod error;
mod hypothesis;
mod lengths;
mod next_token;
mod phrase_beam;
mod phrase_tracker;
mod processors;
mod recorder;
mod request;
mod rules;
mod run;
mod running;
mod sampling;
mod sentence_beam;
mod sequences;
#[cfg(test)]
mod tests;

pub use config::Search;
#[doc(hidden)]
pub use ensemble::{Ensemble, EnsembleMean};
pub use error::SearchError;
pub use hypothesis::Hypothesis;
pub use lengths::{LengthLimit, LengthPenalty};
pub use next_token::NextToken;
#[doc(hidden)]
pub use next_token::{NEVER_GENERATED, PrefixScorer, ScoredToken};
#[doc(hidden)]
pub use recorder::{Recorder, SearchStep};
#[doc(hidden)]
pub use request::{Phrase, Position, Request, TokenEdges, Variant};
#[doc(hidden)]
pub use rules::AtLimit;
pub use rules::StopRule;
pub use run::{beam_search, greedy_search, sample};
#[doc(hidden)]
pub use running::{Found, RunningSearch};
pub use sampling::Sampling;
