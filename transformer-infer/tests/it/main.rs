//! What crosses files: the real model under the real search, and the program as a user runs it.

mod command;
mod invariance;
mod model;
mod scores;
