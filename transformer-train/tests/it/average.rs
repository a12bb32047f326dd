//! The best checkpoints, patience, and means of checkpoints as models.

use std::fs;

use crate::workplace::Workplace;

/// Returns the updates of a run's validations, the best perplexity first.
fn ranked(workplace: &Workplace, out: &str) -> Vec<u64> {
    let curve = workplace.read(&format!("{out}/metrics.csv"));
    let mut scores: Vec<(f64, u64)> = curve
        .lines()
        .filter(|row| row.contains(",valid,Perplexity,"))
        .filter_map(|row| {
            let (update, rest) = row.split_once(',')?;
            Some((rest.rsplit(',').next()?.parse().ok()?, update.parse().ok()?))
        })
        .collect();
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    scores.into_iter().map(|(_, update)| update).collect()
}

fn with(settings: &str) -> Workplace {
    let settings = format!("warmup_steps = 15\n{settings}");
    Workplace::with(&[("warmup_steps = 15", &settings)])
}

/// A learning rate so high that the loss goes up and down.
const UNSTEADY: &str = "learning_rate_factor = 12.0";

#[test]
fn the_best_checkpoints_are_kept() {
    let workplace = with(&format!("{UNSTEADY}\nkeep_best = 3"));
    workplace.train("run", &["--updates", "120"]).lines();
    let ranked = ranked(&workplace, "run");
    assert_eq!(ranked.len(), 12);
    let is_there = |update: &u64| {
        let name = format!("run/checkpoints/model-{update}.bpk");
        workplace.path(&name).exists()
    };
    assert!(ranked[..3].iter().all(is_there), "{ranked:?}");
    // The last two are always kept.
    let n_kept = ranked.iter().filter(|update| is_there(update)).count();
    let n_last = ranked[3..].iter().filter(|update| **update > 100).count();
    assert_eq!(n_kept, 3 + n_last);
}

#[test]
fn the_mean_of_the_best_checkpoints_is_a_candidate() {
    let workplace = with(&format!("{UNSTEADY}\naverage_best = 2"));
    let ended = workplace.train("run", &["--updates", "120"]);
    let told = ended.stdout.contains(" for the mean of the best 2");
    assert!(told, "{}", ended.stdout);
}

/// A learning rate that changes no weight: all validations are equal, and the first is the best.
const STILL: &str = "learning_rate_factor = 1e-30\nbest_by = \"bleu\"\npatience = 3";

#[test]
fn patience_ends_a_run_whether_it_was_killed_or_not() {
    let workplace = with(STILL);
    let ended = workplace.train("whole", &["--updates", "200"]);
    let last = ended
        .intervals()
        .last()
        .map(|line| line.starts_with("update 40/200 "));
    assert_eq!(last, Some(true), "{ended:?}");
    assert!(!ended.stdout.contains("--resume"), "{ended:?}");
    let mut running = workplace.start("run", 200);
    running.wait_for_intervals(2);
    running.kill();
    let ended = workplace.train("run", &["--updates", "200"]);
    let stopped =
        "stopped     after update 40: no better validation since the best, for 3 in a row";
    assert!(ended.lines().contains(&stopped), "{ended:?}");
}

#[test]
fn a_run_without_patience_left_is_not_continued() {
    let workplace = with(STILL);
    workplace.train("run", &["--updates", "200"]).lines();
    let ended = workplace.train("run", &["--updates", "200"]);
    assert_eq!(ended.intervals(), Vec::<&str>::new());
}

#[test]
fn every_validation_logs_samples() {
    let workplace = Workplace::new();
    let ended = workplace.train("run", &[]);
    let lines = ended.lines();
    let after = |line: &&str| line.starts_with("update ");
    for index in (0..lines.len()).filter(|index| after(&lines[*index])) {
        let starts = ["  source       ", "  reference    ", "  translation  "];
        let shown = &lines[index + 1..index + 7];
        let expected = starts.iter().chain(&starts);
        let are_shown = shown
            .iter()
            .zip(expected)
            .all(|(line, start)| line.starts_with(start));
        assert!(are_shown, "{shown:?}");
    }
    let samples = workplace.read("run/samples.tsv");
    let rows: Vec<Vec<&str>> = samples
        .lines()
        .map(|row| row.split('\t').collect())
        .collect();
    assert_eq!(rows[0], ["update", "source", "reference", "translation"]);
    let updates: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(updates, ["10", "10", "20", "20", "25", "25"]);
    let last = lines
        .iter()
        .rfind(|line| line.starts_with("  translation  "));
    let last = last.map(|line| &line[15..]);
    assert_eq!(last, rows.last().map(|row| row[3]));
}

#[test]
fn a_moving_average_with_decay_zero_equals_the_weights() {
    let plain = Workplace::new();
    plain.train("run", &[]).lines();
    let moving = with("ema_decay = 0.0");
    moving.train("run", &[]).lines();
    let (plain, moving) = (plain.weights("run"), moving.weights("run"));
    let pairs = plain.iter().flatten().zip(moving.iter().flatten());
    // Weights of size one, and the rounding of `a + (b − a)`.
    let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 1e-6, "{largest}");
}

fn average(workplace: &Workplace, which: [&str; 2], out: &str) {
    let arguments = ["average", "--run", "run", which[0], which[1], "--out", out];
    workplace.run(&arguments).lines();
}

