//! LibreTranslate's interface, for programs that use it; see docs/serving.md.

mod detect;
mod error;
mod files;
mod languages;
mod request;
mod router;
mod settings;
mod suggest;
mod translate;

pub(crate) use languages::english_name;
pub(crate) use request::{admitted, missing};
pub(crate) use router::{openapi, router};
