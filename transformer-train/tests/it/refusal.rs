//! What the program does not take, and how it says so.

use crate::workplace::{Ended, Workplace};

/// Trains with the config, in which some text is replaced, and returns the message.
fn config_refusal(from: &str, to: &str) -> String {
    let ended = Workplace::with(&[(from, to)]).train("run", &[]);
    ended.failure().to_owned()
}

/// Trains on these two files, and returns the message.
fn file_refusal(src: &[u8], tgt: &[u8]) -> String {
    let workplace = Workplace::new();
    workplace.write("a.src", src);
    workplace.write("b.tgt", tgt);
    workplace.train("run", &[]).failure().to_owned()
}

#[test]
fn files_of_unequal_length_are_refused_with_both_counts() {
    let message = file_refusal(b"1\n10\n11\n", b"1\n2\n3\n4\n5\n");
    assert!(
        message.starts_with("`a.src` has 3 lines but `b.tgt` has 5;"),
        "{message}"
    );
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_with_file_and_line() {
    let message = file_refusal(b"1\n10\n11\n", b"1\n2\xff\n3\n");
    assert!(message.starts_with("`b.tgt`, line 2: "), "{message}");
}

#[test]
fn an_error_in_the_first_line_is_reported() {
    let message = file_refusal(b"\xff\n10\n11\n", b"1\n2\n3\n");
    assert!(message.starts_with("`a.src`, line 1: "), "{message}");
}

#[test]
fn a_missing_file_is_named() {
    let workplace = Workplace::new();
    let ended = workplace.run(&["--src", "a.src", "--tgt", "no/such.tgt"]);
    let message = ended.failure();
    assert!(
        message.starts_with("cannot open `no/such.tgt`: "),
        "{message}"
    );
}

#[test]
fn empty_files_are_refused() {
    let message = file_refusal(b"", b"");
    assert!(
        message.starts_with("`a.src` with `b.tgt` is empty;"),
        "{message}"
    );
}

#[test]
fn files_of_blank_lines_are_refused() {
    let message = file_refusal(b"\n \n\n", b"1\n2\n3\n");
    assert!(
        message.contains("blank") || message.contains("empty"),
        "{message}"
    );
}

#[test]
fn a_corpus_of_one_pair_is_refused() {
    let message = file_refusal(b"1\n", b"1\n");
    assert!(message.ends_with("give validation files"), "{message}");
}

#[test]
fn a_corpus_of_over_long_lines_is_refused() {
    let message = config_refusal("max_len = 13", "max_len = 2");
    assert!(message.contains("`max_len`"), "{message}");
}

#[test]
fn a_matrix_for_two_vocabularies_of_one_size_is_refused_before_training() {
    let workplace = Workplace::new();
    // Both sides have ten digits, spelled otherwise.
    let lines = |zero: u8| {
        (0..60_u8)
            .map(|n| [zero + n % 10, zero + n / 7, b'\n'])
            .collect::<Vec<_>>()
    };
    workplace.write("a.src", lines(b'0').concat());
    workplace.write("b.tgt", lines(b'a').concat());
    let settings = [
        "--set",
        "tokenizer.vocabulary=separate",
        "--set",
        "model.tying=all",
    ];
    let ended = workplace.train("run", &settings);
    let message = ended.failure();
    assert!(
        message.starts_with("`tying = \"all\"` needs one vocabulary, but the token 4 is `"),
        "{message}"
    );
}

#[test]
fn an_unknown_setting_is_refused_with_line_and_nearest_name() {
    let message = config_refusal("warmup_steps", "warmup_step");
    assert!(message.starts_with("`run.toml`, line "), "{message}");
    assert!(
        message.ends_with("did you mean `warmup_steps`?"),
        "{message}"
    );
}

#[test]
fn an_unknown_setting_of_the_model_is_refused_with_line_and_nearest_name() {
    let message = config_refusal("n_encoder_layers", "n_encoder_layer");
    assert!(message.starts_with("`run.toml`, line "), "{message}");
    assert!(
        message.ends_with("did you mean `n_encoder_layers`?"),
        "{message}"
    );
}

#[test]
fn a_setting_of_the_model_of_the_wrong_type_is_named() {
    let message = config_refusal("d_ff = 24", "d_ff = \"wide\"");
    assert!(message.contains("d_ff"), "{message}");
}

#[test]
fn heads_that_do_not_divide_the_model_are_refused() {
    let message = config_refusal("n_heads = 2", "n_heads = 3");
    assert!(message.contains("`n_heads` (3)"), "{message}");
    assert!(message.contains("`d_model` (16)"), "{message}");
}

/// What is wrong with the settings is known before the first line of text is read.
#[test]
fn settings_are_checked_before_the_corpus_is_read() {
    let workplace = Workplace::with(&[("n_heads = 2", "n_heads = 3")]);
    let ended = workplace.run(&["--config", "run.toml", "--src", "no", "--tgt", "no"]);
    let message = ended.failure();
    assert!(message.contains("`n_heads` (3)"), "{message}");
}

#[test]
fn a_vocabulary_too_small_for_the_text_is_refused_with_the_minimum() {
    let kind = "kind = \"char\"\nvocab_size = 40";
    let message = config_refusal(kind, "kind = \"bpe\"\nvocab_size = 7");
    // Four special tokens and at least the eight digits.
    let smallest = message.split("at least ").nth(1);
    let smallest: Option<u32> = smallest.and_then(|number| number.parse().ok());
    assert!(smallest.is_some_and(|smallest| smallest >= 12), "{message}");
}

/// Checks that the program was used wrongly, and returns what it says.
fn usage(ended: &Ended) -> &str {
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stdout, "");
    &ended.stderr
}

