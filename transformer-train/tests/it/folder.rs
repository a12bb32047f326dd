//! Where a run goes, and what is there already.

use std::fs;
use std::sync::Arc;

use transformer_train::config::Experiment;
use transformer_train::{
    Display, Existing, Interrupt, RunEnvironment, ThreadCount, TrainError, train,
};

use crate::workplace::{FILES, Workplace, test_device};

#[test]
fn a_folder_that_holds_a_run_is_refused_and_left_as_it_is() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let before = workplace.weights("run");
    let ended = workplace.train("run", &["--seed", "2"]);
    let message = ended.failure();
    assert!(
        message.starts_with(
            "`run` holds a run with other settings: `training.seed` is 2 here and 1 there;"
        ),
        "{message}"
    );
    assert!(workplace.weights("run") == before);
}

#[test]
fn overwriting_replaces_the_run_and_keeps_what_is_not_of_it() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let before = workplace.weights("run");
    workplace.write("run/notes.txt", "mine");
    fs::create_dir(workplace.path("run/plots")).expect("the temporary directory is writable");
    workplace
        .train("run", &["--seed", "2", "--overwrite"])
        .lines();
    assert!(workplace.weights("run") != before);
    assert_eq!(workplace.read("run/notes.txt"), "mine");
    assert!(workplace.path("run/plots").is_dir());
}

#[test]
fn a_run_that_began_while_text_was_read_is_left_alone() {
    let workplace = Workplace::new();
    let mut experiment = Experiment::from_toml(&workplace.path("run.toml")).expect("it is right");
    experiment.data.src = Some(workplace.path("a.src"));
    experiment.data.tgt = Some(workplace.path("b.tgt"));
    let theirs = workplace.path("run/experiment.toml");
    let environment = RunEnvironment {
        directory: workplace.path("run"),
        existing: Existing::Resume,
        device: test_device(),
        more_devices: Vec::new(),
        threads: ThreadCount::Exactly(1),
        log: Arc::new(move |line| {
            if line.starts_with("data ") {
                let folder = theirs.parent().expect("it is in a folder");
                fs::create_dir_all(folder).expect("the temporary directory is writable");
                fs::write(&theirs, "theirs").expect("the temporary directory is writable");
            }
        }),
        display: Display::Lines,
        status: None,
        interrupt: Interrupt::default(),
    };
    let refused = train(&experiment, &environment).expect_err("another program was faster");
    assert!(
        matches!(refused, TrainError::OutputExists { .. }),
        "{refused}"
    );
    assert_eq!(workplace.read("run/experiment.toml"), "theirs");
}

/// A script that always passes --overwrite must not delete its own unfinished run when it is started again.
#[test]
fn this_very_run_is_not_overwritten_before_its_end() {
    let workplace = Workplace::new();
    let mut running = workplace.start("run", 5000);
    running.wait_for_intervals(2);
    running.kill();
    let ended = workplace.train("run", &["--updates", "5000", "--overwrite"]);
    let message = ended.failure();
    assert!(
        message.starts_with("`run` holds this very run, stopped after "),
        "{message}"
    );
    assert!(workplace.translates("run"));
    workplace.train("run", &["--overwrite"]).lines();
}

#[test]
fn overwriting_nothing_is_training() {
    let workplace = Workplace::new();
    workplace.train("run", &["--overwrite"]).lines();
    assert!(workplace.translates("run"));
}

#[test]
fn an_overwriting_run_that_finds_no_text_leaves_the_model_that_was_there() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    fs::remove_file(workplace.path("b.tgt")).expect("the file is there");
    let ended = workplace.train("run", &["--overwrite"]);
    assert!(ended.failure().contains("`b.tgt`"));
    assert!(workplace.translates("run"));
}

#[test]
fn a_run_that_found_no_text_can_be_repeated_with_the_same_command() {
    let workplace = Workplace::new();
    let text = workplace.read("b.tgt");
    fs::remove_file(workplace.path("b.tgt")).expect("the file is there");
    assert!(workplace.train("run", &[]).failure().contains("`b.tgt`"));
    workplace.write("b.tgt", text);
    workplace.train("run", &[]).lines();
    assert!(workplace.translates("run"));
}

#[test]
fn without_a_name_a_run_has_that_of_its_source_and_a_number() {
    let workplace = Workplace::new();
    workplace.run(&FILES).lines();
    workplace.run(&FILES).lines();
    assert!(workplace.translates("runs/a"));
    assert!(workplace.translates("runs/a-2"));
}

#[test]
fn a_file_in_place_of_the_folder_is_named() {
    let workplace = Workplace::new();
    workplace.write("run", "a file");
    for out in ["run", "run/deep/within"] {
        for more in [&[][..], &["--dry-run"], &["--overwrite"]] {
            let ended = workplace.train(out, more);
            let expected = "`run` is a file; choose another folder with --out";
            assert_eq!(ended.failure(), expected);
        }
    }
    assert_eq!(workplace.read("run"), "a file");
}

#[test]
fn a_model_directory_is_no_place_for_a_run() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "11"]).lines();
    let before = workplace.weights("run");
    for more in [&[][..], &["--overwrite"]] {
        let ended = workplace.train("run/model", more);
        let expected = "`run/model` has a manifest.json, so it is a model directory and not the folder of a run; choose another folder with --out";
        assert_eq!(ended.failure(), expected);
    }
    assert!(workplace.weights("run") == before);
}

/// Somebody deletes a run by hand, but not all of it.
#[test]
fn checkpoints_that_lie_there_already_are_no_part_of_the_model() {
    let workplace = Workplace::new();
    workplace.train("clean", &["--updates", "11"]).lines();
    workplace.train("run", &["--seed", "2"]).lines();
    fs::remove_dir_all(workplace.path("run/model")).expect("the run left a model");
    fs::remove_file(workplace.path("run/experiment.toml")).expect("the run left its settings");
    let ended = workplace.train("run", &["--updates", "11"]);
    match ended.code {
        Some(0) => assert!(workplace.weights("run") == workplace.weights("clean")),
        _ => assert!(ended.failure().contains("already holds")),
    }
}
