//! `cargo xtask hostile`: attacks the two programs as a careless or malicious user does.
//!
//! Every attempt is derived from the seed, its class and its index, and has a folder of its own. What counts as a
//! failure in any attempt is in `call.rs`, and what a class expects beyond that is in its file.

mod call;
mod case;
mod classes;
mod clocks;
mod damage;
mod disks;
mod document;
mod document_checks;
mod document_seeds;
mod documents;
mod imports;
mod kills;
mod lab;
mod models;
mod mounted;
mod random;
mod report;
mod resumes;
mod run;
mod run_files;
mod runs;
mod settings;
mod text;
mod text_checks;
mod texts;
mod training_texts;
mod zip;

pub(crate) use run::{Flags, run, short};
