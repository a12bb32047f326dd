//! The imports between the files of each crate: no circles, and no folder imports one above it.

mod check;
mod circles;
mod modules;
mod order;
mod scope;

pub(super) use check::check;
