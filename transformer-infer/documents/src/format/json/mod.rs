//! JSON: tables of strings, such as those of i18next, ARB and browser extensions.

mod filter;
mod grammar;
mod options;
mod reader;
mod scanner;
mod string;

pub use options::JsonOptions;
pub use reader::JsonReader;
