//! Tests of the reader, by itself and compared with a browser's parser.

mod properties;
mod reader;
mod soup;
mod tokenizer;
mod trees;
