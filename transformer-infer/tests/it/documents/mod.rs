//! Documents by the program and by the library.

mod command;
mod library;
