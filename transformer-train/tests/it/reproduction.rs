//! What decides about the weights: text, settings, seed and number of threads, and nothing else.

use crate::workplace::{FILES, Workplace};

/// Says whether two runs with these arguments have equal weights, to the last bit.
fn equal(first: &[&str], second: &[&str]) -> bool {
    let workplace = Workplace::new();
    workplace.train("first", first).lines();
    workplace.train("second", second).lines();
    let (first, second) = (workplace.weights("first"), workplace.weights("second"));
    assert_eq!(first.len(), second.len());
    first == second
}

#[test]
fn one_seed_gives_one_model() {
    assert!(equal(&["--seed", "3"], &["--seed", "3"]));
}

#[test]
fn another_seed_gives_another_model() {
    assert!(!equal(&["--seed", "3"], &["--seed", "4"]));
}

/// Trains with two threads, and returns the weights.
fn on_two_threads(workplace: &Workplace, out: &str, seed: &str) -> Vec<Vec<f32>> {
    let more = ["--threads", "2", "--seed", seed, "--out", out];
    workplace.run(&[&FILES[..], &more].concat()).lines();
    workplace.weights(out)
}

#[test]
fn one_seed_gives_one_model_on_two_threads() {
    let workplace = Workplace::new();
    let first = on_two_threads(&workplace, "first", "3");
    assert!(on_two_threads(&workplace, "second", "3") == first);
}

#[test]
fn another_seed_gives_another_model_on_two_threads() {
    let workplace = Workplace::new();
    let first = on_two_threads(&workplace, "first", "3");
    assert!(on_two_threads(&workplace, "second", "4") != first);
}

/// Returns the loss of every update, of a run that validates after each.
fn losses(workplace: &Workplace, out: &str) -> Vec<f64> {
    let curve = workplace.read(&format!("{out}/metrics.csv"));
    let rows = curve.lines().map(str::to_lowercase);
    let loss = rows.filter_map(|row| {
        let (_, value) = row.split_once(",train,loss,")?;
        value.parse().ok()
    });
    loss.collect()
}

/// Returns the largest difference between two weights in the same place.
fn distance(first: &[Vec<f32>], second: &[Vec<f32>]) -> f32 {
    let pairs = first.iter().flatten().zip(second.iter().flatten());
    pairs.fold(0.0, |largest, (one, other)| {
        (one - other).abs().max(largest)
    })
}

/// Two threads compute a shard each, with unequal numbers of labels. An epsilon of one makes Adam's
/// step nearly proportional to the gradient, so that the weights tell about the gradients' size.
#[test]
fn two_threads_make_the_update_that_one_makes() {
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
    // Sums of some hundred terms of single precision, in another order.
    assert!(
        pairs.iter().all(|(one, two)| (one - two).abs() < 1e-5),
        "{pairs:?}"
    );
    let moved = distance(&one, &workplace.weights("short"));
    assert!(
        moved > 1e-2,
        "the last two updates moved the weights by {moved} only"
    );
    let apart = distance(&one, &two);
    assert!(apart < 1e-5, "{apart} of {moved}");
}
