//! What a run logs, and the files that it writes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use transformer_core::ModelDirectory;
use transformer_metrics::{Bleu, Chrf, Metric, Tokenization};
use transformer_search::{LengthLimit, LengthPenalty, Search};
use transformer_train::config::Experiment;
use transformer_train::step::ranks::Ranks;
use transformer_train::tasks::Task;
use transformer_train::{
    Display, Existing, Interrupt, Outcome, RunEnvironment, ThreadCount, TrainError, train,
};
use transformer_translate::Translator;

use crate::workplace::{CONFIG, Workplace, test_device};

/// Returns the number after a label in the line of an interval.
fn number_after(line: &str, word: &str) -> f64 {
    let rest = line.split_once(&format!("  {word} "));
    let rest = rest.unwrap_or_else(|| panic!("no `{word}` in `{line}`")).1;
    let number = rest.split([' ', '%']).next();
    let number = number.and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no number after `{word}` in `{line}`"))
}

#[test]
fn a_built_in_task_becomes_a_model_that_translates() {
    let workplace = Workplace::with(&[
        ("[data]\n", "[data]\ntask = \"copy\"\ntask_pairs = 301\n"),
        ("max_len = 13", "max_len = 40"),
    ]);
    let arguments = ["--config", "run.toml", "--out", "run", "--threads", "2"];
    let ended = workplace.run(&arguments);
    assert_eq!(ended.intervals().len(), 3);
    assert!(ended.stdout.contains("\nexact match "), "{ended:?}");
    assert!(
        ended.stdout.contains(" of 1000 held-out pairs\n"),
        "{ended:?}"
    );
    let directory = ModelDirectory::open(workplace.path("run")).expect("training wrote a model");
    assert_eq!(directory.config().d_model, 16);
    let device = test_device();
    let translator = Translator::open(directory.path(), &device).expect("the model is whole");
    let translations = translator.translate_with(&["a b c", "x"], &Search::default());
    assert_eq!(translations.expect("the weights are finite").len(), 2);
}

#[test]
fn every_interval_is_one_line() {
    let ended = Workplace::new().train("run", &[]);
    let lines = ended.intervals();
    let starts = ["update 10/25 ", "update 20/25 ", "update 25/25 "];
    assert_eq!(lines.len(), starts.len(), "{lines:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
        assert!((0.0..20.0).contains(&number_after(line, "loss")), "{line}");
        assert!(number_after(line, "ppl") >= 1.0, "{line}");
        assert!(number_after(line, "valid ppl") >= 1.0, "{line}");
        assert!(
            (0.0..100.0).contains(&number_after(line, "padding")),
            "{line}"
        );
        assert!(
            (0.0..=100.0).contains(&number_after(line, "BLEU")),
            "{line}"
        );
        assert!(
            (0.0..=100.0).contains(&number_after(line, "chrF")),
            "{line}"
        );
        assert!(line.contains(" tok/s  "), "{line}");
        assert!(line.ends_with(" left"), "{line}");
    }
    assert!(lines[2].ends_with(", 0s left"), "{lines:?}");
}

#[test]
fn the_learning_rate_shown_is_that_of_equation_3() {
    let factor = (
        "warmup_steps = 15",
        "warmup_steps = 15\nlearning_rate_factor = 2.0",
    );
    let ended = Workplace::with(&[factor]).train("run", &[]);
    let (d_model, warmup_steps, factor) = (16.0_f64, 15.0_f64, 2.0);
    for (line, update) in ended.intervals().iter().zip([10.0_f64, 20.0, 25.0]) {
        let ramp = update * warmup_steps.powf(-1.5);
        let expected = factor * d_model.powf(-0.5) * update.powf(-0.5).min(ramp);
        // Three digits are shown.
        let error = number_after(line, "lr") / expected - 1.0;
        assert!(error.abs() < 6e-3, "{line}, not {expected}");
    }
}

#[test]
fn output_to_a_file_has_no_control_codes() {
    let ended = Workplace::new().train("run", &[]);
    let is_code = |character: char| character.is_control() && character != '\n';
    assert!(!ended.lines().is_empty());
    assert!(!ended.stdout.contains(is_code), "{:?}", ended.stdout);
}

