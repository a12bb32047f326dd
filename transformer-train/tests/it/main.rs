//! Whole training runs, through the library and through the program.

mod adapters;
mod average;
#[cfg(unix)]
mod changed;
mod checkpointing;
mod corpora;
mod dashboard;
mod data;
mod devices;
mod embeddings;
#[cfg(target_os = "linux")]
mod few_threads;
mod finetune;
mod folder;
mod forecast;
mod hostile;
mod kills;
mod languages;
mod learning;
#[cfg(target_os = "linux")]
mod lost_output;
#[cfg(target_os = "linux")]
mod memory;
mod mixed_precision;
mod optimizer;
mod ranks;
mod refusal;
mod reproduction;
mod resume;
#[cfg(unix)]
mod score_command;
mod shared;
mod store;
mod tensorboard;
mod trouble;
#[path = "../../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "only the tests of transformer-core use the rest")]
mod weights;
mod whole_run;
mod workplace;
