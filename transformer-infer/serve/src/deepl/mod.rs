//! DeepL's interface, for programs that use it; see docs/serving.md.

mod document;
mod error;
mod glossaries;
mod languages;
mod request;
mod router;
mod translate;
mod usage;

pub(crate) use router::{openapi, router};
