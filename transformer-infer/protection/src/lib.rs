//! Text that translations copy, such as placeholders, URLs and numbers, and the faults of translations that can be seen
//! without knowing the languages.
//!
//! Programs use it through `transformer-infer`, as part of `document`. Training finds the pairs by it that do not
//! translate each other.
//!
//! - [`Protection`] finds what is copied, by the table in `kinds.rs`.
//! - [`Fault`]: an error of a translation; `kept.rs` checks whether copied text is kept, and `check.rs` the rest.

mod check;
#[doc(hidden)]
pub mod kept;
#[doc(hidden)]
pub mod kinds;
mod patterns;
#[doc(hidden)]
pub mod protection;

pub use check::{Doubtful, Fault, Faults};
pub use protection::Protection;
#[doc(hidden)]
pub use protection::ProtectionError;
