//! The server's own interface, under `/v1`.

mod attention;
mod code_points;
mod json_body;
mod models;
mod reply;
mod request;
mod router;
mod stream;
mod translate;

pub(crate) use json_body::JsonBody;
pub(crate) use router::{openapi, router};
