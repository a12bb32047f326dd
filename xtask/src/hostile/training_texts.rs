//! Generated text as training data.

use anyhow::{Result, ensure};

use super::call::{Call, Ended};
use super::case::{Case, with_arguments};
use super::text::Text;
use super::text_checks::{MOST_LINES, check_translations, check_two, two};

/// Checks that the log has nothing that controls a terminal.
fn check_log(ended: &Ended) -> Result<()> {
    let stdout = ended.stdout();
    let controls = |line: &&str| line.contains(|it: char| it.is_control() && it != '\t');
    let line = stdout.split('\n').find(controls);
    ensure!(
        line.is_none(),
        "control characters on standard output: {line:?}"
    );
    Ok(())
}

/// Returns a call of transformer-train on generated text.
fn training(case: &mut Case<'_>) -> Result<(Call, [Text; 2])> {
    let kind = case.random.pick(&["char", "bpe", "unigram", "word"]);
    let vocabulary = case
        .random
        .pick(&["joint", "separate --set model.tying=decoder"]);
    let case_of = case.random.pick(&[
        "",
        "--set tokenizer.case=lower",
        "--set tokenizer.dropout=0.1",
    ]);
    let filters = case.random.pick(&[
        "",
        "--set data.duplicates=drop",
        "--set data.max_ratio=2",
        "--set data.over_long=cut",
        "--set data.copies=drop",
        "--set data.store=disk",
        "--set data.tokenizer_sample=2",
    ]);
    let settings = format!(
        "--config LAB/run.toml --out run --threads 1 --set tokenizer.kind={kind} --set tokenizer.vocab_size=400 \
         --set tokenizer.vocabulary={vocabulary} {case_of} {filters}"
    );
    let texts = two(case, "src", "tgt")?;
    let call = case.train(&format!("{settings} --src src --tgt tgt"));
    Ok((call, texts))
}

/// Trains without an update.
pub(super) fn dry_run(case: &mut Case<'_>) -> Result<()> {
    if case.random.one_in(3) {
        let text = Text::new(MOST_LINES, &mut case.random)?;
        case.write("pairs", &text.stored)?;
        let ended = case.run_train("--config LAB/run.toml --tsv pairs --out run --dry-run")?;
        if text.is_unreadable() {
            ended.check_refused("the text is not UTF-8")?;
        }
        return Ok(());
    }
    let (call, texts) = training(case)?;
    let ended = case.run(&with_arguments(call, ["--dry-run"]))?;
    ensure!(!case.path("run").exists(), "--dry-run has written a folder");
    check_log(&ended)?;
    check_two(&ended, &texts)
}

/// Trains for two updates, and translates with the model.
pub(super) fn train(case: &mut Case<'_>) -> Result<()> {
    let (mut call, texts) = training(case)?;
    if case.random.one_in(3) {
        let vectors = Text::new(MOST_LINES, &mut case.random)?;
        case.write("vectors", &vectors.stored)?;
        call = with_arguments(call, ["--set", "embeddings.src_word_vectors=vectors"]);
    } else if case.random.one_in(2) {
        let valid = two(case, "valid.src", "valid.tgt")?;
        call = with_arguments(
            call,
            ["--valid-src", "valid.src", "--valid-tgt", "valid.tgt"],
        );
        let ended = case.run(&with_arguments(call, ["--updates", "2"]))?;
        check_two(&ended, &texts)?;
        return check_two(&ended, &valid);
    }
    let ended = case.run(&with_arguments(call, ["--updates", "2"]))?;
    check_two(&ended, &texts)?;
    check_log(&ended)?;
    if ended.succeeded() {
        let text = Text::new(MOST_LINES, &mut case.random)?;
        let call = case.infer("translate --model run");
        let ended = case.run_with_input(call, &text.stored)?;
        if text.is_readable() {
            ended.check_succeeded("every line is UTF-8")?;
            check_translations(&ended, &text, false)?;
        }
    }
    Ok(())
}
