//! Files of keys and values, one after the other: Java's properties, Apple's strings, and YAML.

mod reader;

pub use reader::PairKind;
pub(super) use reader::{Pairs, encoding_of_properties};
