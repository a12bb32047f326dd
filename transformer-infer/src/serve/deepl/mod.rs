//! DeepL's interface, so that programs that speak it can use this server: see docs/serving.md.

mod document;
mod error;
mod glossaries;
mod languages;
mod request;
mod router;
mod translate;
mod usage;

pub(crate) use router::{openapi, router};
