//! The folder of a run, and what is in it already.

use std::fs;
use std::sync::Arc;

use transformer_train::config::Experiment;
use transformer_train::step::ranks::Ranks;
use transformer_train::{
    Display, Existing, Interrupt, RunEnvironment, ThreadCount, TrainError, train,
};

use crate::workplace::{FILES, Workplace, test_device};

#[test]
fn a_folder_with_another_run_is_refused_and_not_changed() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let before = workplace.weights("run");
    let ended = workplace.train("run", &["--seed", "2"]);
    let message = ended.failure();
    assert!(
        message.starts_with(
            "`run` holds a run with other settings: `training.seed` is 2 now, but the run in the folder has 1;"
        ),
        "{message}"
    );
    assert!(workplace.weights("run") == before);
}

#[test]
fn overwriting_replaces_the_run_and_keeps_other_files() {
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
fn a_run_that_another_program_started_meanwhile_is_not_changed() {
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
        ranks: Ranks::default(),
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

/// A script that always passes --overwrite must not delete its own unfinished run when it is
/// started again.
#[test]
fn the_same_run_is_not_overwritten_before_its_end() {
    let workplace = Workplace::new();
    let mut running = workplace.start("run", 5000);
    running.wait_for_intervals(2);
    running.kill();
    for more in [
        "--updates 5000",
        "--updates 6000 --src-lang en --set training.patience=900 --set data.src=./a.src",
    ] {
        let more: Vec<&str> = more.split(' ').chain(["--overwrite"]).collect();
        let ended = workplace.train("run", &more);
        let message = ended.failure();
        assert!(
            message.starts_with("`run` holds this very run, stopped after "),
            "{message}"
        );
    }
    assert!(workplace.translates("run"));
    std::fs::copy(workplace.path("a.src"), workplace.path("other.src")).expect("it can be copied");
    let other = ["--set", "data.src=other.src", "--overwrite"];
    workplace.train("run", &other).lines();
}

#[test]
fn a_finished_run_can_be_replaced_by_a_longer_one() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "20"]).lines();
    let ended = workplace.train("run", &["--updates", "30", "--overwrite"]);
    assert_eq!(ended.intervals().len(), 3, "{ended:?}");
}

#[test]
fn the_settings_of_a_run_have_the_sizes_of_its_preset() {
    let workplace = Workplace::new();
    workplace
        .train("run", &["--set", "model.n_heads=4"])
        .lines();
    let settings = workplace.read("run/experiment.toml");
    for line in [
        "preset = \"tiny\"",
        "n_heads = 4",
        "dropout = 0.2",
        "d_k = \"none\"",
    ] {
        assert!(settings.contains(line), "no `{line}` in {settings}");
    }
}

/// A folder in place of a file stops the deletion where a kill may stop it.
#[test]
fn a_run_whose_deletion_was_interrupted_can_be_started_again() {
    let workplace = Workplace::new();
    workplace.train("run", &["--seed", "2"]).lines();
    let metrics = workplace.path("run/metrics.csv");
    fs::remove_file(&metrics).expect("the run left it");
    fs::create_dir(&metrics).expect("the temporary directory is writable");
    workplace.train("run", &["--overwrite"]).failure();
    assert!(workplace.path("run/experiment.toml").exists());
    fs::remove_dir(&metrics).expect("the folder is empty");
    workplace.train("run", &["--overwrite"]).lines();
    assert!(workplace.translates("run"));
}

#[test]
fn overwriting_works_without_an_existing_run() {
    let workplace = Workplace::new();
    workplace.train("run", &["--overwrite"]).lines();
    assert!(workplace.translates("run"));
}

#[test]
fn an_overwriting_run_without_text_keeps_the_existing_model() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    fs::remove_file(workplace.path("b.tgt")).expect("the file is there");
    let ended = workplace.train("run", &["--overwrite"]);
    assert!(ended.failure().contains("`b.tgt`"));
    assert!(workplace.translates("run"));
}

#[test]
fn a_run_that_found_no_text_can_be_started_again() {
    let workplace = Workplace::new();
    let text = workplace.read("b.tgt");
    fs::remove_file(workplace.path("b.tgt")).expect("the file is there");
    assert!(workplace.train("run", &[]).failure().contains("`b.tgt`"));
    workplace.write("b.tgt", text);
    workplace.train("run", &[]).lines();
    assert!(workplace.translates("run"));
}

#[test]
fn a_default_folder_has_the_name_of_the_source_and_a_number() {
    let workplace = Workplace::new();
    workplace.run(&FILES).lines();
    workplace.run(&FILES).lines();
    assert!(workplace.translates("runs/a"));
    assert!(workplace.translates("runs/a-2"));
}

#[test]
fn a_file_with_the_path_of_the_folder_is_refused() {
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
fn a_model_directory_cannot_be_the_folder_of_a_run() {
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

/// A run is deleted by hand, but not completely.
#[test]
fn checkpoints_of_a_deleted_run_do_not_affect_the_model() {
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

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_refused_with_its_target() {
    let workplace = Workplace::new();
    std::os::unix::fs::symlink("nowhere", workplace.path("run")).expect("the folder is writable");
    let ended = workplace.train("run", &[]);
    let message = ended.failure();
    let expected =
        "`run` is a link to `nowhere`, which does not exist; create that, or give another path";
    assert!(message.ends_with(expected), "{message}");
}
