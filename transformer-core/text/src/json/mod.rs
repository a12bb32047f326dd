//! Strict reading of JSON: unexpected content in one of our files is an error that names the key.
//!
//! `serde_json` alone takes the last of several equal keys of a map, reads a list of the fields in order as a struct,
//! and does not name the key with a wrong type.

mod node;
mod read;
mod unique;

pub use read::{JsonError, from_slice, from_value, parse};
pub use unique::{Text, UniqueKeys};
