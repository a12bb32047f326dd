//! Generated text through every command that reads text.

use anyhow::{Context, Result, ensure};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Select, select};
use serde_json::Value;

use super::attack::Attack;
use super::keys::parts;
use super::text::{Text, argument, text, two_texts};

/// Models of the lab.
pub(crate) const MODELS: &str = "model | words | marian | int8";

/// Flags of `translate` that keep one line of output for each line of input.
const SEARCHES: &str = "| --beam 1 | --beam 3 | --scores | --beam 2 --length-penalty power:1 | --sample
    | --beam 1 --max-len 5 | --no-repeat-ngram 2 | --repetition-penalty 1.5 | --batch-tokens 1
    | --max-src-len 3 | --alignments | --coverage-penalty 0.2 | --beam 2 --at-limit free-end --max-len 4";

/// Flags to set to foolish values.
const FLAGS: &str =
    "--beam | --max-len | --min-len | --n-best | --length-penalty | --coverage-penalty
    | --no-repeat-ngram | --repetition-penalty | --batch-tokens | --max-src-len | --threads
    | --sample --temperature | --sample --top-k | --sample --top-p | --sample --seed
    | --alignments --alignment-layer";
const VALUES: &str = "\u{1b}[2Jx | 0 | -1 | 1 | 2 | 7 | NaN | inf | -inf | 1e300 | 1e-300 | 0.5
    | 4294967296 | 9223372036854775807 | 18446744073709551615 | 18446744073709551616 | power:NaN
    | gnmt:-1e300 | 2x";

/// Commands on one text, and on two; `MODEL`, `METRIC` and `SETTINGS` stand for a model and flags.
const ON_ONE: &str = "train --config LAB/run.toml --tsv a --out run --dry-run
    | infer extend-vocabulary --model MODEL --add a --out more
    | infer extend-vocabulary --model MODEL --add a --out more --skip-known
    | infer extend-vocabulary --model MODEL --add a --out more --position inside";
const ON_TWO: &str = "infer evaluate --model MODEL --src a --ref b --out out METRIC
    | infer score --model MODEL --src a --tgt b | infer score --model MODEL --src a --tgt b --per-token
    | infer score --model MODEL --src a --tgt b --json --per-token --max-len 2
    | infer bleu --hyp a --ref b METRIC | infer bleu --hyp a --ref b --chrf METRIC
    | infer compare --ref b --hyp a --hyp a --samples 9 --test bootstrap METRIC
    | infer compare --ref b --hyp a --hyp a --samples 9 --test randomization --json METRIC
    | train SETTINGS --dry-run | train SETTINGS --updates 2
    | train SETTINGS --updates 2 --set embeddings.src_word_vectors=b
    | train SETTINGS --updates 2 --valid-src a --valid-tgt b";
const TOKENIZE: &str =
    "| --tokenize 13a | --tokenize intl | --tokenize zh | --tokenize char | --tokenize none";
const SMOOTH: &str = "| --smooth exp | --smooth floor | --smooth add-k | --smooth none";
const CASE: &str = "| --lowercase | --ter | --ter --ter-normalized | --ter --ter-case-sensitive
    | --ter --ter-no-punct";
const SETTINGS: &str = "tokenizer.kind=char | tokenizer.kind=bpe | tokenizer.kind=unigram
    | tokenizer.kind=word | tokenizer.vocabulary=separate --set model.tying=decoder
    | tokenizer.case=lower | tokenizer.kind=bpe --set tokenizer.dropout=0.1 | data.duplicates=drop
    | data.max_ratio=2 | data.over_long=cut | data.copies=drop | data.store=disk
    | data.tokenizer_sample=2";

/// Draws a part of a list in a string.
pub(crate) fn one_of(list: &'static str) -> Select<&'static str> {
    select(parts(list))
}

/// Draws a command of a list, with its options.
fn command(list: &'static str) -> impl Strategy<Value = String> {
    let metrics = (one_of(TOKENIZE), one_of(SMOOTH), one_of(CASE));
    let drawn = (
        one_of(list),
        one_of(MODELS),
        metrics,
        vec(one_of(SETTINGS), 0..3),
    );
    drawn.prop_map(|(command, model, (tokenize, smooth, case), settings)| {
        let metrics = format!("{tokenize} {smooth} {case}");
        let command = command.replace("MODEL", &format!("LAB/{model}"));
        let settings: String = settings.iter().map(|it| format!(" --set {it}")).collect();
        let files = "--config LAB/run.toml --src a --tgt b --out run --threads 1";
        let settings = format!("{files} --set tokenizer.vocab_size=400 {settings}");
        command
            .replace("METRIC", &metrics)
            .replace("SETTINGS", &settings)
    })
}

#[test]
fn every_text_is_processed_line_for_line_or_refused() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    translate(attack)?;
    arguments(attack)?;
    attention(attack)?;
    on_one(attack)?;
    on_two(attack)
}

