//! JSON: tables of strings, such as those of i18next, ARB and browser extensions.

mod grammar;
mod reader;

pub use grammar::JsonOptions;
pub(super) use reader::Json;
