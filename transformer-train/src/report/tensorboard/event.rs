//! TensorBoard's events: scalars, text and histograms of a step.
//!
//! The parts that are written of TensorFlow's `event.proto`, `summary.proto`, `tensor.proto`, `tensor_shape.proto` and
//! `histogram.proto`.

use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message;

use super::histogram::Histogram;

/// TensorFlow's number of the element type `string`.
const DT_STRING: u32 = 7;

/// TensorFlow's code for the start of a session.
const START: u32 = 1;

#[derive(Message)]
struct Event {
    #[prost(double, required, tag = "1")]
    wall_time: f64,
    #[prost(uint64, required, tag = "2")]
    step: u64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
    #[prost(message, optional, tag = "7")]
    session: Option<Session>,
}

#[derive(Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    values: Vec<Value>,
}

#[derive(Message)]
struct Session {
    #[prost(uint32, required, tag = "1")]
    status: u32,
}

/// A value of a step under its tag.
#[derive(Message)]
pub(super) struct Value {
    #[prost(string, required, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    number: Option<f32>,
    #[prost(message, optional, tag = "5")]
    histogram: Option<Histogram>,
    #[prost(message, optional, tag = "8")]
    tensor: Option<TensorProto>,
    #[prost(message, optional, tag = "9")]
    metadata: Option<Metadata>,
}

#[derive(Message)]
struct TensorProto {
    #[prost(uint32, required, tag = "1")]
    dtype: u32,
    #[prost(message, required, tag = "2")]
    shape: Shape,
    #[prost(string, required, tag = "8")]
    text: String,
}

/// A shape of one axis.
#[derive(Message)]
struct Shape {
    #[prost(message, required, tag = "2")]
    axis: Axis,
}

#[derive(Message)]
struct Axis {
    #[prost(uint32, required, tag = "1")]
    size: u32,
}

#[derive(Message)]
struct Metadata {
    #[prost(message, required, tag = "1")]
    plugin: Plugin,
}

#[derive(Message)]
struct Plugin {
    #[prost(string, required, tag = "1")]
    name: String,
}

/// The step of an event, without its content.
#[derive(Message)]
struct Step {
    #[prost(uint64, required, tag = "2")]
    step: u64,
}

impl Value {
    /// A number, stored in single precision.
    pub(super) fn scalar(tag: String, value: f64) -> Self {
        let number = Some(value as f32);
        Self {
            tag,
            number,
            ..Self::default()
        }
    }

    /// A text; TensorBoard shows it as Markdown.
    pub(super) fn text(tag: String, text: String) -> Self {
        let shape = Shape {
            axis: Axis { size: 1 },
        };
        let plugin = Plugin {
            name: "text".to_owned(),
        };
        Self {
            tag,
            tensor: Some(TensorProto {
                dtype: DT_STRING,
                shape,
                text,
            }),
            metadata: Some(Metadata { plugin }),
            ..Self::default()
        }
    }

    /// A histogram.
    pub(super) fn histogram(tag: String, histogram: Histogram) -> Self {
        let histogram = Some(histogram);
        Self {
            tag,
            histogram,
            ..Self::default()
        }
    }
}

/// Returns the first event of a file.
pub(super) fn version() -> Vec<u8> {
    let file_version = Some("brain.Event:2".to_owned());
    Event {
        file_version,
        ..event(0)
    }
    .encode_to_vec()
}

/// Returns the event at which TensorBoard discards earlier events of a run.
pub(super) fn restart() -> Vec<u8> {
    let session = Some(Session { status: START });
    Event {
        session,
        ..event(0)
    }
    .encode_to_vec()
}

/// Returns the event with these values of a step.
pub(super) fn summary(step: u64, values: Vec<Value>) -> Vec<u8> {
    let summary = Some(Summary { values });
    Event {
        summary,
        ..event(step)
    }
    .encode_to_vec()
}

/// Returns the step of an event, or `None` if the bytes are not an event.
pub(super) fn step_of(event: &[u8]) -> Option<u64> {
    Step::decode(event).ok().map(|event| event.step)
}

/// Returns an event of a step without content, with the time of now.
fn event(step: u64) -> Event {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let wall_time = now.map_or(0.0, |now| now.as_secs_f64());
    Event {
        wall_time,
        step,
        ..Event::default()
    }
}
