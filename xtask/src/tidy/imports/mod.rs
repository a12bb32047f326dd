//! The imports between the files of each crate: no cycles, and no folder imports one above it.
//!
//! An import is a path to a name. Methods are not looked up: `T::function()` counts as a use of the file that
//! defines `T`, and `self.method()` and `Self::function()` as none. So a cycle that only the calls between a
//! type's `impl` blocks in several files close is not found.

mod check;
mod circles;
mod modules;
#[cfg(test)]
mod modules_tests;
mod order;
mod scope;
#[cfg(test)]
mod scope_tests;

pub(super) use check::check;
