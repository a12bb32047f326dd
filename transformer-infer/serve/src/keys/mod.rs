//! API keys: the permitted callers, and their rates.

mod file;
mod rates;

pub(crate) use file::{Key, Keys};
pub(crate) use rates::Rates;
