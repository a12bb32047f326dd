//! The Transformer as a search sees it: rows of decoder states that grow token by token.

mod transformer;

pub use transformer::Scorer;
