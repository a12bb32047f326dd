//! Runs that are resumed with other settings.

use std::fs;

use serde_json::{Value, json};

use crate::workplace::Workplace;

#[test]
fn settings_of_later_updates_can_be_changed_on_request() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "20"]).lines();
    let rate = [
        "--set",
        "training.learning_rate_factor=0.5",
        "--updates",
        "40",
    ];
    let refused = workplace.train("run", &rate);
    let message = refused.failure();
    assert!(
        message.contains("or with it by --allow-changes"),
        "{message}"
    );
    let changed = workplace.train("run", &[&rate[..], &["--allow-changes"]].concat());
    let expected =
        "changed     `training.learning_rate_factor` is 0.5 now, but the run in the folder has 0.8";
    assert!(changed.lines().contains(&expected), "{changed:?}");
    assert!(
        changed.lines().contains(&"resumed     after update 20"),
        "{changed:?}"
    );
    // From then on it is a setting of the run.
    let same = workplace.run(&["--resume", "run", "--updates", "50"]);
    assert!(
        same.lines().contains(&"resumed     after update 40"),
        "{same:?}"
    );

    let fixed = workplace.train("run", &["--set", "training.window=7", "--allow-changes"]);
    let message = fixed.failure();
    assert!(message.contains("`training.window` is 7 now"), "{message}");
    assert!(!message.contains("--allow-changes"), "{message}");
}

#[test]
fn the_best_checkpoint_by_earlier_validation_settings_is_kept() {
    let workplace = Workplace::with(&[("warmup_steps = 15", "warmup_steps = 15\nkeep_best = 1")]);
    workplace.train("run", &["--updates", "20"]).lines();
    let is_there = |updates: u64| {
        workplace
            .path(&format!("run/checkpoints/state-{updates}.json"))
            .exists()
    };
    let state = workplace.read("run/checkpoints/state-20.json");
    let perplexity = |text: &str| -> Vec<f64> {
        let numbers = text.split("\"perplexity\": ").skip(1);
        let numbers = numbers.filter_map(|rest| rest.split(',').next()?.parse().ok());
        numbers.collect()
    };
    let perplexities = perplexity(&state);
    assert_eq!(perplexities.len(), 2, "{state}");
    let best = if perplexities[0] <= perplexities[1] {
        10
    } else {
        20
    };
    for (updates, measure) in [("60", "1"), ("90", "1"), ("120", "2")] {
        let measure = format!("validation.max_sentences={measure}");
        let more = ["--resume", "run", "--updates", updates, "--set", &measure];
        workplace.run(&more).lines();
        assert!(is_there(best), "after {updates} updates");
        assert!(!is_there(30), "other checkpoints are deleted as usual");
    }
}

#[test]
fn validations_with_other_settings_are_not_compared() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "20"]).lines();
    let other = ["--set", "validation.max_sentences=1"];
    let ended = workplace.run(&[&["--resume", "run", "--updates", "30"], &other[..]].concat());
    let expected = "validation  on other pairs, or measured in another way, than before: the 2 validations so far";
    assert!(
        ended.lines().iter().any(|line| line.starts_with(expected)),
        "{ended:?}"
    );
    let state = workplace.read("run/checkpoints/state-30.json");
    assert_eq!(state.matches("\"perplexity\"").count(), 1, "{state}");
}

/// Replaces text in the settings of the run in the folder `run`.
fn edit_settings(workplace: &Workplace, from: &str, to: &str) {
    let settings = workplace.read("run/experiment.toml");
    assert!(settings.contains(from), "{settings}");
    workplace.write("run/experiment.toml", settings.replace(from, to));
}

