//! What threads can share: checked by the compiler.

use transformer_train::batching::Batch;
use transformer_train::config::Experiment;
use transformer_train::{Interrupt, Outcome, RunEnvironment, SentencePair, TrainError};

/// Compiles for types that threads can share by reference, and send to each other.
const fn is_shared<T: Send + Sync>() {}

#[test]
fn threads_can_share_what_a_run_needs_and_returns() {
    is_shared::<Experiment>();
    is_shared::<RunEnvironment>();
    is_shared::<Interrupt>();
    is_shared::<Outcome>();
    is_shared::<TrainError>();
    is_shared::<SentencePair>();
    is_shared::<Batch>();
}
