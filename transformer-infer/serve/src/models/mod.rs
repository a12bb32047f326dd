//! The models of the server: loaded, found by name or by languages, and loaded again.

mod facts;
mod language_names;
mod load;
mod route;
mod served;
mod set;

pub(crate) use facts::ModelFacts;
pub(crate) use language_names::LanguageNames;
pub(crate) use load::Loader;
pub(crate) use route::Route;
pub(crate) use served::Served;
pub(crate) use set::{Models, Selection};
pub(crate) use transformer_core::text::language_codes::{ISO_639_3, base_language};
