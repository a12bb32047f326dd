//! The translator in the browser: what the worker of the npm package calls.
//!
//! A [`Model`] is opened from [`Files`]; a [`Job`] translates a text, some sentences at a time. Objects go to and from
//! JavaScript as JSON. Errors are exceptions of the class `Error`; a panic throws a string instead, and the instance must
//! not be used again.
#![cfg(target_family = "wasm")]

mod job;
mod model;
mod options;
mod sentence;
#[cfg(target_feature = "atomics")]
mod threads;

use std::panic;

use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::throw_str;

pub use job::{Job, prepare};
pub use model::{Files, Model};
#[cfg(target_feature = "atomics")]
pub use threads::{compiled, run_thread, start_threads};

/// Makes panics exceptions with their message.
#[wasm_bindgen(start)]
pub fn start() {
    panic::set_hook(Box::new(|panic| throw_str(&panic.to_string())));
}