#[test]
fn the_last_checkpoints_are_those_of_the_last_intervals_and_damage_is_reported() {
    let workplace = with("keep_best = 9");
    workplace.train("run", &["--updates", "40"]).lines();
    workplace.damage("run/checkpoints/model-30.bpk", 100);
    let arguments = ["average", "--run", "run", "--last", "2", "--out", "mean"];
    let ended = workplace.run(&arguments);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(
        lines[0].starts_with("damaged     `run/checkpoints/state-30.json`: `model-30.bpk` is not"),
        "{ended:?}"
    );
    assert_eq!(
        lines[1],
        "error: `run` has no 2 intact checkpoints, only those after 40; choose at most 1; raise `keep_last` or \
         `keep_best` in the next run"
    );
}

#[test]
fn the_mean_of_two_checkpoints_is_that_of_their_weights() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "40"]).lines();
    average(&workplace, ["--updates", "30"], "a");
    average(&workplace, ["--updates", "40"], "b");
    average(&workplace, ["--last", "2"], "mean");
    average(&workplace, ["--updates", "40,30"], "same");
    let [a, b, mean, same] = ["a", "b", "mean", "same"].map(|out| workplace.weights(out));
    assert!(mean == same);
    assert!(a != b);
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    let halves = pairs.map(|(a, b)| (a + b) / 2.0);
    let differences = halves
        .zip(mean.iter().flatten())
        .map(|(half, mean)| (half - mean).abs());
    let largest = differences.fold(0.0, f32::max);
    assert!(largest < 1e-6, "{largest}");
}

#[test]
fn the_best_checkpoint_can_be_published() {
    let workplace = with(&format!("{UNSTEADY}\nkeep_best = 2"));
    workplace.train("run", &["--updates", "120"]).lines();
    let best = ranked(&workplace, "run")[0].to_string();
    average(&workplace, ["--best", "1"], "best");
    average(&workplace, ["--updates", &best], "same");
    assert!(workplace.weights("best") == workplace.weights("same"));
}

#[test]
fn a_missing_checkpoint_is_named() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "40"]).lines();
    let arguments = [
        "average",
        "--run",
        "run",
        "--updates",
        "10",
        "--out",
        "model",
    ];
    assert_eq!(
        workplace.run(&arguments).failure(),
        "`run` has no intact checkpoint after update 10; it has those after 30, 40"
    );
}

#[test]
fn more_checkpoints_than_exist_cannot_be_averaged() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "40"]).lines();
    let arguments = ["average", "--run", "run", "--last", "3", "--out", "model"];
    let ended = workplace.run(&arguments);
    let message = ended.failure();
    let start = "`run` has no 3 intact checkpoints, only those after 30, 40; choose at most 2";
    assert!(message.starts_with(start), "{message}");
    assert!(!workplace.path("model").exists());
    // A checkpoint that is named twice counts once.
    average(&workplace, ["--updates", "30,40,30"], "twice");
    average(&workplace, ["--last", "2"], "once");
    assert!(workplace.weights("twice") == workplace.weights("once"));

    for updates in [30, 40] {
        let state = format!("run/checkpoints/state-{updates}.json");
        fs::remove_file(workplace.path(&state)).expect("the run left it");
    }
    let ended = workplace.run(&arguments);
    assert!(
        ended
            .failure()
            .starts_with("`run` has no intact checkpoint; raise "),
        "{ended:?}"
    );
}

/// Settings that keep the checkpoint of every update of a short run.
const EVERY_UPDATE: [(&str, &str); 2] = [
    ("validation_interval = 10", "validation_interval = 1"),
    ("average_last = 2", "average_last = 6"),
];

/// Trains for six updates, and returns the weights of each checkpoint.
fn every_update(setting: &str) -> Vec<Vec<f32>> {
    let settings = format!("warmup_steps = 15\n{setting}");
    let changes = [&EVERY_UPDATE[..], &[("warmup_steps = 15", &settings)]].concat();
    let workplace = Workplace::with(&changes);
    workplace.train("run", &["--updates", "6"]).lines();
    let weights = |update: usize| {
        let (which, out) = (update.to_string(), format!("model-{update}"));
        average(&workplace, ["--updates", &which], &out);
        workplace.weights(&out).concat()
    };
    (1..=6).map(weights).collect()
}

/// The average does not affect the training: it follows the weights of a run without it.
#[test]
fn a_moving_average_is_the_recursion_over_the_weights() {
    let (plain, moving) = (every_update(""), every_update("ema_decay = 0.3"));
    for update in 2..=6_u16 {
        let n = f32::from(update);
        let decay = f32::min(0.3, (1.0 + n) / (10.0 + n));
        let at = usize::from(update) - 1;
        let three = moving[at - 1].iter().zip(&plain[at]).zip(&moving[at]);
        let off = |((before, weight), after): ((&f32, &f32), &f32)| {
            (decay * before + (1.0 - decay) * weight - after).abs()
        };
        // Weights of size one, in single precision.
        let largest = three.map(off).fold(0.0, f32::max);
        assert!(largest < 1e-6, "update {update}: {largest}");
    }
    let apart = plain[5].iter().zip(&moving[5]).map(|(a, b)| (a - b).abs());
    let apart = apart.fold(0.0, f32::max);
    assert!(apart > 1e-5, "the average is not a copy: {apart}");
}

#[test]
fn weight_decay_makes_the_weights_smaller() {
    let (plain, decayed) = (every_update(""), every_update("weight_decay = 0.5"));
    let sum = |weights: &[f32]| weights.iter().map(|weight| f64::from(weight.abs())).sum();
    let (plain, decayed): (f64, f64) = (sum(&plain[5]), sum(&decayed[5]));
    assert!(decayed < plain * 0.9999, "{decayed} {plain}");
}
