//! The server's own interface, under `/v1`.

mod attention;
mod models;
mod reply;
mod router;
mod translate;

pub(crate) use router::{Paths, router};
pub(crate) use translate::JsonBody;
