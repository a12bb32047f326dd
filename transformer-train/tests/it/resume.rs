//! A run that is stopped, however it is stopped, resumes as if it had not been.

use std::fs;

use crate::workplace::{FILES, Running, Workplace};

/// Returns the rows of `metrics.csv` that do not depend on time.
fn curve(workplace: &Workplace, out: &str) -> Vec<String> {
    let curve = workplace.read(&format!("{out}/metrics.csv"));
    let depends_on_time = |row: &str| {
        ["tokens/s", "Waiting"]
            .iter()
            .any(|name| row.contains(name))
    };
    let rows = curve.lines().filter(|row| !depends_on_time(row));
    rows.map(str::to_owned).collect()
}

/// Checks that two runs have equal results, to the last bit.
pub(crate) fn assert_same(workplace: &Workplace, run: &str, whole: &str) {
    assert!(workplace.weights(run) == workplace.weights(whole));
    assert_eq!(curve(workplace, run), curve(workplace, whole));
    let samples = |out: &str| workplace.read(&format!("{out}/samples.tsv"));
    assert_eq!(samples(run), samples(whole));
}

/// Starts a run and kills it after `n_intervals`, during the next one.
fn killed(workplace: &Workplace, out: &str, n_intervals: usize) {
    let mut running = workplace.start(out, 200);
    running.wait_for_intervals(n_intervals);
    running.kill();
}

#[test]
fn a_killed_run_resumes_with_equal_results() {
    let workplace = Workplace::with(&[("n_heads = 2", "n_heads = 2\ndropout = 0.3")]);
    workplace.train("whole", &["--updates", "200"]).lines();
    killed(&workplace, "run", 3);
    let ended = workplace.train("run", &["--updates", "200"]);
    let resumed = |update: u32| format!("resumed     after update {update}");
    // An interval is reported when its weights are saved, the rest of its checkpoint right after.
    let is_resumed = |update| ended.lines().contains(&resumed(update).as_str());
    assert!(
        (2..20).map(|interval| 10 * interval).any(is_resumed),
        "{ended:?}"
    );
    assert_same(&workplace, "run", "whole");
}

#[test]
fn a_run_killed_several_times_resumes_with_equal_results() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "200"]).lines();
    for n_intervals in [1, 2, 1, 3] {
        killed(&workplace, "run", n_intervals);
    }
    workplace.train("run", &["--updates", "200"]).lines();
    assert_same(&workplace, "run", "whole");
}

#[test]
fn a_resumed_run_can_be_made_longer() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "40"]).lines();
    // The last interval of the short run has half of its updates only.
    workplace.train("run", &["--updates", "25"]).lines();
    let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
    assert!(
        ended.lines().contains(&"resumed     after update 20"),
        "{ended:?}"
    );
    assert_same(&workplace, "run", "whole");
}

#[test]
fn a_run_resumes_from_its_folder_alone() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "200"]).lines();
    killed(&workplace, "run", 2);
    workplace.run(&["--resume", "run"]).lines();
    assert_same(&workplace, "run", "whole");
}

#[test]
fn the_same_command_resumes_a_run_without_a_name() {
    let workplace = Workplace::new();
    let command = [&FILES[..], &["--threads", "1", "--updates", "200"]].concat();
    let mut running = Running::new(workplace.program(&command));
    running.wait_for_intervals(2);
    running.kill();
    workplace.run(&command).lines();
    workplace.train("whole", &["--updates", "200"]).lines();
    assert_same(&workplace, "runs/a", "whole");
    assert!(!workplace.path("runs/a-2").exists());
}

#[test]
fn a_finished_run_is_not_changed() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let (before, curve_before) = (workplace.weights("run"), curve(&workplace, "run"));
    let ended = workplace.train("run", &[]);
    assert_eq!(ended.intervals(), Vec::<&str>::new());
    assert!(workplace.weights("run") == before);
    assert_eq!(curve(&workplace, "run"), curve_before);
}

#[test]
fn a_damaged_checkpoint_is_reported_and_the_previous_one_is_used() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "40"]).lines();
    workplace.train("run", &["--updates", "30"]).lines();
    workplace.damage("run/checkpoints/optim-30.bpk", 5000);
    let ended = workplace.train("run", &["--updates", "40"]);
    let lines = ended.lines();
    let damaged = lines.iter().find(|line| line.starts_with("damaged"));
    let damaged = damaged.expect("the damage is reported");
    assert!(
        damaged.contains("`optim-30.bpk` is not what was saved"),
        "{damaged}"
    );
    assert!(lines.contains(&"resumed     after update 20"), "{ended:?}");
    assert_same(&workplace, "run", "whole");
}