#[test]
fn the_first_lines_are_the_backend_the_folder_and_the_data() {
    let ended = Workplace::new().train("run", &[]);
    let lines = ended.lines();
    assert!(lines[0].starts_with("backend "), "{lines:?}");
    assert!(lines[1].starts_with("run ") && lines[1].ends_with(" run"));
    let data = lines.iter().find(|line| line.starts_with("data "));
    // Four of 47 pairs would be a tenth; three are configured.
    assert!(data.is_some_and(|line| line.contains("44 pairs read, 44 kept")));
}

#[test]
fn the_last_line_is_the_command_that_translates() {
    let ended = Workplace::new().train("some/run", &[]);
    let last = ended.lines().last().map_or("", |line| line.trim());
    let start = "cargo run -q -p transformer-infer";
    assert!(last.starts_with(start), "{last}");
    assert!(last.contains(" -- translate --model some/run "), "{last}");
}

/// The shell must see four arguments, whatever is in the names.
#[cfg(unix)]
#[test]
fn the_command_that_translates_can_be_pasted_into_a_shell() {
    let workplace = Workplace::new();
    let table: String = (0..N_AWKWARD)
        .map(|number| format!("`{number}` \"$HOME\" 'x' \\\t{number}\n"))
        .collect();
    workplace.write("pairs.tsv", table);
    let config = CONFIG.replace("max_len = 13", "max_len = 30");
    workplace.write("run.toml", config);
    let folder = "a run's folder";
    let ended = workplace.run(&[
        "--config",
        "run.toml",
        "--tsv",
        "pairs.tsv",
        "--out",
        folder,
    ]);
    let last = ended.lines().last().map_or("", |line| line.trim());
    let (_, arguments) = last.split_once(" -- ").expect("the command has arguments");
    let script = format!("printf '%s\\n' {arguments}");
    let shown = workplace.command("sh", &["-c", &script]).output();
    let shown = String::from_utf8(shown.expect("there is a shell").stdout);
    let shown = shown.expect("the arguments are UTF-8");
    let shown: Vec<&str> = shown.lines().collect();
    let start = ["translate", "--model", folder];
    assert_eq!(shown.get(..3), Some(&start[..]), "{last}");
    assert!(shown[3].contains("\"$HOME\" 'x' \\"), "{last}");
}

#[cfg(unix)]
const N_AWKWARD: usize = 31;

#[test]
fn the_curve_has_the_values_of_every_interval() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let curve = workplace.read("run/metrics.csv");
    let mut rows = curve.lines();
    assert_eq!(rows.next(), Some("update,split,metric,value"));
    let mut loss_at = BTreeSet::new();
    let mut valid_perplexity_at = BTreeSet::new();
    let mut scores_at = BTreeSet::new();
    for row in rows {
        let columns: Vec<&str> = row.split(',').collect();
        let [update, split, metric, value] = columns[..] else {
            panic!("`{row}` has not four columns");
        };
        let update: u64 = update.parse().expect("updates are numbers");
        let value: f64 = value.parse().expect("values are numbers");
        assert!(value.is_finite(), "{row}");
        match (split.to_lowercase().as_str(), metric) {
            ("train", "Loss") => _ = loss_at.insert(update),
            ("valid", "Perplexity") => _ = valid_perplexity_at.insert(update),
            ("valid", "BLEU" | "chrF2") => _ = scores_at.insert((metric, update)),
            _ => {}
        }
    }
    assert_eq!(loss_at, BTreeSet::from([10, 20, 25]));
    assert_eq!(valid_perplexity_at, loss_at);
    assert_eq!(scores_at.len(), 2 * loss_at.len());
}

