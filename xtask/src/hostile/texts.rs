//! The class `texts`: generated text through every command that reads text.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::call::Ended;
use super::case::{Case, with_arguments};
use super::random::Random;
use super::text::{Text, line};
use super::text_checks::{MOST_LINES, are_parallel, check_translations, check_two, two};
use super::training_texts::{dry_run, train};

/// Flags of `translate` that keep one line of output for each line of input.
const SEARCHES: [&str; 14] = [
    "",
    "--beam 1",
    "--beam 3",
    "--scores",
    "--beam 2 --length-penalty power:1",
    "--sample",
    "--beam 1 --max-len 5",
    "--no-repeat-ngram 2",
    "--repetition-penalty 1.5",
    "--batch-tokens 1",
    "--max-src-len 3",
    "--alignments",
    "--coverage-penalty 0.2",
    "--beam 2 --at-limit free-end --max-len 4",
];

/// Values of flags that make no sense, with what precedes them.
const FLAGS: [&str; 16] = [
    "--beam",
    "--max-len",
    "--min-len",
    "--n-best",
    "--length-penalty",
    "--coverage-penalty",
    "--no-repeat-ngram",
    "--repetition-penalty",
    "--batch-tokens",
    "--max-src-len",
    "--threads",
    "--sample --temperature",
    "--sample --top-k",
    "--sample --top-p",
    "--sample --seed",
    "--alignments --alignment-layer",
];

const VALUES: [&str; 19] = [
    "\u{1b}[2Jx",
    "0",
    "-1",
    "1",
    "2",
    "7",
    "NaN",
    "inf",
    "-inf",
    "1e300",
    "1e-300",
    "0.5",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "4294967296",
    "power:NaN",
    "gnmt:-1e300",
    "2x",
];

/// Models of the lab.
const MODELS: [&str; 4] = ["model", "words", "marian", "int8"];

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    match case.index % 13 {
        0..=2 => translate(case),
        3 => translate_arguments(case),
        4 => foolish_flags(case),
        5 => evaluate(case),
        6 => score(case),
        7 => bleu(case),
        8 => compare(case),
        9 => attention(case),
        10 => dry_run(case),
        11 => extend(case),
        _ => train(case),
    }
}

/// Most lines are refused as pieces: they have spaces.
fn extend(case: &mut Case<'_>) -> Result<()> {
    let text = Text::new(2, &mut case.random)?;
    case.write("pieces", &text.stored)?;
    let model = case.random.pick(&MODELS);
    let flags = case.random.pick(&["", "--skip-known", "--position inside"]);
    let arguments =
        format!("extend-vocabulary --model LAB/{model} --add pieces --out more {flags}");
    let ended = case.run_infer(&arguments)?;
    if text.is_unreadable() {
        ended.check_refused("the text is not UTF-8")?;
    }
    if ended.succeeded() {
        let translated = case.run_infer("translate --model more --beam 1 101")?;
        translated.check_succeeded("the model was extended")?;
    }
    Ok(())
}

fn translate(case: &mut Case<'_>) -> Result<()> {
    let text = Text::new(MOST_LINES, &mut case.random)?;
    let model = case.random.pick(&MODELS);
    let search = case.random.pick(&SEARCHES);
    let is_json = case.random.one_in(3);
    let json = if is_json { "--json" } else { "" };
    let mut arguments = format!("translate --model LAB/{model} {search} {json}");
    if case.random.one_in(8) {
        let prefixes = Text::with_lines(text.lines().len(), &mut case.random)?;
        case.write("prefixes", &prefixes.stored)?;
        arguments += " --prefixes prefixes";
    }
    let has_prefixes = arguments.contains("--prefixes");
    let call = case.infer(&arguments);
    let ended = case.run_with_input(call, &text.stored)?;
    if text.is_unreadable() {
        ended.check_refused("the text is not UTF-8")?;
    }
    if text.is_readable() && !has_prefixes {
        ended.check_succeeded("every line is UTF-8")?;
    }
    if ended.succeeded() && !text.is_damaged {
        check_translations(&ended, &text, is_json)?;
    }
    Ok(())
}

/// Arguments cannot have NUL, and need not be UTF-8.
fn translate_arguments(case: &mut Case<'_>) -> Result<()> {
    let model = case.random.pick(&MODELS);
    let n_texts = 1 + case.random.below(3);
    let texts: Vec<Vec<u8>> = (0..n_texts).map(|_| argument(&mut case.random)).collect();
    let mut call = case.infer(&format!("translate --model LAB/{model} --beam 1"));
    if case.random.one_in(2) {
        call.arguments.push("--json".into());
    }
    if case.random.one_in(4) {
        let flag = case.random.pick(&["--prefix", "--ban", "--ban-token"]);
        let text = argument(&mut case.random);
        call = with_arguments(call, [flag.into(), os(text)]);
    }
    call = with_arguments(
        call,
        ["--".into()].into_iter().chain(texts.into_iter().map(os)),
    );
    let ended = case.run(&call)?;
    if ended.succeeded() {
        let n_lines = ended.stdout().matches('\n').count();
        ensure!(
            n_lines == n_texts,
            "{n_texts} texts gave {n_lines} translations"
        );
    }
    Ok(())
}

fn argument(random: &mut Random) -> Vec<u8> {
    let mut text = line(random);
    text.retain(|byte| *byte != 0);
    text
}

fn os(bytes: Vec<u8>) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

