//! JSON: tables of strings, such as those of i18next, ARB and browser extensions.

mod filter;
mod grammar;
mod reader;
mod string;

pub use filter::JsonOptions;
pub(super) use reader::Json;