fn translate(attack: &Attack) -> Result<()> {
    let prefixes = option::weighted(0.1, text());
    let cases = (
        text(),
        one_of(MODELS),
        one_of(SEARCHES),
        any::<bool>(),
        prefixes,
    );
    attack.check(140, cases, |case, drawn| {
        let (text, model, search, is_json, prefixes) = drawn;
        let mut command = format!("infer translate --model LAB/{model} {search}");
        command += if is_json { " --json" } else { "" };
        if let Some(prefixes) = &prefixes {
            case.write("prefixes", &prefixes.stored)?;
            command += " --prefixes prefixes";
        }
        let ended = case.run_with(&command, text.stored.clone())?;
        text.check(&ended)?;
        if text.is_readable() && prefixes.is_none() {
            ended.check_succeeded("every line is UTF-8")?;
        }
        text.check_translations(&ended, is_json)
    })?;
    let flags = vec((one_of(FLAGS), one_of(VALUES)), 1..3);
    attack.check(46, (one_of(MODELS), flags), |case, (model, flags)| {
        let mut call = case.call(&format!("infer translate --model LAB/{model}"));
        call.input = b"101 7\n\n10110\n".to_vec();
        for (flag, value) in &flags {
            call = call.with(flag.split(' ')).with([*value]);
        }
        let ended = case.end(&call)?;
        match flags.iter().any(|(flag, _)| *flag == "--n-best") {
            true => Ok(()),
            false => ended.check_lines(3),
        }
    })
}

fn arguments(attack: &Attack) -> Result<()> {
    let flag = option::of((one_of("--prefix | --ban | --ban-token"), argument()));
    let cases = (one_of(MODELS), vec(argument(), 1..4), flag);
    attack.check(46, cases, |case, (model, texts, flag)| {
        let mut call = case.call(&format!("infer translate --model LAB/{model} --beam 1"));
        if let Some((flag, value)) = flag {
            call = call.with([flag.into(), value]);
        }
        let n_texts = texts.len();
        case.end(&call.with(["--"]).with(texts))?
            .check_lines(n_texts)
    })
}

fn attention(attack: &Attack) -> Result<()> {
    let outputs = one_of("a.html | a.svg | a.json");
    let kinds = one_of("cross | encoder | decoder");
    let cases = (
        one_of(MODELS),
        kinds,
        outputs,
        option::of(argument()),
        argument(),
    );
    attack.check(46, cases, |case, (model, kind, out, tgt, text)| {
        let command = format!("infer attention --model LAB/{model} --kind {kind} --out {out}");
        let mut call = case.call(&command);
        if let Some(tgt) = tgt {
            call = call.with(["--tgt".into(), tgt]);
        }
        if !case.end(&call.with(["--".into(), text]))?.succeeded() {
            return Ok(());
        }
        let page = String::from_utf8(case.read(out)?).context("the output is not UTF-8")?;
        if out == "a.json" {
            serde_json::from_str::<Value>(&page).context("the output is not JSON")?;
            return Ok(());
        }
        let is_whole = page.matches("</script").count() == page.matches("<script").count();
        ensure!(is_whole, "the text ends the page's script");
        Ok(())
    })
}

fn on_one(attack: &Attack) -> Result<()> {
    attack.check(62, (command(ON_ONE), text()), |case, (command, text)| {
        case.write("a", &text.stored)?;
        let ended = case.run(&command)?;
        text.check(&ended)?;
        if ended.succeeded() && command.contains("more") {
            let translated = case.run("infer translate --model more --beam 1 101")?;
            translated.check_succeeded("the model was extended")?;
        }
        Ok(())
    })
}

fn on_two(attack: &Attack) -> Result<()> {
    let cases = (command(ON_TWO), two_texts(), text());
    attack.check(270, cases, |case, (command, texts, more)| {
        case.write("a", &texts[0].stored)?;
        case.write("b", &texts[1].stored)?;
        let ended = case.run(&command)?;
        let stdout = ended.stdout();
        texts.iter().try_for_each(|text| text.check(&ended))?;
        let [n_src, n_tgt] = texts.each_ref().map(|text| text.lines().len());
        let are_readable = texts.iter().all(Text::is_readable);
        if are_readable && n_src != n_tgt {
            ended.check_refused(&format!("the files have {n_src} and {n_tgt} lines"))?;
        }
        if command.starts_with("infer") {
            if are_readable && n_src == n_tgt && n_src > 0 {
                ended.check_succeeded("the files are parallel")?;
                ensure!(!stdout.is_empty(), "nothing was printed");
            }
            let wrong = ["NaN", "inf ", " = -"]
                .iter()
                .find(|it| stdout.contains(**it));
            ensure!(
                !ended.succeeded() || wrong.is_none(),
                "a score is {wrong:?}"
            );
        }
        let controls = |it: char| it.is_control() && !"\n\t".contains(it);
        let has_controls = command.starts_with("train") && stdout.contains(controls);
        ensure!(!has_controls, "control characters in {stdout:?}");
        let n_translated = case.read("out").unwrap_or_default();
        let n_translated = n_translated.iter().filter(|byte| **byte == b'\n').count();
        let is_whole = !command.contains("--out out") || n_translated == n_src;
        ensure!(
            !ended.succeeded() || !are_readable || is_whole,
            "{n_translated} lines in --out"
        );
        if command.contains("score") && are_readable {
            ended.check_lines(n_src)?;
        }
        let has_run = case.path("run").exists();
        ensure!(
            !command.contains("--dry-run") || !has_run,
            "--dry-run has written a folder"
        );
        if has_run && ended.succeeded() {
            let ended = case.run_with("infer translate --model run", more.stored.clone())?;
            more.check(&ended)?;
            more.check_translations(&ended, false)?;
        }
        Ok(())
    })
}
