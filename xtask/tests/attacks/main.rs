//! Attacks on the two programs, as by a careless or malicious user: one file for each class.
//!
//! They run with `RUN_SLOW_TESTS=1`. `program.rs` checks the claims about every run; each class adds its own.
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "a skipped attack prints its reason")]

mod attack;
mod clocks;
mod damage;
mod disks;
mod disturbed;
mod documents;
mod faults;
mod imports;
mod kept;
mod keys;
mod kills;
mod lab;
mod models;
mod program;
mod results;
mod resumes;
mod runs;
mod settings;
mod text;
mod texts;
