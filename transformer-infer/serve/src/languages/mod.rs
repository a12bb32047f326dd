//! The languages of requests: given, or detected.

mod answer;
mod asked;
mod detection;
mod pairs;
mod sources;

pub(crate) use answer::answer;
pub(crate) use asked::{Answer, Asked, AskedFormat};
pub(crate) use detection::Detection;
pub(crate) use pairs::pairs;
pub(crate) use sources::{detector, without_tags};
