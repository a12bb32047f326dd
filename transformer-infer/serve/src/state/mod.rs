//! The state that all requests share.

mod budget;
mod shared;

pub(crate) use budget::{Budget, Claimant, Share};
pub(crate) use shared::{Caller, Shared, network};
