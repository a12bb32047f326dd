//! The models of the server: listed, found by name or by languages, loaded, and loaded again.

mod language_names;
mod listed;
mod load;
mod places;
mod pool;
mod served;
mod set;

pub(crate) use language_names::LanguageNames;
pub(crate) use listed::{Choice, Listed};
pub(crate) use load::{Loader, ModelFacts};
pub(crate) use pool::Pool;
pub(crate) use served::{Route, Served};
pub(crate) use set::{Models, Selection, is_auto};
pub(crate) use transformer_core::text::language_codes::base_language;
