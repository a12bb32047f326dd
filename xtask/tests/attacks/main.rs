//! Attacks on the two programs, as a careless or malicious user makes them: one file a class.
//!
//! They run with `RUN_SLOW_TESTS=1`. The failures of any run are in `program.rs`; each class adds what it knows.
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
