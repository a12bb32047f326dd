//! Reproducibility: text, settings, seed and number of threads determine the weights.

use std::ffi::OsString;
use std::fs;

use crate::workplace::{FILES, Workplace};

/// Whether two runs with these arguments have bit-equal weights.
fn have_equal_weights(first: &[&str], second: &[&str]) -> bool {
    let workplace = Workplace::new();
    workplace.train("first", first).lines();
    workplace.train("second", second).lines();
    let (first, second) = (workplace.weights("first"), workplace.weights("second"));
    assert_eq!(first.len(), second.len());
    first == second
}

#[test]
fn the_same_seed_gives_the_same_weights() {
    assert!(have_equal_weights(&["--seed", "3"], &["--seed", "3"]));
}

/// Returns the files of a model but its manifest, which has the duration of the run.
fn model_files(workplace: &Workplace, out: &str) -> Vec<(OsString, Vec<u8>)> {
    let entries = fs::read_dir(workplace.path(&format!("{out}/model")));
    let entries = entries.expect("the run has a model").map(|entry| {
        let entry = entry.expect("the folder can be read");
        let bytes = fs::read(entry.path()).expect("the file can be read");
        (entry.file_name(), bytes)
    });
    let mut files: Vec<_> = entries
        .filter(|(name, _)| name != "manifest.json")
        .collect();
    files.sort_unstable();
    files
}

#[test]
fn the_same_settings_leave_the_same_bytes() {
    let workplace = Workplace::new();
    for out in ["first", "second"] {
        workplace.train(out, &[]).lines();
    }
    let files = model_files(&workplace, "first");
    assert!(files.len() > 2, "{files:?}");
    assert!(files == model_files(&workplace, "second"));
}

#[test]
fn the_same_settings_leave_the_same_bytes_of_a_moving_average() {
    let workplace = Workplace::with(&[("average_last = 2", "ema_decay = 0.9")]);
    for out in ["first", "second"] {
        workplace.train(out, &[]).lines();
    }
    assert!(model_files(&workplace, "first") == model_files(&workplace, "second"));
}

#[test]
fn another_seed_gives_other_weights() {
    assert!(!have_equal_weights(&["--seed", "3"], &["--seed", "4"]));
}

/// Trains with two threads, and returns the weights.
fn on_two_threads(workplace: &Workplace, out: &str, seed: &str) -> Vec<Vec<f32>> {
    let more = ["--threads", "2", "--seed", seed, "--out", out];
    workplace.run(&[&FILES[..], &more].concat()).lines();
    workplace.weights(out)
}

#[test]
fn the_same_seed_gives_the_same_weights_on_two_threads() {
    let workplace = Workplace::new();
    let first = on_two_threads(&workplace, "first", "3");
    assert!(on_two_threads(&workplace, "second", "3") == first);
}

#[test]
fn another_seed_gives_other_weights_on_two_threads() {
    let workplace = Workplace::new();
    let first = on_two_threads(&workplace, "first", "3");
    assert!(on_two_threads(&workplace, "second", "4") != first);
}

/// Returns the loss of every update of a run that validates after each update.
fn losses(workplace: &Workplace, out: &str) -> Vec<f64> {
    let curve = workplace.read(&format!("{out}/metrics.csv"));
    let rows = curve.lines().map(str::to_lowercase);
    let loss = rows.filter_map(|row| {
        let (_, value) = row.split_once(",train,loss,")?;
        value.parse().ok()
    });
    loss.collect()
}

/// Returns the maximum absolute difference between corresponding weights.
fn distance(first: &[Vec<f32>], second: &[Vec<f32>]) -> f32 {
    let pairs = first.iter().flatten().zip(second.iter().flatten());
    pairs.fold(0.0, |largest, (one, other)| {
        (one - other).abs().max(largest)
    })
}

/// Two threads compute one shard each, with different numbers of labels. With ε = 1, Adam's step is
/// nearly proportional to the gradient, so the weights show a gradient of the wrong size.
#[test]
fn two_threads_compute_the_same_update_as_one() {
    let workplace = Workplace::with(&[
        ("n_heads = 2", "n_heads = 2\ndropout = 0.0"),
        ("updates = 25", "updates = 3"),
        ("warmup_steps = 15", "warmup_steps = 1\nadam_epsilon = 1.0"),
        ("validation_interval = 10", "validation_interval = 1"),
        ("average_last = 2", "average_last = 1"),
    ]);
    workplace.train("one", &["--seed", "3"]).lines();
    workplace
        .train("short", &["--seed", "3", "--updates", "1"])
        .lines();
    let one = workplace.weights("one");
    let two = on_two_threads(&workplace, "two", "3");
    let pairs = losses(&workplace, "one").into_iter();
    let pairs: Vec<_> = pairs.zip(losses(&workplace, "two")).collect();
    assert_eq!(pairs.len(), 3);
    // The tolerance allows for sums of several hundred f32 terms in a different order.
    assert!(
        pairs.iter().all(|(one, two)| (one - two).abs() < 1e-5),
        "{pairs:?}"
    );
    let moved = distance(&one, &workplace.weights("short"));
    assert!(
        moved > 1e-2,
        "the last two updates changed the weights only by {moved}"
    );
    let apart = distance(&one, &two);
    assert!(apart < 1e-5, "{apart} of {moved}");
}
