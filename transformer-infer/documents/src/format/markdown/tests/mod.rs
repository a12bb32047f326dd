//! Tests of the reader and the notation together.

mod properties;
