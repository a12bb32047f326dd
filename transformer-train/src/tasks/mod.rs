//! Tasks whose data is made in code: something to train on before there is a corpus.

mod numbers;
mod sequences;
mod task;

pub use numbers::{And, NumberStyle, Tens, english};
pub use sequences::MAX_SEQUENCE_LEN;
pub use task::{Split, Task, TaskError};