#[test]
fn a_damaged_state_is_reported_and_the_previous_checkpoint_is_used() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "40"]).lines();
    workplace.train("run", &["--updates", "30"]).lines();
    let name = "run/checkpoints/state-30.json";
    let state = workplace.read(name);
    assert!(state.contains("\"perplexity\": "));
    workplace.write(
        name,
        state.replacen("\"perplexity\": ", "\"perplexity\": 9", 1),
    );
    let ended = workplace.train("run", &["--updates", "40"]);
    let told = "damaged     `run/checkpoints/state-30.json`: it is not what was saved; this checkpoint is skipped";
    assert!(ended.lines().contains(&told), "{ended:?}");
    assert!(
        ended.lines().contains(&"resumed     after update 20"),
        "{ended:?}"
    );
    assert_same(&workplace, "run", "whole");
}

/// A fresh start would delete the existing model.
#[test]
fn a_run_whose_only_checkpoint_is_damaged_is_not_changed() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "10"]).lines();
    let before = workplace.weights("run");
    workplace.damage("run/checkpoints/optim-10.bpk", 100);
    let ended = workplace.train("run", &["--updates", "40"]);
    let message = ended.failure();
    assert!(
        message.contains("`run` holds a run without an intact checkpoint to resume at"),
        "{message}"
    );
    assert!(workplace.weights("run") == before);
}

/// In format 1, names of files counted intervals instead of updates.
#[test]
fn a_run_of_an_earlier_format_is_refused_and_not_changed() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "20"]).lines();
    let before = workplace.weights("run");
    for name in fs::read_dir(workplace.path("run/checkpoints")).expect("the folder is there") {
        fs::remove_file(name.expect("the folder can be read").path()).expect("the file is there");
    }
    let state = r#"{ "format": 1, "updates": 20, "seconds": 1.0, "n_threads": 1, "device": "cpu", "corpus": 7, "files": [] }"#;
    workplace.write("run/checkpoints/state-2.json", state);
    let ended = workplace.train("run", &["--updates", "40"]);
    let message = ended.failure();
    let start = "`run/checkpoints/state-2.json` is a checkpoint of another version of the program (format 1;";
    assert!(message.starts_with(start), "{message}");
    assert!(workplace.weights("run") == before);
}

#[test]
fn a_checkpoint_without_a_state_is_not_used() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "40"]).lines();
    workplace.train("run", &["--updates", "30"]).lines();
    fs::remove_file(workplace.path("run/checkpoints/state-30.json")).expect("the state is there");
    let ended = workplace.train("run", &["--updates", "40"]);
    assert!(
        ended.lines().contains(&"resumed     after update 20"),
        "{ended:?}"
    );
    assert_same(&workplace, "run", "whole");
}

#[test]
fn a_run_killed_before_its_first_checkpoint_starts_again() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    for file in fs::read_dir(workplace.path("run/checkpoints")).expect("the folder is there") {
        fs::remove_file(file.expect("the folder can be read").path()).expect("the file is there");
    }
    fs::remove_dir_all(workplace.path("run/model")).expect("the run left a model");
    workplace.train("run", &[]).lines();
    workplace.train("whole", &[]).lines();
    assert_same(&workplace, "run", "whole");
}

#[test]
fn a_model_whose_checkpoints_were_deleted_is_not_overwritten() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let before = workplace.weights("run");
    fs::remove_dir_all(workplace.path("run/checkpoints")).expect("the folder is there");
    let ended = workplace.train("run", &[]);
    let message = ended.failure();
    let start = "`run` holds a run without an intact checkpoint to resume at;";
    assert!(message.starts_with(start), "{message}");
    assert!(workplace.weights("run") == before);
}

/// A fresh start would delete the model.
#[test]
fn a_run_whose_checkpoints_cannot_be_listed_is_not_changed() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "10"]).lines();
    let before = workplace.weights("run");
    fs::remove_dir_all(workplace.path("run/checkpoints")).expect("the folder is there");
    workplace.write("run/checkpoints", "a file");
    for more in [&[][..], &["--overwrite"]] {
        let ended = workplace.train("run", more);
        let message = ended.failure();
        assert!(
            message.starts_with("cannot read `run/checkpoints`"),
            "{message}"
        );
        assert!(workplace.weights("run") == before);
    }
}

#[test]
fn a_run_cannot_be_made_shorter() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let ended = workplace.run(&["--resume", "run", "--updates", "20"]);
    let message = ended.failure();
    assert!(
        message.starts_with("the run has already done 25 updates and cannot be shortened;"),
        "{message}"
    );
}

#[test]
fn two_programs_cannot_train_in_one_folder() {
    let workplace = Workplace::new();
    let mut running = workplace.start("run", 100_000);
    running.wait_for_intervals(1);
    let ended = workplace.train("run", &["--updates", "100000"]);
    let message = ended.failure();
    running.kill();
    assert!(
        message.starts_with("another program is training in `run`;"),
        "{message}"
    );
}

#[test]
fn making_a_run_longer_does_not_delete_one_that_never_completed_an_interval() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "7"]).lines();
    let before = workplace.weights("run");
    let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
    let message = ended.failure();
    assert!(
        message.starts_with(
            "the run ended after 7 updates, which is not a multiple of `validation_interval` (10), so it cannot be \
             extended;"
        ),
        "{message}"
    );
    assert!(workplace.weights("run") == before);
}

