//! The event file of a run has what `metrics.csv` has, however the run was stopped.
//!
//! The reader here shares no code with the writer; `tests/fixtures/check_tensorboard.py` reads runs
//! with TensorBoard itself.

use std::fs;

use crate::workplace::Workplace;

/// A field of a message of Protocol Buffers.
enum Field<'a> {
    Number(u64),
    Single(f32),
    Bytes(&'a [u8]),
}

/// Splits a message into its fields, each with its number.
fn fields(mut message: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn take<'a>(bytes: &mut &'a [u8], n_bytes: usize) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(n_bytes);
        *bytes = rest;
        taken
    }
    fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for index in 0.. {
            let byte = take(bytes, 1)[0];
            value |= u64::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut all = Vec::new();
    while !message.is_empty() {
        let key = number(&mut message);
        let field = match key & 7 {
            0 => Field::Number(number(&mut message)),
            1 => Field::Bytes(take(&mut message, 8)),
            2 => {
                let len = number(&mut message) as usize;
                Field::Bytes(take(&mut message, len))
            }
            5 => {
                let bytes = take(&mut message, 4).try_into();
                Field::Single(f32::from_le_bytes(bytes.expect("four bytes were taken")))
            }
            other => panic!("wire type {other}"),
        };
        all.push((key >> 3, field));
    }
    all
}

/// A value of an event: its step, its tag, and the number if it is a scalar.
type Value = (u64, String, Option<f32>);

/// Returns the values in the only event file of a run, in their order.
fn values(workplace: &Workplace, out: &str) -> Vec<Value> {
    let entries = fs::read_dir(workplace.path(out)).expect("the run has a folder");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let is_event_file = |name: &str| name.contains("tfevents");
    let mut files = paths.filter(|path| path.to_str().is_some_and(is_event_file));
    let file = files.next().expect("the run has an event file");
    assert!(files.next().is_none(), "there are two event files");
    let bytes = fs::read(file).expect("the file can be read");
    let mut values = Vec::new();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let len = rest[..8].try_into().map(u64::from_le_bytes);
        let len = len.expect("eight bytes were taken") as usize;
        let event = fields(&rest[12..12 + len]);
        rest = &rest[16 + len..];
        let step = event.iter().find_map(|(number, field)| match field {
            Field::Number(step) if *number == 2 => Some(*step),
            _ => None,
        });
        for (number, field) in &event {
            let Field::Bytes(summary) = field else {
                continue;
            };
            if *number == 5 {
                let parsed = fields(summary).into_iter().map(|(_, field)| match field {
                    Field::Bytes(value) => value_of(step.unwrap_or(0), value),
                    _ => panic!("a summary has messages only"),
                });
                values.extend(parsed);
            }
        }
    }
    values
}

fn value_of(step: u64, message: &[u8]) -> Value {
    let mut value = (step, String::new(), None);
    for (number, field) in fields(message) {
        match (number, field) {
            (1, Field::Bytes(tag)) => value.1 = String::from_utf8_lossy(tag).into_owned(),
            (2, Field::Single(scalar)) => value.2 = Some(scalar),
            _ => {}
        }
    }
    value
}

/// Checks that the scalars of a run are the rows of `metrics.csv`, in their order.
fn assert_same_as_table(workplace: &Workplace, out: &str) {
    let table = workplace.read(&format!("{out}/metrics.csv"));
    let rows = table.lines().skip(1).map(|row| {
        let columns: Vec<&str> = row.split(',').collect();
        let update = columns[0].parse().expect("updates are numbers");
        let value: f64 = columns[3].parse().expect("values are numbers");
        let tag = format!("{}/{}", columns[1], columns[2]);
        (update, tag, Some(value as f32))
    });
    let mut scalars = values(workplace, out);
    scalars.retain(|(_, _, scalar)| scalar.is_some());
    assert_eq!(scalars, rows.collect::<Vec<Value>>());
}

#[test]
fn the_event_file_has_the_values_of_the_table() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    assert_same_as_table(&workplace, "run");
}

#[test]
fn every_validation_has_its_sentences() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let mut samples = values(&workplace, "run");
    samples.retain(|(_, tag, _)| tag == "samples/2");
    let steps: Vec<u64> = samples.iter().map(|(step, ..)| *step).collect();
    assert_eq!(steps, [10, 20, 25]);
}

#[test]
fn a_killed_run_has_every_event_once() {
    let workplace = Workplace::new();
    for n_intervals in [2, 1, 3] {
        let mut running = workplace.start("run", 200);
        running.wait_for_intervals(n_intervals);
        running.kill();
    }
    workplace.train("run", &["--updates", "200"]).lines();
    assert_same_as_table(&workplace, "run");
}

#[test]
fn a_run_without_an_event_file_gets_one_from_its_table() {
    let workplace = Workplace::new();
    let off = ["--updates", "20", "--set", "report.tensorboard=off"];
    workplace.train("run", &off).lines();
    workplace.train("run", &["--updates", "40"]).lines();
    assert_same_as_table(&workplace, "run");
}

#[test]
fn histograms_are_written_on_request() {
    let workplace = Workplace::new();
    workplace
        .train("run", &["--set", "report.tensorboard=histograms"])
        .lines();
    let mut histograms = values(&workplace, "run");
    histograms.retain(|(_, tag, _)| tag.starts_with("weights/"));
    let n_parameters = workplace.weights("run").len();
    assert_eq!(histograms.len(), 3 * n_parameters);
}
