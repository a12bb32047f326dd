//! The models of the server: loaded, found by name or by languages, and loaded again.

mod language_names;
mod load;
mod served;
mod set;

pub(crate) use language_names::LanguageNames;
pub(crate) use load::{Loader, ModelFacts};
pub(crate) use served::{Route, Served};
pub(crate) use set::{Models, Selection};
pub(crate) use transformer_core::text::language_codes::{ISO_639_3, base_language};
