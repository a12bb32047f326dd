//! `cargo xtask tidy`: the rules of this repository that no other tool knows.

mod chapters;
mod documents;
mod folders;
mod imports;
mod layers;
mod listings;
mod one_build;
mod paper;
mod problem;
mod rules;
mod settings;
mod sources;
mod tokens;
mod tree;
mod words;

pub(crate) use rules::run;
