//! `cargo xtask settings`: documents the settings of training.
//!
//! Their doc comments are the manual. From them come the table that the program prints with
//! `--print-config`, a JSON Schema for editors, and `docs/configuration.toml`. All three are
//! checked in; `cargo xtask tidy` reports those that are out of date.

mod generate;
mod schema;
mod section;
mod table;
mod types;

pub(crate) use generate::{outdated, run};
