//! Runs that train low-rank adapters of a trained model.

use std::fs;

use transformer_core::directory::ModelDirectory;

use crate::workplace::{Ended, Running, Workplace, test_device};

/// A workplace with a trained model in `base`, and settings without a model or tokenizer in
/// `tune.toml`, with adapters of some matrices.
fn workplace() -> Workplace {
    Workplace::with_base(
        "[adapters]\nrank = 3\nalpha = 6.0\ndropout = 0.1\n\
         targets = [\"attention.query\", \"feed_forward\"]\n\
         train_biases = false\ntrain_norms = false\n",
    )
}

/// Like [`workplace`], with adapters of all matrices, and with biases and normalizations that are trained.
fn everything() -> Workplace {
    Workplace::with_base(
        "[adapters]\nrank = 3\ndropout = 0.1\n\
         targets = [\"attention\", \"feed_forward\", \"embeddings\"]\n\
         train_biases = true\ntrain_norms = true\n",
    )
}

/// Like [`everything`], with embeddings of six tokens that are trained in place of adapters of embeddings.
fn tokens() -> Workplace {
    Workplace::with_base("[adapters]\nrank = 3\ntrained_tokens = 6\n")
}

fn arguments<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = [
        "--config",
        "tune.toml",
        "--src",
        "a.src",
        "--tgt",
        "b.tgt",
        "--threads",
        "1",
        "--finetune",
        "base",
        "--out",
        out,
    ];
    [&common[..], more].concat()
}

fn adapt(workplace: &Workplace, out: &str, more: &[&str]) -> Ended {
    workplace.run(&arguments(out, more))
}

/// Three attentions of 16 × 16, and two networks of 16 × 24 and 24 × 16.
const N_TRAINED: usize = 3 * (3 * (16 + 16) + 2 * 2 * (16 + 24));

/// Returns the number of matrices and vectors in which two models differ.
fn n_different(workplace: &Workplace, one: &str, other: &str) -> usize {
    let (one, other) = (workplace.weights(one), workplace.weights(other));
    assert_eq!(one.len(), other.len());
    one.iter().zip(&other).filter(|(a, b)| a != b).count()
}

/// Returns the first weights of two models that differ by more than `tolerance`.
fn far_weights(
    workplace: &Workplace,
    one: &str,
    other: &str,
    tolerance: f32,
) -> Option<(f32, f32)> {
    let (one, other) = (workplace.weights(one), workplace.weights(other));
    let pairs = one.into_iter().flatten().zip(other.into_iter().flatten());
    let mut pairs = pairs.filter(|(one, other)| (one - other).abs() > tolerance);
    pairs.next()
}

#[test]
fn only_adapted_matrices_of_the_model_change() {
    let workplace = workplace();
    adapt(&workplace, "tuned", &[]).lines();
    // The queries of three attentions, and two matrices of two networks.
    assert_eq!(n_different(&workplace, "tuned", "base"), 3 + 4);
    assert!(workplace.translates("tuned"));
}

#[test]
fn every_matrix_and_vector_of_the_model_can_change() {
    let workplace = everything();
    adapt(&workplace, "tuned", &[]).lines();
    let n_weights = workplace.weights("base").len();
    // The bias of keys, on which no softmax depends, moves by rounding alone.
    let expected = n_weights - 3..=n_weights;
    assert!(expected.contains(&n_different(&workplace, "tuned", "base")));
    assert!(workplace.translates("tuned"));
}

#[test]
fn biases_and_normalizations_change_only_if_they_are_trained() {
    let workplace = everything();
    let adapt = |out, key: &str| {
        let frozen = format!("adapters.{key}=false");
        adapt(&workplace, out, &["--set", &frozen]).lines();
        n_different(&workplace, out, "base")
    };
    let n_weights = workplace.weights("base").len();
    // Two biases of each of two networks, four of each of three attentions.
    assert_eq!(adapt("without-biases", "train_biases"), n_weights - 4 - 12);
    // Gains and offsets of two norms of the encoder's layer, three of the decoder's and one after each stack; the bias
    // of keys moves by rounding alone.
    let without_norms = adapt("without-norms", "train_norms");
    assert!((n_weights - 14 - 3..=n_weights - 14).contains(&without_norms));
}