fn foolish_flags(case: &mut Case<'_>) -> Result<()> {
    let model = case.random.pick(&MODELS);
    let mut arguments = format!("translate --model LAB/{model}");
    for _ in 0..1 + case.random.below(2) {
        let (flag, value) = (case.random.pick(&FLAGS), case.random.pick(&VALUES));
        arguments += &format!(" {flag} {value}");
    }
    let call = case.infer(&arguments);
    let ended = case.run_with_input(call, b"101 7\n\n10110\n")?;
    if ended.succeeded() && !arguments.contains("--n-best") {
        let n_lines = ended.stdout().matches('\n').count();
        ensure!(n_lines == 3, "3 lines gave {n_lines} translations");
    }
    Ok(())
}

fn evaluate(case: &mut Case<'_>) -> Result<()> {
    let texts = two(case, "src", "ref")?;
    let model = case.random.pick(&MODELS);
    let options = options(&mut case.random);
    let arguments = format!("evaluate --model LAB/{model} --src src --ref ref --out out {options}");
    let ended = case.run_infer(&arguments)?;
    check_two(&ended, &texts)?;
    if are_parallel(&texts) {
        ended.check_succeeded("the files are parallel")?;
        let n_lines = case
            .read("out")?
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        let n_src = texts[0].lines().len();
        ensure!(
            n_lines == n_src,
            "{n_src} lines gave {n_lines} translations in --out"
        );
    }
    check_scores(&ended)
}

/// Returns flags of the metrics.
fn options(random: &mut Random) -> String {
    let tokenize = random.pick(&[
        "",
        "--tokenize 13a",
        "--tokenize intl",
        "--tokenize char",
        "--tokenize none",
    ]);
    let smooth = random.pick(&[
        "",
        "--smooth exp",
        "--smooth floor",
        "--smooth add-k",
        "--smooth none",
    ]);
    let more = random.pick(&[
        "",
        "--lowercase",
        "--ter",
        "--ter --ter-normalized",
        "--ter --ter-case-sensitive",
        "--ter --ter-no-punct",
    ]);
    format!("{tokenize} {smooth} {more}")
}

/// Checks that no score is NaN or negative.
fn check_scores(ended: &Ended) -> Result<()> {
    let stdout = ended.stdout();
    let is_wrong =
        |line: &str| line.contains("NaN") || line.contains("inf ") || line.contains(" = -");
    let wrong = stdout.lines().find(|line| is_wrong(line));
    ensure!(
        !ended.succeeded() || wrong.is_none(),
        "a score is no number: {wrong:?}"
    );
    ensure!(
        !ended.succeeded() || !stdout.is_empty(),
        "nothing was printed"
    );
    Ok(())
}

fn score(case: &mut Case<'_>) -> Result<()> {
    let texts = two(case, "src", "tgt")?;
    let model = case.random.pick(&MODELS);
    let more = case.random.pick(&[
        "",
        "--per-token",
        "--json",
        "--json --per-token",
        "--max-len 2",
    ]);
    let arguments = format!("score --model LAB/{model} --src src --tgt tgt {more}");
    let ended = case.run_infer(&arguments)?;
    check_two(&ended, &texts)?;
    if are_parallel(&texts) {
        ended.check_succeeded("the files are parallel")?;
        let n_src = texts[0].lines().len();
        let n_lines = ended.stdout().matches('\n').count();
        ensure!(n_lines == n_src, "{n_src} pairs gave {n_lines} scores");
    }
    ensure!(!ended.stdout().contains("NaN"), "a score is NaN");
    Ok(())
}

fn bleu(case: &mut Case<'_>) -> Result<()> {
    let texts = two(case, "hyp", "ref")?;
    let options = options(&mut case.random);
    let chrf = if case.random.one_in(2) { "--chrf" } else { "" };
    let ended = case.run_infer(&format!("bleu --hyp hyp --ref ref {chrf} {options}"))?;
    check_two(&ended, &texts)?;
    if are_parallel(&texts) {
        ended.check_succeeded("the files are parallel")?;
    }
    check_scores(&ended)
}

fn compare(case: &mut Case<'_>) -> Result<()> {
    let texts = two(case, "a", "ref")?;
    case.write("b", &texts[1].stored)?;
    let options = options(&mut case.random);
    let test = case.random.pick(&["bootstrap", "randomization"]);
    let json = if case.random.one_in(2) { "--json" } else { "" };
    let arguments =
        format!("compare --ref ref --hyp a --hyp b --test {test} --samples 9 {json} {options}");
    let ended = case.run_infer(&arguments)?;
    check_two(&ended, &texts)?;
    if are_parallel(&texts) {
        ended.check_succeeded("the files are parallel")?;
    }
    check_scores(&ended)
}

fn attention(case: &mut Case<'_>) -> Result<()> {
    let model = case.random.pick(&MODELS);
    let kind = case.random.pick(&["cross", "encoder", "decoder"]);
    let out = case.random.pick(&["a.html", "a.svg", "a.json"]);
    let mut call = case.infer(&format!(
        "attention --model LAB/{model} --out {out} --kind {kind}"
    ));
    if case.random.one_in(2) {
        call = with_arguments(call, ["--tgt".into(), os(argument(&mut case.random))]);
    }
    let text = argument(&mut case.random);
    call = with_arguments(call, ["--".into(), os(text)]);
    let ended = case.run(&call)?;
    if ended.succeeded() {
        let page = String::from_utf8(case.read(out)?).context("the output is not UTF-8")?;
        if out == "a.json" {
            serde_json::from_str::<Value>(&page).context("the output is not JSON")?;
        }
        let n_ends = page.matches("</script").count();
        let is_whole = n_ends == page.matches("<script").count();
        ensure!(
            out == "a.json" || is_whole,
            "the text ends the page's script"
        );
    }
    Ok(())
}
