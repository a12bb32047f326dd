//! TensorBoard's events: scalars, text and histograms of a step.
//!
//! The field numbers are those of TensorFlow's `event.proto`, `summary.proto`, `tensor.proto` and `histogram.proto`.

use std::time::{SystemTime, UNIX_EPOCH};

use super::histogram::Histogram;
use super::protobuf::{Message, int_in};

/// TensorFlow's number of the element type `string`.
const DT_STRING: u64 = 7;

/// TensorFlow's code for the start of a session.
const START: u64 = 1;

/// The field of an event's step.
const STEP: u8 = 2;

/// A value of a step under its tag.
pub(super) struct Value {
    tag: String,
    content: Content,
}

enum Content {
    Scalar(f64),
    Text(String),
    Histogram(Histogram),
}

impl Value {
    /// A number, stored in single precision.
    pub(super) fn scalar(tag: String, value: f64) -> Self {
        let content = Content::Scalar(value);
        Self { tag, content }
    }

    /// A text; TensorBoard shows it as Markdown.
    pub(super) fn text(tag: String, text: String) -> Self {
        let content = Content::Text(text);
        Self { tag, content }
    }

    /// A histogram.
    pub(super) fn histogram(tag: String, histogram: Histogram) -> Self {
        let content = Content::Histogram(histogram);
        Self { tag, content }
    }

    fn message(&self) -> Message {
        let value = Message::default().bytes(1, &self.tag);
        match &self.content {
            Content::Scalar(scalar) => value.float(2, *scalar as f32),
            Content::Text(text) => {
                let shape = Message::default().message(2, &Message::default().int(1, 1));
                let tensor = Message::default()
                    .int(1, DT_STRING)
                    .message(2, &shape)
                    .bytes(8, text);
                let plugin = Message::default().bytes(1, "text");
                let metadata = Message::default().message(1, &plugin);
                value.message(8, &tensor).message(9, &metadata)
            }
            Content::Histogram(histogram) => value.message(5, &histogram_message(histogram)),
        }
    }
}

fn histogram_message(histogram: &Histogram) -> Message {
    let (lo, hi) = histogram.range;
    let bins = histogram.bins.iter();
    Message::default()
        .double(1, lo)
        .double(2, hi)
        .double(3, histogram.n_values as f64)
        .double(4, histogram.sum)
        .double(5, histogram.sum_of_squares)
        .doubles(6, bins.clone().map(|(edge, _)| *edge))
        .doubles(7, bins.map(|(_, n_values)| *n_values as f64))
}

/// Returns the first event of a file.
pub(super) fn version() -> Vec<u8> {
    event(0).bytes(3, "brain.Event:2").into_bytes()
}

/// Returns the event at which TensorBoard discards earlier events of a run.
pub(super) fn restart() -> Vec<u8> {
    let session = Message::default().int(1, START);
    event(0).message(7, &session).into_bytes()
}

/// Returns the event with these values of a step.
pub(super) fn summary(step: u64, values: &[Value]) -> Vec<u8> {
    let all = values.iter().map(Value::message);
    let summary = all.fold(Message::default(), |summary, value| {
        summary.message(1, &value)
    });
    event(step).message(5, &summary).into_bytes()
}

/// Returns the step of an event, or `None` if the bytes are not an event.
pub(super) fn step_of(event: &[u8]) -> Option<u64> {
    int_in(event, u64::from(STEP))
}

/// Returns an event of a step without content, with the time of now.
fn event(step: u64) -> Message {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0.0, |now| now.as_secs_f64());
    Message::default().double(1, seconds).int(STEP, step)
}
