//! Runs that are resumed with other settings.

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
    let is_there = |interval: u64| {
        workplace
            .path(&format!("run/checkpoints/state-{interval}.json"))
            .exists()
    };
    let state = workplace.read("run/checkpoints/state-2.json");
    let perplexity = |text: &str| -> Vec<f64> {
        let numbers = text.split("\"perplexity\": ").skip(1);
        let numbers = numbers.filter_map(|rest| rest.split(',').next()?.parse().ok());
        numbers.collect()
    };
    let perplexities = perplexity(&state);
    assert_eq!(perplexities.len(), 2, "{state}");
    let best = if perplexities[0] <= perplexities[1] {
        1
    } else {
        2
    };
    for (updates, measure) in [("60", "1"), ("90", "1"), ("120", "2")] {
        let measure = format!("validation.max_sentences={measure}");
        let more = ["--resume", "run", "--updates", updates, "--set", &measure];
        workplace.run(&more).lines();
        assert!(is_there(best), "after {updates} updates");
        assert!(!is_there(3), "other checkpoints are deleted as usual");
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
    let state = workplace.read("run/checkpoints/state-3.json");
    assert_eq!(state.matches("\"perplexity\"").count(), 1, "{state}");
}
