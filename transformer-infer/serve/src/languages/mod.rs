//! The languages of requests: given, or detected.

mod answer;
mod detection;

pub(crate) use answer::{Answer, Asked, AskedFormat, answer, answer_each, detector, pairs};
pub(crate) use detection::{Detection, MAX_DETECTED_BYTES};