#[test]
fn the_scores_are_those_of_the_models_translations_of_the_validation_text() {
    // With this rate and 200 updates something is translated whatever the seed and the rounding (12
    // seeds of 12).
    let factor = (
        "warmup_steps = 15",
        "warmup_steps = 15\nlearning_rate_factor = 0.5",
    );
    let workplace = Workplace::with(&[factor]);
    // The tokenizer of the training lines lacks `ø`, so that text made of ids would lack it too.
    // Whichever digits the model writes, the references have them.
    let (src, tgt) = ("101110\n1011\n11\n", "ø01234567 89\n9876ø543210\n3\n");
    workplace.write("valid.src", src);
    workplace.write("valid.tgt", tgt);
    let files = ["--valid-src", "valid.src", "--valid-tgt", "valid.tgt"];
    let settings = ["--updates", "200", "--set", "validation.tokenize=char"];
    let ended = workplace.train("run", &[&files[..], &settings].concat());
    let directory = ModelDirectory::open(workplace.path("run")).expect("training wrote a model");
    let scores = &directory.manifest().training["scores"];
    let device = test_device();
    let translator = Translator::open(directory.path(), &device).expect("the model is whole");
    // The config has two sentences translated, and at most one token more than the source; the preset has the penalty.
    let search = Search {
        length_penalty: LengthPenalty::Power { alpha: 1.0 },
        max_len: LengthLimit {
            factor: 1.0,
            extra: 1,
        },
        ..Search::default()
    };
    let sources: Vec<&str> = src.lines().take(2).collect();
    let translations = translator.translate_with(&sources, &search);
    let translations = translations.expect("the weights are finite");
    let pairs = || {
        translations
            .iter()
            .map(|it| it.text())
            .zip(tgt.lines().map(|it| [it]))
    };
    let metric = Bleu {
        tokenization: Tokenization::Char,
        ..Bleu::default()
    };
    let bleu = metric.corpus_score(pairs()).score;
    let chrf = Chrf::default().corpus_score(pairs());
    assert!(chrf > 0.0, "{translations:?}");
    let of_manifest = |key: &str| scores[key].as_f64().expect("it is a number");
    assert!((of_manifest("valid_bleu") - bleu).abs() < 1e-9, "{scores}");
    assert!((of_manifest("valid_chrf") - chrf).abs() < 1e-9, "{scores}");
    assert_eq!(scores["valid_pairs_translated"], 2);
    let printed = format!("\nBLEU        {bleu:<7.1} {}\n", metric.signature(1));
    assert!(ended.stdout.contains(&printed), "{}", ended.stdout);
}

#[test]
fn the_effective_settings_are_in_the_folder_of_the_run() {
    let workplace = Workplace::new();
    workplace
        .train("run", &["--seed", "77", "--updates", "11"])
        .lines();
    let mut expected =
        Experiment::from_toml(&workplace.path("run.toml")).expect("the config is right");
    expected.training.seed = 77;
    expected.training.updates = 11;
    expected.data.src = Some("a.src".into());
    expected.data.tgt = Some("b.tgt".into());
    let written = Experiment::from_toml(&workplace.path("run/experiment.toml"));
    let written = written.expect("the run has written it");
    // The same model, with every key instead of those that differ from the preset.
    let model = |experiment: &Experiment| {
        let config = experiment
            .model
            .config(9, 9, experiment.tokenizer.vocabulary);
        config.expect("the keys are those of a model")
    };
    assert_eq!(model(&written), model(&expected));
    expected.model = written.model.clone();
    assert_eq!(written, expected);
}

#[test]
fn the_saved_settings_train_an_equal_model() {
    let workplace = Workplace::new();
    workplace.train("run", &["--seed", "5"]).lines();
    let settings = ["--config", "run/experiment.toml", "--threads", "1"];
    workplace
        .run(&[&settings[..], &["--out", "again"]].concat())
        .lines();
    assert!(workplace.weights("again") == workplace.weights("run"));
}

/// Runs the library on a tiny task, and returns the lines of its log. The run is interrupted when
/// it logs a line that begins with `interrupt_at`.
fn train_copy(
    workplace: &Workplace,
    interrupt_at: Option<&'static str>,
) -> (Result<Outcome, TrainError>, Vec<String>) {
    let device = test_device();
    let mut experiment =
        Experiment::from_toml(&workplace.path("run.toml")).expect("the config is right");
    experiment.data.task = Some(Task::Copy);
    experiment.data.max_len = 40;
    experiment.data.task_pairs = 97;
    let logged = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&logged);
    let interrupt = Interrupt::default();
    let request = interrupt.clone();
    let environment = RunEnvironment {
        existing: Existing::Resume,
        directory: workplace.path("run"),
        device,
        more_devices: Vec::new(),
        ranks: Ranks::default(),
        threads: ThreadCount::Exactly(1),
        log: Arc::new(move |line| {
            if interrupt_at.is_some_and(|beginning| line.starts_with(beginning)) {
                request.request();
            }
            let mut lines = lines.lock().expect("nobody panicked with it");
            lines.push(line.to_owned());
        }),
        display: Display::Lines,
        status: None,
        interrupt,
    };
    let outcome = train(&experiment, &environment);
    let logged = logged.lock().expect("nobody panicked with it").clone();
    (outcome, logged)
}