#[test]
fn damaged_weights_are_reported_and_not_used_for_the_model() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "30"]).lines();
    workplace.damage("run/checkpoints/model-20.bpk", -1);
    let ended = workplace.run(&["--resume", "run"]);
    let lines = ended.lines();
    let damaged =
        "damaged     `run/checkpoints/state-20.json`: `model-20.bpk` is not what was saved;";
    assert!(
        lines.iter().any(|line| line.starts_with(damaged)),
        "{ended:?}"
    );
    let means = lines.iter().filter(|line| line.contains("the mean of"));
    assert_eq!(means.count(), 0, "{ended:?}");
}

#[test]
fn a_run_without_its_model_resumes_from_its_checkpoint() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "40"]).lines();
    workplace.train("run", &["--updates", "20"]).lines();
    fs::remove_dir_all(workplace.path("run/model")).expect("the run left a model");
    workplace.train("run", &["--updates", "40"]).lines();
    assert_same(&workplace, "run", "whole");
}

#[test]
fn only_the_same_run_is_resumed_in_a_default_folder() {
    let workplace = Workplace::new();
    let command = [&FILES[..], &["--updates"]].concat();
    workplace.run(&[&command[..], &["20"]].concat()).lines();
    workplace.run(&[&command[..], &["40"]].concat()).lines();
    assert!(workplace.translates("runs/a-2"));
}

#[test]
fn a_run_is_not_resumed_with_other_text() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let before = workplace.weights("run");
    let text = workplace.read("b.tgt").replace('5', "4");
    workplace.write("b.tgt", text);
    let ended = workplace.train("run", &["--updates", "40"]);
    let message = ended.failure();
    assert!(
        message.starts_with("the run in `run` was started on other text;"),
        "{message}"
    );
    assert!(workplace.weights("run") == before);
}

/// The tokenizers are trained again, and the sizes of the vocabularies differ.
#[test]
fn other_text_is_named_even_if_there_is_no_model_with_the_tokenizers() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    fs::remove_dir_all(workplace.path("run/model")).expect("the run left a model");
    let text = workplace.read("b.tgt").replace('5', "4");
    workplace.write("b.tgt", text);
    let ended = workplace.train("run", &["--updates", "40"]);
    let message = ended.failure();
    assert!(
        message.starts_with("the run in `run` was started on other text;"),
        "{message}"
    );
}

#[test]
fn every_setting_that_differs_is_named() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let config = workplace.read("run.toml");
    let config = config.replace("warmup_steps = 15", "warmup_steps = 16\nclip_norm = 1.0");
    workplace.write("run.toml", config);
    let ended = workplace.train("run", &[]);
    assert_eq!(
        ended.failure(),
        "`run` holds a run with other settings: `training.clip_norm` is 1.0 now, but the run in the folder has \
         \"none\", `training.warmup_steps` is 16 now, but the run in the folder has 15; resume without the change \
         (--resume reads `run/experiment.toml`), or with it by --allow-changes, train in another folder with --out, or replace the run with --overwrite"
    );
}

#[test]
fn another_number_of_threads_is_reported() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let ended = workplace.run(&["--resume", "run", "--updates", "40", "--threads", "2"]);
    let told = "with 1 thread(s) to an update: the same sentences, but other rounding";
    assert!(ended.stdout.contains(told), "{ended:?}");
}

#[test]
fn a_run_resumes_with_its_number_of_threads() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
    assert!(
        ended.lines().contains(&"threads     1 to an update"),
        "{ended:?}"
    );
}

#[test]
fn a_folder_without_a_run_cannot_be_resumed() {
    let workplace = Workplace::new();
    let ended = workplace.run(&["--resume", "nothing"]);
    let message = ended.failure();
    assert!(
        message.starts_with("cannot read `nothing/experiment.toml`"),
        "{message}"
    );
}

#[test]
fn a_run_whose_learning_rate_ends_at_zero_cannot_be_made_longer() {
    let workplace = Workplace::with(&[(
        "warmup_steps = 15",
        "warmup_steps = 15\nschedule = \"linear\"",
    )]);
    workplace.train("run", &[]).lines();
    let ended = workplace.train("run", &["--updates", "40"]);
    let message = ended.failure();
    assert!(
        message.contains(
            "`training.updates` is 40 now, but the run in the folder has 25 (the learning rate falls to zero at the \
             end,"
        ),
        "{message}"
    );
}

#[test]
fn a_run_with_accumulation_resumes_with_equal_results() {
    let accumulate = ("warmup_steps = 15", "warmup_steps = 15\naccumulate = 3");
    let workplace = Workplace::with(&[accumulate]);
    workplace.train("whole", &["--updates", "200"]).lines();
    killed(&workplace, "run", 2);
    workplace.train("run", &["--updates", "200"]).lines();
    assert_same(&workplace, "run", "whole");
}