#[test]
fn settings_edited_in_the_folder_are_refused_by_name() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "20"]).lines();
    let before = workplace.weights("run");
    let edits = [
        (
            "accumulate = 1",
            "accumulate = 2",
            "`training.accumulate` is 2 now, but the run in the folder has 1",
        ),
        (
            "label_smoothing = 0.1",
            "label_smoothing = 0.3",
            "`training.label_smoothing` is 0.3 now, but the run in the folder has 0.1",
        ),
        (
            "\ndropout = 0.2",
            "\ndropout = 0.3",
            "`model.dropout` is 0.3 now, but the run in the folder has 0.2",
        ),
    ];
    for (from, to, expected) in edits {
        edit_settings(&workplace, from, to);
        let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
        let message = ended.failure();
        assert!(message.contains(expected), "{message}");
        let remedy = "resume without the change (--resume reads `run/experiment.toml`)";
        assert!(message.contains(remedy), "{message}");
        edit_settings(&workplace, to, from);
    }
    assert!(workplace.weights("run") == before);
    workplace
        .run(&["--resume", "run", "--updates", "40"])
        .lines();
}

#[test]
fn the_manifest_lists_the_changes_of_a_run_in_order() {
    let workplace = Workplace::new();
    let changes = |model: &str| workplace.manifest(model)["training"]["changes"].clone();
    workplace.train("run", &["--updates", "20"]).lines();
    assert_eq!(changes("run/model"), Value::Null);
    let resume = |updates: &str, more: &[&str]| {
        let ended = workplace.run(&[&["--resume", "run", "--updates", updates], more].concat());
        ended.lines();
    };
    resume(
        "40",
        &[
            "--set",
            "training.learning_rate_factor=0.5",
            "--allow-changes",
        ],
    );
    resume("60", &[]);
    resume(
        "80",
        &["--set", "training.clip_norm=1.5", "--allow-changes"],
    );
    let expected = json!([
        { "changed": "training.learning_rate_factor", "from": "0.8", "to": "0.5", "update": 21 },
        { "changed": "training.clip_norm", "from": "\"none\"", "to": "1.5", "update": 61 },
    ]);
    assert_eq!(changes("run/model"), expected);
    let mean = ["average", "--run", "run", "--last", "2", "--out", "mean"];
    workplace.run(&mean).lines();
    assert_eq!(changes("mean"), expected);
}

#[test]
fn a_checkpoint_without_settings_or_hash_is_damaged() {
    let state = "run/checkpoints/state-20.json";
    let damaged = |damage: fn(&Workplace, Value), reason: &str| {
        let workplace = Workplace::new();
        workplace.train("run", &["--updates", "20"]).lines();
        let json = serde_json::from_str(&workplace.read(state)).expect("it is JSON");
        damage(&workplace, json);
        let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
        let line = format!("damaged     `{state}`: {reason}");
        let lines = ended.lines();
        assert!(lines.iter().any(|it| it.starts_with(&line)), "{ended:?}");
        assert!(lines.contains(&"resumed     after update 10"), "{ended:?}");
    };
    let without_settings = |workplace: &Workplace, mut json: Value| {
        json.as_object_mut()
            .expect("it has fields")
            .remove("experiment");
        workplace.write_hashed("run/checkpoints/state-20.json", json);
    };
    damaged(without_settings, "missing field `experiment`");
    let without_hash = |workplace: &Workplace, mut json: Value| {
        json["sha256"] = "".into();
        let text = serde_json::to_string_pretty(&json).expect("a value can be written");
        workplace.write("run/checkpoints/state-20.json", text);
    };
    damaged(without_hash, "it is not what was saved");
}

#[test]
fn an_unfinished_run_whose_settings_file_was_edited_is_not_overwritten() {
    let workplace = Workplace::new();
    let mut running = workplace.start("run", 5000);
    running.wait_for_intervals(2);
    running.kill();
    edit_settings(&workplace, "label_smoothing = 0.1", "label_smoothing = 0.3");
    let ended = workplace.train("run", &["--updates", "5000", "--overwrite"]);
    let message = ended.failure();
    assert!(
        message.starts_with("`run` holds this very run, stopped after "),
        "{message}"
    );
}

