//! The server's own interface, under `/v1`.

mod attention;
mod models;
mod reply;
mod request;
mod router;
mod translate;

pub(crate) use request::JsonBody;
pub(crate) use router::{openapi, router};
