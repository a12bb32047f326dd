//! Reading of files: lines of text, JSON, and bytes of limited size.

mod gzip;
pub mod json;
pub mod lines;
#[cfg(test)]
mod lines_tests;
pub mod regular_file;
mod unpacked;
