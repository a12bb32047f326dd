//! The common parts of all interfaces: the client, the limits, and the replies to refused requests.

mod client;
mod doubtful;
mod error;
mod guard;
mod origin;

pub(crate) use client::{Client, Peer, SentKey, observe};
pub(crate) use doubtful::doubtful_headers;
pub(crate) use error::{ApiError, ErrorBody};
pub(crate) use guard::{KeyPlace, guard_body, guarded, guarded_body};
pub(crate) use origin::{check_origin, cors};
