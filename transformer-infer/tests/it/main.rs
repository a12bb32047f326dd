//! What crosses files: the real model under the real search, and the program as a user runs it.

mod attention;
mod browser;
mod command;
mod invariance;
mod model;
mod picture;
mod scores;
