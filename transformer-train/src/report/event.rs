//! TensorBoard's events: scalars, text and histograms of a step, and the records in which a file has them.
//!
//! The parts that are written of TensorFlow's `event.proto`, `summary.proto`, `tensor.proto`, `tensor_shape.proto` and
//! `histogram.proto`. A record has a CRC-32C of its length and of its data:
//! <https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>.

use std::io::{self, ErrorKind, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use crc32c::crc32c;
use prost::Message;

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

    pub(super) fn histogram(tag: String, histogram: Histogram) -> Self {
        let histogram = Some(histogram);
        Self {
            tag,
            histogram,
            ..Self::default()
        }
    }
}

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

fn event(step: u64) -> Event {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let wall_time = now.map_or(0.0, |now| now.as_secs_f64());
    Event {
        wall_time,
        step,
        ..Event::default()
    }
}

/// Number of bins; TensorBoard shows 30.
const N_BINS: usize = 64;

/// Number of values in each of [`N_BINS`] bins of equal width: TensorFlow's `histogram.proto`.
#[derive(PartialEq, Message)]
pub(super) struct Histogram {
    #[prost(double, required, tag = "1")]
    pub(super) min: f64,
    #[prost(double, required, tag = "2")]
    pub(super) max: f64,
    /// Number of finite values; others are left out.
    #[prost(double, required, tag = "3")]
    pub(super) n_values: f64,
    #[prost(double, required, tag = "4")]
    pub(super) sum: f64,
    #[prost(double, required, tag = "5")]
    pub(super) sum_of_squares: f64,
    #[prost(double, repeated, tag = "6")]
    pub(super) edges: Vec<f64>,
    #[prost(double, repeated, tag = "7")]
    pub(super) counts: Vec<f64>,
}

impl Histogram {
    /// Counts values. `None` if none is finite.
    pub(super) fn of(values: &[f32]) -> Option<Self> {
        let finite = || values.iter().filter(|value| value.is_finite());
        let finite = || finite().map(|value| f64::from(*value));
        let (lo, hi) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| {
            (lo.min(value), hi.max(value))
        });
        if lo > hi {
            return None;
        }
        let width = (hi - lo) / N_BINS as f64;
        let mut counts = vec![0.0; N_BINS];
        for value in finite() {
            // If all values are equal, the width is 0: NaN becomes bin 0.
            let bin = ((value - lo) / width) as usize;
            counts[bin.min(N_BINS - 1)] += 1.0;
        }
        let edges = (1..=N_BINS).map(|bin| {
            if bin == N_BINS {
                hi
            } else {
                lo + bin as f64 * width
            }
        });
        Some(Self {
            min: lo,
            max: hi,
            n_values: counts.iter().sum(),
            sum: finite().sum(),
            sum_of_squares: finite().map(|value| value * value).sum(),
            edges: edges.collect(),
            counts,
        })
    }
}

/// Maximum length of a record that is read, in bytes. The largest that this program writes, the histograms of a model,
/// has less than 1 MiB.
const MAX_LEN: u64 = 64 << 20;

/// Returns the checksum of data in the masked form that the format stores: a CRC of data that contains CRCs would be
/// weak.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8)
}

pub(super) fn record(data: &[u8]) -> Vec<u8> {
    let len = (data.len() as u64).to_le_bytes();
    let parts = [
        &len[..],
        &masked_crc(&len).to_le_bytes(),
        data,
        &masked_crc(data).to_le_bytes(),
    ];
    parts.concat()
}

/// Reads the data of the next record. `None` at the end, and at a truncated or damaged record, because nothing after it
/// can be read.
pub(super) fn read_record(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let (Some(len), Some(crc_of_len)) = (read_array::<8>(reader)?, read_array::<4>(reader)?) else {
        return Ok(None);
    };
    let n_bytes = u64::from_le_bytes(len);
    if masked_crc(&len).to_le_bytes() != crc_of_len || n_bytes > MAX_LEN {
        return Ok(None);
    }
    let mut data = Vec::new();
    reader.take(n_bytes).read_to_end(&mut data)?;
    let crc = read_array::<4>(reader)?;
    let is_intact = crc == Some(masked_crc(&data).to_le_bytes());
    Ok(is_intact.then_some(data))
}

/// Reads exactly `N` bytes; `None` if there are fewer.
fn read_array<const N: usize>(reader: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match reader.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_value_is_in_the_bin_below_its_edge() {
        let values = [-1.0, 0.999, f32::NAN, 1.0, f32::INFINITY];
        let histogram = Histogram::of(&values).expect("three values are finite");
        assert_eq!((histogram.min, histogram.max), (-1.0, 1.0));
        let bins = histogram.edges.iter().zip(&histogram.counts);
        let filled: Vec<_> = bins.filter(|(_, n)| **n > 0.0).collect();
        assert_eq!(filled, [(&(-1.0 + 1.0 / 32.0), &1.0), (&1.0, &2.0)]);
        assert_eq!(histogram.n_values, 3.0);
    }

    #[test]
    fn equal_values_are_counted() {
        let histogram = Histogram::of(&[0.25; 7]).expect("all values are finite");
        assert_eq!(histogram.n_values, 7.0);
        assert_eq!((histogram.sum, histogram.sum_of_squares), (1.75, 0.4375));
    }

    #[test]
    fn values_that_are_not_finite_have_no_histogram() {
        assert_eq!(Histogram::of(&[f32::NAN]), None);
    }
}

#[cfg(test)]
mod record_tests {
    use super::*;

    /// The test vectors of RFC 3720, section B.4.
    #[test]
    fn checksums_are_those_of_the_standard() {
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(&ascending), 0x46DD_794E);
    }

    #[test]
    fn records_are_read_back_in_order() -> io::Result<()> {
        let file = [record(b"one"), record(b""), record(b"three")].concat();
        let mut reader = file.as_slice();
        assert_eq!(read_record(&mut reader)?.as_deref(), Some(&b"one"[..]));
        assert_eq!(read_record(&mut reader)?.as_deref(), Some(&b""[..]));
        assert_eq!(read_record(&mut reader)?.as_deref(), Some(&b"three"[..]));
        assert_eq!(read_record(&mut reader)?, None);
        Ok(())
    }

    #[test]
    fn a_record_with_a_changed_byte_is_not_read() -> io::Result<()> {
        let intact = record(b"data");
        for index in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[index] ^= 0x20;
            assert_eq!(read_record(&mut damaged.as_slice())?, None, "byte {index}");
        }
        Ok(())
    }
}
