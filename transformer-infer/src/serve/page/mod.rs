//! The page of the server: plain HTML, style and scripts, compiled into the program.
//!
//! - `static/`: the files as browsers read them.
//! - [`router`]: their addresses, with the headers that forbid them everything else.

mod asset;
mod attention_frame;
mod router;

pub(crate) use router::router;