#[test]
fn the_vectors_of_the_most_frequent_tokens_change_and_those_of_others_do_not() {
    let workplace = tokens();
    adapt(&workplace, "tuned", &[]).lines();
    let [before, after] = ["base", "tuned"].map(|model| {
        let directory = ModelDirectory::open(workplace.path(model)).expect("it is a model");
        let model = directory.load(&test_device()).expect("it has weights");
        let weight = model.output_weight();
        let [_, d_model] = weight.dims();
        let values: Vec<f32> = weight.into_data().iter::<f32>().collect();
        values
            .chunks(d_model)
            .map(<[f32]>::to_vec)
            .collect::<Vec<_>>()
    });
    let rows = before.iter().zip(&after);
    assert_eq!(rows.filter(|(before, after)| before != after).count(), 6);
    // Padding and unknown tokens, the first two of the vocabulary, are not in the text.
    assert_eq!(before[..2], after[..2]);
    assert!(workplace.translates("tuned"));
    let ended = adapt(
        &workplace,
        "too-many",
        &["--set", "adapters.trained_tokens=100000"],
    );
    let message = ended.failure();
    assert!(message.contains("`adapters.trained_tokens`"), "{message}");
}

#[test]
fn adapters_that_have_not_moved_leave_every_weight_as_it_was() {
    let still = ["--set", "training.learning_rate_factor=1e-30"];
    let layers = workplace();
    adapt(&layers, "tuned", &still).lines();
    assert!(layers.weights("tuned") == layers.weights("base"));
    let everything = everything();
    adapt(&everything, "tuned", &still).lines();
    // A bias of zero moves, but not by more than the learning rates together.
    assert_eq!(far_weights(&everything, "tuned", "base", 1e-28), None);
}

#[test]
fn the_number_of_trained_parameters_is_logged() {
    let workplace = workplace();
    for more in [&["--dry-run"][..], &[]] {
        let ended = adapt(&workplace, "tuned", more);
        let lines = ended.lines();
        let size = lines.iter().find(|line| line.starts_with("model "));
        let size = size.expect("the size is logged");
        let expected = format!("parameters; trained: {N_TRAINED} (");
        assert!(size.ends_with("%), adapters of rank 3"), "{size}");
        assert!(size.contains(&expected), "{size}");
    }
}

#[test]
fn a_checkpoint_has_moments_of_adapters_only() {
    let workplace = workplace();
    adapt(&workplace, "tuned", &["--updates", "20"]).lines();
    let optimizer = fs::metadata(workplace.path("tuned/checkpoints/optim-20.bpk"));
    let n_bytes = optimizer.expect("there is a checkpoint").len() as usize;
    // Two moments of four bytes, and at most a kilobyte of names for each of 14 matrices.
    let moments = 2 * 4 * N_TRAINED;
    assert!(
        (moments..moments + 14 * 1024).contains(&n_bytes),
        "{n_bytes}"
    );
}

#[test]
fn a_killed_run_resumes_with_equal_results() {
    for workplace in [workplace(), everything(), tokens()] {
        let updates = ["--updates", "200"];
        adapt(&workplace, "whole", &updates).lines();
        let mut running = Running::new(workplace.program(&arguments("run", &updates)));
        running.wait_for_intervals(3);
        running.kill();
        fs::remove_dir_all(workplace.path("base")).expect("it is there");
        workplace.run(&["--resume", "run"]).lines();
        assert!(workplace.weights("run") == workplace.weights("whole"));
    }
}

