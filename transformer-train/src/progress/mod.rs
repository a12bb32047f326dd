//! How a run tells its user what it does, and hears that it is to end.

mod held_line;
mod interrupt;
mod watch;

pub(crate) use held_line::HeldLine;
pub use interrupt::{Interrupt, Stage};
pub(crate) use watch::{Progress, Watch};
pub use watch::{Say, Show};