#[test]
fn the_outcome_equals_the_manifest() {
    let workplace = Workplace::new();
    let (outcome, logged) = train_copy(&workplace, None);
    let outcome = outcome.expect("the task can be trained");
    assert_eq!((outcome.n_updates, outcome.samples.len()), (25, 2));
    assert!(
        outcome
            .samples
            .iter()
            .all(|sample| sample.src == sample.reference)
    );
    assert!(logged.iter().any(|line| line.starts_with("update 25/25 ")));
    let directory = ModelDirectory::open(&outcome.model).expect("training wrote a model");
    let scores = &directory.manifest().training["scores"];
    assert_eq!(scores["updates"], 25);
    // What is read back may differ in the last bit.
    let written = scores["valid_perplexity"].as_f64().expect("it is a number");
    assert!((written / outcome.valid_perplexity - 1.0).abs() < 1e-12);
    let exact_match = outcome.test.map(|test| test.exact_match());
    assert_eq!(scores["exact_match"].as_f64(), exact_match);
}

#[test]
fn an_interrupt_ends_the_run_after_the_interval() {
    let workplace = Workplace::new();
    let (outcome, logged) = train_copy(&workplace, Some("threads "));
    let outcome = outcome.expect("an interval was trained");
    assert_eq!(outcome.n_updates, 10);
    let n_intervals = logged.iter().filter(|line| line.starts_with("update "));
    assert_eq!(n_intervals.count(), 1, "{logged:?}");
    assert!(workplace.translates("run"));
}

#[test]
fn an_interrupt_before_the_first_update_leaves_no_files() {
    let workplace = Workplace::new();
    for interrupt_at in ["data ", "vocabulary "] {
        let (outcome, logged) = train_copy(&workplace, Some(interrupt_at));
        assert!(
            matches!(outcome, Err(TrainError::Interrupted)),
            "{logged:?}"
        );
        assert!(!workplace.path("run").exists(), "{logged:?}");
    }
}

/// Returns the number of updates of a pass that a run logs.
fn updates_of_a_pass(workplace: &Workplace) -> u64 {
    let ended = workplace.train("run", &["--updates", "1"]);
    let lines = ended.lines();
    let line = lines.iter().find_map(|line| line.strip_prefix("batches "));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("the updates of a pass are logged")
}

#[test]
fn an_update_of_three_batches_uses_three_of_a_pass() {
    let accumulate = ("warmup_steps = 15", "warmup_steps = 15\naccumulate = 3");
    let plain = updates_of_a_pass(&Workplace::new());
    let accumulated = updates_of_a_pass(&Workplace::with(&[accumulate]));
    assert_eq!(accumulated, plain.div_ceil(3));
}

#[test]
fn an_interval_of_one_update_has_a_speed() {
    let workplace = Workplace::with(&[("validation_interval = 10", "validation_interval = 1")]);
    let ended = workplace.train("run", &["--updates", "3"]);
    for line in ended.intervals() {
        let speed = line
            .split_once(" tok/s")
            .and_then(|(before, _)| before.split(' ').next_back());
        let speed: f64 = speed
            .and_then(|it| it.parse().ok())
            .expect("it is a number");
        assert!(speed > 0.0, "{line}");
    }
}

#[test]
fn the_model_translates_with_the_search_of_its_validation() {
    let search = "max_sentences = 2\nbeam_size = 3\nlength_penalty = \"power:1\"";
    let workplace = Workplace::with(&[("max_sentences = 2", search)]);
    workplace.train("run", &[]).lines();
    let translator = Translator::open(workplace.path("run"), &test_device());
    let expected = Search {
        beam_size: 3,
        length_penalty: LengthPenalty::Power { alpha: 1.0 },
        max_len: LengthLimit {
            factor: 1.0,
            extra: 1,
        },
        ..Search::default()
    };
    assert_eq!(
        *translator.expect("training wrote a model").search(),
        expected
    );
}