#[test]
fn threads_that_share_an_update_train_the_same_adapters() {
    for workplace in [workplace(), everything(), tokens()] {
        let settings = [
            "adapters.dropout=0",
            "model.dropout=0",
            // The bias of keys, on which no softmax depends, moves by rounding alone.
            "adapters.train_biases=false",
            "training.learning_rate_factor=0.1",
        ];
        let settings: Vec<&str> = settings.iter().flat_map(|it| ["--set", it]).collect();
        adapt(&workplace, "one", &settings).lines();
        let mut two = arguments("two", &settings);
        let threads = two.iter().position(|argument| *argument == "--threads");
        two[threads.expect("it is given") + 1] = "2";
        workplace.run(&two).lines();
        // Sums in another order, over 25 updates of Adam, which amplifies rounding.
        assert_eq!(far_weights(&workplace, "one", "two", 1e-4), None);
    }
}

#[test]
fn the_moving_average_of_adapters_is_published() {
    let workplace = workplace();
    let average = ["--set", "training.ema_decay=0.9"];
    adapt(&workplace, "tuned", &average).lines();
    assert_eq!(n_different(&workplace, "tuned", "base"), 3 + 4);
    let ended = workplace.run(&["average", "--run", "tuned", "--last", "2", "--out", "mean"]);
    ended.lines();
    assert_eq!(n_different(&workplace, "mean", "base"), 3 + 4);
}

#[test]
fn the_mean_of_checkpoints_is_that_of_the_merged_models() {
    for workplace in [workplace(), everything(), tokens()] {
        adapt(&workplace, "tuned", &["--updates", "20"]).lines();
        let average = |updates, out| {
            let arguments = [
                "average",
                "--run",
                "tuned",
                "--updates",
                updates,
                "--out",
                out,
            ];
            workplace.run(&arguments).lines();
            workplace.weights(out)
        };
        let [ten, twenty] = [average("10", "ten"), average("20", "twenty")];
        let mean = average("10,20", "mean");
        let ends = ten.iter().flatten().zip(twenty.iter().flatten());
        let mut pairs = ends.zip(mean.iter().flatten());
        // Single precision.
        let far = pairs.find(|((a, b), mean)| (0.5 * (*a + *b) - **mean).abs() > 1e-6);
        assert_eq!(far, None);
        // All that is trained has moved between the checkpoints, but perhaps for the biases of keys.
        let n_trained = n_different(&workplace, "tuned", "base");
        assert!(n_different(&workplace, "ten", "twenty") >= n_trained - 3);
    }
}

#[test]
fn adapters_without_a_model_are_refused() {
    let workplace = Workplace::new();
    let ended = workplace.train("run", &["--set", "adapters.rank=2"]);
    let message = ended.failure();
    assert!(message.contains("`adapters.rank`"), "{message}");
    assert!(message.contains("`finetune.model`"), "{message}");
}

#[test]
fn a_run_is_not_resumed_with_other_adapters() {
    let workplace = workplace();
    adapt(&workplace, "tuned", &["--updates", "10"]).lines();
    for setting in [
        "adapters.rank=2",
        "adapters.targets=[\"attention\"]",
        "adapters.train_biases=true",
        "adapters.train_norms=true",
        "adapters.trained_tokens=3",
    ] {
        let more = ["--updates", "20", "--allow-changes", "--set", setting];
        let ended = adapt(&workplace, "tuned", &more);
        let (key, _) = setting.split_once('=').expect("it is a setting");
        let message = ended.failure();
        assert!(message.contains(&format!("`{key}`")), "{message}");
    }
}

#[test]
fn unknown_matrices_are_refused_with_the_nearest() {
    let workplace = workplace();
    let targets = ["--set", "adapters.targets=[\"attention.quary\"]"];
    let ended = adapt(&workplace, "tuned", &targets);
    let message = ended.failure();
    assert!(message.contains("`attention.query`"), "{message}");
}
