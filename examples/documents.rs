//! Nothing to use: this tests the Rust code of the documents.
//!
//! The documents use all crates of the workspace, and a package contains only its own files, so none of the crates can
//! test them.

/// Each document with Rust code.
macro_rules! documents {
    ($($name:ident: $path:literal,)+) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!($path)]
            struct $name;
        )+
    };
}

documents! {
    Readme: "../README.md",
    Embedding: "../docs/embedding.md",
    Importing: "../docs/importing.md",
    Core: "../transformer-core/README.md",
    Infer: "../transformer-infer/README.md",
}
