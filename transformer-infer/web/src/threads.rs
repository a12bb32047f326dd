//! Threads that share the module's memory: rayon's global pool, with a worker of JavaScript for each thread.

use std::sync::{Condvar, Mutex, PoisonError};

use rayon::{ThreadBuilder, ThreadPoolBuilder};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::options::refused;

/// Threads of the pool that no worker runs yet.
static WAITING: Mutex<Vec<ThreadBuilder>> = Mutex::new(Vec::new());

static ADDED: Condvar = Condvar::new();

/// Returns the compiled module, for workers of other threads.
#[wasm_bindgen]
pub fn compiled() -> JsValue {
    wasm_bindgen::module()
}

/// Makes the calling thread the first of `n` threads of the pool. Returns when workers run the others.
///
/// # Errors
///
/// Returns an error if there is a pool already.
#[wasm_bindgen]
pub fn start_threads(n: usize) -> Result<(), JsError> {
    let wait = |thread| {
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(thread);
        ADDED.notify_one();
        Ok(())
    };
    let pool = ThreadPoolBuilder::new().num_threads(n).use_current_thread();
    pool.spawn_handler(wait).build_global().map_err(refused)
}

/// Runs a thread of the pool, and never returns: for a worker with another instance of the module in the same memory.
#[wasm_bindgen]
pub fn run_thread() {
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = ADDED.wait_while(waiting, |waiting| waiting.is_empty());
    let thread = waiting.unwrap_or_else(PoisonError::into_inner).pop();
    thread.expect("the wait ends with a thread").run();
}