#[test]
fn weights_that_do_not_fit_the_model_are_refused_by_name() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "20"]).lines();
    let edit = |from: &str, to: &str| {
        edit_settings(&workplace, from, to);
        let in_json = |text: &str| text.replace('"', "\\\"");
        workplace.edit_hashed(
            "run/checkpoints/state-20.json",
            &in_json(from),
            &in_json(to),
        );
    };
    let edits = [
        (
            "d_model = 16",
            "d_model = 32",
            "`model.src_vocabulary.weight` has the shape [12, 16] in the file, but [12, 32] in the model",
        ),
        (
            "n_encoder_layers = 1",
            "n_encoder_layers = 2",
            "`model.encoder.layers.1.self_attention.query.weight` is missing in the file",
        ),
        (
            "output_bias = false",
            "output_bias = true",
            "`model.output_bias` is missing in the file",
        ),
        (
            "attention_bias = true",
            "attention_bias = false",
            "`model.decoder.layers.0.cross_attention.key.bias` in the file is not a parameter of the model",
        ),
        (
            "ema_decay = \"none\"",
            "ema_decay = 0.9",
            "`ema.src_vocabulary.weight` is missing in the file",
        ),
    ];
    for (from, to, expected) in edits {
        edit(from, to);
        let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
        let message = ended.failure();
        let start = format!(
            "`run/checkpoints/model-20.bpk` does not fit the model: {expected}; use the settings that "
        );
        assert!(message.starts_with(&start), "{message}");
        edit(to, from);
    }
    workplace
        .run(&["--resume", "run", "--updates", "40"])
        .lines();
}

#[test]
fn moments_of_another_model_are_refused_by_name() {
    let workplace = Workplace::new();
    let other = ["--updates", "20", "--set", "model.d_ff=31"];
    workplace.train("other", &other).lines();
    workplace.train("run", &["--updates", "20"]).lines();
    let [ours, theirs] =
        ["run", "other"].map(|out| workplace.path(&format!("{out}/checkpoints/optim-20.bpk")));
    fs::copy(theirs, ours).expect("both runs have a checkpoint");
    // The state names the other moments, as if they were its own.
    let state = |out: &str| -> Value {
        let text = workplace.read(&format!("{out}/checkpoints/state-20.json"));
        serde_json::from_str(&text).expect("it is JSON")
    };
    let (mut ours, theirs) = (state("run"), state("other"));
    let files = theirs["files"].as_array().expect("a checkpoint has files");
    let moments = files.iter().find(|file| file["name"] == "optim-20.bpk");
    for file in ours["files"]
        .as_array_mut()
        .expect("a checkpoint has files")
    {
        if file["name"] == "optim-20.bpk" {
            *file = moments.expect("the checkpoint has moments").clone();
        }
    }
    workplace.write_hashed("run/checkpoints/state-20.json", ours);
    let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
    let message = ended.failure();
    let start = "`run/checkpoints/optim-20.bpk` does not fit the model: the moments of `model.src_vocabulary.weight` are \
                 missing in the file;";
    assert!(message.starts_with(start), "{message}");
}

/// The model would claim a setting with which nothing was trained.
#[test]
fn a_change_after_the_last_update_is_refused() {
    let workplace = Workplace::new();
    workplace.train("run", &["--updates", "20"]).lines();
    let settings = workplace.read("run/experiment.toml");
    let change = [
        "--resume",
        "run",
        "--set",
        "training.label_smoothing=0.3",
        "--allow-changes",
    ];
    let ended = workplace.run(&change);
    assert_eq!(
        ended.failure(),
        "`training.label_smoothing` is 0.3 now, but the run in the folder has 0.1, and no update is left that it \
         affects: the run in `run` has done all of its 20; give it more with --updates, or resume without the change \
         (--resume reads `run/experiment.toml`)"
    );
    assert_eq!(workplace.read("run/experiment.toml"), settings);
    workplace
        .run(&[&change[..], &["--updates", "30"]].concat())
        .lines();
}
