//! The common parts of all interfaces: the client, the limits, and the replies to refused requests.

mod client;
mod error;
mod guard;
mod origin;

pub(crate) use client::{Client, Peer, SentKey, observe};
pub(crate) use error::{ApiError, ErrorBody, doubtful_headers};
pub(crate) use guard::{KeyPlace, guard_body, guarded, guarded_body, interface};
pub(crate) use origin::{check_origin, cors};
