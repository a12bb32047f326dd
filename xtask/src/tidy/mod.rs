//! `cargo xtask tidy`: the rules of this repository that no other tool checks.

mod chapters;
mod documents;
mod listings;
mod one_build;
mod paper;
mod rules;
mod tree;

pub(crate) use rules::run;
