//! Limits that need a handler that waits, panics or never ends.

mod guard;
