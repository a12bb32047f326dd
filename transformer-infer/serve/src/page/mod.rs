//! The page of the server: plain HTML, style and scripts, compiled into the program.
//!
//! - `static/`: the files for browsers.
//! - [`router`]: their addresses, with headers that forbid everything else.

mod asset;
mod router;

pub(crate) use router::router;
