//! Strict reading of JSON: what a file of ours must not contain is an error that names the key.
//!
//! `serde_json` alone lets the last of several equal keys of a map win, reads a list of the fields in order as a struct,
//! and does not say which key has a wrong type.

mod error;
mod node;
mod read;
mod unique;

pub use error::JsonError;
pub use read::{from_slice, from_value, parse};
pub use unique::UniqueKeys;
