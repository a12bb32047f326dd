//! The common parts of all interfaces: the client, the limits, and the replies to refused requests.

mod client;
mod doubtful;
mod error;
mod guard;
mod guarded_body;
mod observe;
mod origin;

pub(crate) use client::{Client, Peer, SentKey};
pub(crate) use doubtful::doubtful_headers;
pub(crate) use error::{ApiError, ErrorBody};
pub(crate) use guard::{KeyPlace, guarded};
pub(crate) use guarded_body::{guard_body, guarded_body};
pub(crate) use observe::observe;
pub(crate) use origin::{check_origin, cors};
