//! Dry runs, and the warnings before the first update.

use crate::workplace::Workplace;

#[test]
fn a_dry_run_forecasts_the_run_and_writes_nothing() {
    let workplace = Workplace::new();
    let ended = workplace.train("run", &["--dry-run"]);
    let lines = ended.lines();
    for start in [
        "data ",
        "validation ",
        "vocabulary ",
        "batches ",
        "training ",
        "memory ",
        "disk ",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(start)),
            "{start}: {ended:?}"
        );
    }
    assert!(ended.intervals().is_empty());
    assert!(!workplace.path("run").exists());
}

#[test]
fn a_dry_run_counts_the_parameters_of_the_run() {
    let workplace = Workplace::new();
    let of = |more: &[&str]| {
        let ended = workplace.train("run", more);
        let lines = ended.lines();
        let mut model = lines.iter().filter(|line| line.starts_with("model "));
        model.next().map(ToString::to_string)
    };
    let forecast = of(&["--dry-run"]);
    assert!(forecast.is_some());
    assert_eq!(forecast, of(&[]));
}

/// Returns the first line with this start.
fn line(workplace: &Workplace, start: &str, more: &[&str]) -> String {
    let ended = workplace.train("run", more);
    let lines = ended.lines();
    let mut found = lines.iter().filter(|line| line.starts_with(start));
    found.next().expect("the line is logged").to_string()
}

#[test]
fn a_dry_run_counts_updates_where_an_update_is_several_batches() {
    let workplace = Workplace::new();
    let accumulate = ["--set", "training.accumulate=3"];
    let forecast = line(
        &workplace,
        "batches ",
        &[&accumulate[..], &["--dry-run"]].concat(),
    );
    assert_eq!(forecast, line(&workplace, "batches ", &accumulate));
}

/// Returns the disk space that a dry run forecasts for a checkpoint, and for all of them with the
/// model, in kilobytes.
fn disk(workplace: &Workplace, more: &[&str]) -> (f64, f64) {
    let line = line(workplace, "disk ", &[more, &["--dry-run"]].concat());
    let kilobytes = line
        .split(" kB")
        .filter_map(|part| part.rsplit(' ').next()?.parse().ok());
    let kilobytes: Vec<f64> = kilobytes.collect();
    assert_eq!(kilobytes.len(), 3, "{line}");
    (kilobytes[1], kilobytes[2])
}

#[test]
fn a_dry_run_counts_the_moving_average_and_the_best_checkpoints() {
    let workplace = Workplace::new();
    let (checkpoint, all) = disk(&workplace, &[]);
    let (averaged, _) = disk(&workplace, &["--set", "training.ema_decay=0.9"]);
    // Three sets of weights become four; sizes are rounded.
    assert!(
        (averaged - checkpoint * 4.0 / 3.0).abs() < 1.5,
        "{averaged}"
    );
    let (_, with_best) = disk(&workplace, &["--set", "training.keep_best=3"]);
    assert!(
        (with_best - all - 3.0 * checkpoint).abs() < 3.5,
        "{with_best}"
    );
}

#[test]
fn a_run_warns_of_a_warm_up_longer_than_itself() {
    let workplace = Workplace::with(&[("warmup_steps = 15", "warmup_steps = 4000")]);
    let warning =
        "warning     the learning rate rises for 4000 updates, and the run ends after 25;";
    for more in [&["--dry-run"][..], &[]] {
        let ended = workplace.train("run", more);
        assert!(
            ended.lines().iter().any(|line| line.starts_with(warning)),
            "{ended:?}"
        );
    }
}

#[test]
fn a_source_equal_to_its_target_causes_a_warning() {
    let workplace = Workplace::new();
    let ended = workplace.run(&[
        "--config",
        "run.toml",
        "--src",
        "a.src",
        "--tgt",
        "a.src",
        "--dry-run",
    ]);
    let warning = "warning     source and target are the same line in 100% of the pairs;";
    assert!(
        ended.lines().iter().any(|line| line.starts_with(warning)),
        "{ended:?}"
    );
}

#[test]
fn a_dry_run_fails_where_the_run_would() {
    let workplace = Workplace::new();
    workplace.write("b.tgt", "1\n");
    let ended = workplace.train("run", &["--dry-run"]);
    assert!(ended.failure().contains("has 47 lines"), "{ended:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_dry_run_warns_if_the_memory_is_too_small() {
    let workplace = Workplace::new();
    let warning = |more: &[&str]| {
        let ended = workplace.train("run", &[&["--dry-run"], more].concat());
        let lines = ended.lines();
        lines
            .iter()
            .any(|line| line.starts_with("warning     the run takes about "))
    };
    assert!(!warning(&[]));
    assert!(warning(&[
        "--set",
        "model.d_model=262144",
        "--set",
        "model.d_ff=262144",
        "--set",
        "model.n_encoder_layers=1024"
    ]));
}

#[test]
fn validation_pairs_in_the_training_text_are_counted() {
    let workplace = Workplace::new();
    for name in ["a.src", "b.tgt"] {
        let text = workplace.read(name);
        let few: String = text
            .lines()
            .take(4)
            .map(|line| format!("{line}\n"))
            .collect();
        workplace.write(&format!("valid-{name}"), few + "9\n");
    }
    let files = [
        "--valid-src",
        "valid-a.src",
        "--valid-tgt",
        "valid-b.tgt",
        "--dry-run",
    ];
    let ended = workplace.train("run", &files);
    let start = "warning     4 of 5 validation pairs are trained on as well,";
    assert!(
        ended.lines().iter().any(|line| line.starts_with(start)),
        "{ended:?}"
    );
}

#[test]
fn a_dry_run_reports_that_the_run_would_resume() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let ended = workplace.run(&["--resume", "run", "--updates", "40", "--dry-run"]);
    assert!(
        ended.lines().contains(&"resumed     after update 20"),
        "{ended:?}"
    );
    let refused = workplace.train("run", &["--seed", "2", "--dry-run"]);
    assert!(refused.failure().contains("`training.seed` is 2 now"));
}

#[test]
fn validation_on_the_training_text_causes_a_warning() {
    let workplace = Workplace::new();
    let files = ["--valid-src", "a.src", "--valid-tgt", "b.tgt", "--dry-run"];
    let ended = workplace.train("run", &files);
    let start = "warning     the run is validated on the text that it learns";
    assert!(
        ended.lines().iter().any(|line| line.starts_with(start)),
        "{ended:?}"
    );
}