#[test]
fn an_unknown_task_is_wrong_usage_and_the_nearest_is_named() {
    let ended = Workplace::new().run(&["--task", "numbres"]);
    assert!(
        usage(&ended).contains("did you mean `numbers`?"),
        "{ended:?}"
    );
}

#[test]
fn an_unknown_argument_is_wrong_usage_and_the_nearest_is_named() {
    let ended = Workplace::new().run(&["--update", "3"]);
    assert!(usage(&ended).contains("--updates"), "{ended:?}");
}

#[test]
fn a_source_without_target_is_wrong_usage() {
    let ended = Workplace::new().run(&["--src", "a.src"]);
    assert!(usage(&ended).contains("--tgt"), "{ended:?}");
}

#[test]
fn a_task_and_files_are_wrong_usage() {
    let ended = Workplace::new().run(&["--task", "copy", "--src", "a.src", "--tgt", "b.tgt"]);
    assert!(usage(&ended).contains("--task"), "{ended:?}");
}

#[test]
fn overwriting_without_a_folder_is_wrong_usage() {
    let ended = Workplace::new().run(&["--task", "copy", "--overwrite"]);
    assert!(usage(&ended).contains("--out"), "{ended:?}");
}

#[test]
fn resuming_and_overwriting_together_is_wrong_usage() {
    let ended = Workplace::new().run(&["--resume", "run", "--overwrite"]);
    assert!(usage(&ended).contains("--overwrite"), "{ended:?}");
}

#[test]
fn numbers_that_are_too_large_are_refused_by_name() {
    let settings = [
        "training.updates",
        "training.accumulate",
        "training.tokens_per_batch",
        "data.valid_pairs",
        "data.max_len",
        "tokenizer.vocab_size",
        "validation.max_extra_len",
        "validation.beam_size",
        "model.d_model",
        "model.n_encoder_layers",
    ];
    for setting in settings {
        let set = format!("{setting}=9223372036854775807");
        let ended = Workplace::new().train("run", &["--dry-run", "--set", &set]);
        let name = setting.trim_start_matches("model.");
        let start = format!("`{name}` is 9223372036854775807; choose ");
        assert!(ended.failure().contains(&start), "{ended:?}");
    }
    for threads in ["0", "999999"] {
        let ended = Workplace::new().run(&["--task", "copy", "--threads", threads]);
        assert!(usage(&ended).contains("--threads"), "{ended:?}");
    }
}

#[test]
fn an_invalid_number_is_wrong_usage() {
    let ended = Workplace::new().run(&["--updates", "many"]);
    assert!(usage(&ended).contains("many"), "{ended:?}");
}

#[test]
fn an_unknown_setting_on_the_command_line_is_refused_with_the_nearest_name() {
    let ended = Workplace::new().train("run", &["--set", "training.warmup_step=5"]);
    assert_eq!(
        ended.failure(),
        "`--set`: `training.warmup_step` is unknown here; did you mean `training.warmup_steps`?"
    );
}

#[test]
fn an_unknown_backend_is_refused_with_the_known_ones() {
    let workplace = Workplace::new();
    let output = workplace
        .program(&["--config", "run.toml", "--src", "a.src", "--tgt", "b.tgt"])
        .env("BURN_DEVICE", "nonsense")
        .output()
        .expect("cargo has built the program");
    let ended = Ended::new(output);
    let message = ended.failure();
    assert!(
        message.starts_with("unknown backend `nonsense`;"),
        "{message}"
    );
    assert!(message.contains("flex"), "{message}");
}

/// Burn would panic at it, but only when the run is resumed.
#[test]
fn an_empty_backend_name_is_refused() {
    let workplace = Workplace::new();
    let output = workplace
        .program(&["--config", "run.toml", "--src", "a.src", "--tgt", "b.tgt"])
        .env("BURN_DEVICE", "")
        .output()
        .expect("cargo has built the program");
    let ended = Ended::new(output);
    let message = ended.failure();
    assert!(
        message.starts_with("BURN_DEVICE is set but empty; unset it"),
        "{message}"
    );
}
