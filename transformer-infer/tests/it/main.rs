//! Integration tests: a Transformer with the searches, and the program as a user runs it.

mod alignments;
mod attention;
mod browser;
mod chromium;
mod command;
mod comparison_page;
mod copy_model;
mod documents;
mod export;
mod extend_vocabulary;
mod files;
mod half;
#[cfg(feature = "serve")]
mod interfaces;
mod invariance;
mod length_limits;
mod limits;
#[cfg(target_os = "linux")]
mod lost_output;
mod marian;
#[cfg(target_os = "linux")]
mod memory;
mod model;
mod multilingual;
mod options;
#[cfg(feature = "serve")]
mod page;
mod pair_scores;
mod pegasus;
mod picture;
mod quantize;
mod scheduler;
mod scores;
#[cfg(feature = "serve")]
mod serve;
mod shared;
mod shortlist;
mod significance;
mod streaming;
mod terms;
#[cfg(target_os = "linux")]
mod threads;
#[path = "../../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "only the tests of transformer-core use the rest")]
mod weights;
