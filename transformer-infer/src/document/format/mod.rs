//! The formats of documents: each is a reader of parts.
