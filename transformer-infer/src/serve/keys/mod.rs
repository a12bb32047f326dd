//! API keys: who may call, and how often.

mod file;
mod rates;

pub(crate) use file::{Key, Keys};
pub(crate) use rates::Rates;
