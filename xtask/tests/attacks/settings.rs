//! Foolish values of every setting, by `--set` and in files, alone and together.

use anyhow::{Context, Result, ensure};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::attack::{Attack, Case};
use super::keys::{Key, in_effect, is_equal, parsed, parts, with_key};
use super::lab::SETTINGS;
use super::program::Call;
use super::texts::one_of;

/// Values for keys of any type, in TOML. If a value is accepted, training is tried.
const QUICK: &str = "0 | -1 | 1 | 2 | 7 | 0.5 | 0.0 | -0.0 | 1.0 | -0.5 | nan | inf | -inf | 1e-300 | true | false \
    | \"\" | \"none\" | \"None\" | \"漢字\" | \"a\\u0000b\" | \"\\u001b[2J\" | \" 1\" | \"1\" | [] | {}";

/// Further values, which may make training take long.
const SLOW: &str = "1e300 | -1e300 | 9223372036854775807 | -9223372036854775808 | 18446744073709551616 | 65536 \
    | 4294967296 | 1000000 | 0x10 | 1979-05-27 | [1, [2]] | { a = 1 }";

#[test]
fn every_setting_is_in_effect_or_refused() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    alone(attack)?;
    together(attack)
}

/// Draws a key with one of its own values.
fn own(attack: &Attack) -> impl Strategy<Value = (Key, String)> + use<> {
    let keys = attack.lab.keys.iter();
    let values = keys.flat_map(|key| key.values().into_iter().map(|value| (key.clone(), value)));
    select(values.collect::<Vec<_>>())
}

fn alone(attack: &Attack) -> Result<()> {
    let keys = || select(attack.lab.keys.clone());
    let any_value = |list| (keys(), one_of(list).prop_map(str::to_owned));
    let cases = prop_oneof![6 => any_value(QUICK), 3 => any_value(SLOW), 3 => own(attack)];
    attack.check(940, (cases, any::<bool>()), |case, drawn| {
        let ((key, value), in_file) = drawn;
        let value = value.replace("LAB", &case.lab.display().to_string());
        let text = text_flags(&key);
        case.take(&["a.src", "b.tgt"])?;
        let command = format!("train --config own.toml {text} --out run --threads 1");
        let mut call = case.call(&command);
        if in_file {
            case.write("own.toml", with_key(SETTINGS, &key, &value)?)?;
        } else {
            case.write("own.toml", SETTINGS)?;
            call = call.with(["--set".to_owned(), format!("{}={value}", key.path())]);
        }
        let ended = case.end(&call.clone().with(["--dry-run"]))?;
        ensure!(!case.path("run").exists(), "--dry-run has written a folder");
        if !ended.succeeded() {
            return Ok(());
        }
        check_in_effect(case, &call, &key, &value)?;
        if parts(QUICK).contains(&&*value) {
            let is_length = key.path() == "training.updates";
            let updates = ["--set", "training.updates=2"].into_iter();
            case.end(&call.with(updates.filter(|_| !is_length)))?;
        }
        Ok(())
    })
}

/// Returns the flags that name the text, unless the key does.
pub(crate) fn text_flags(key: &Key) -> &'static str {
    let is_text = ["task", "src", "tgt", "tsv", "corpora"].contains(&&*key.name);
    if is_text {
        ""
    } else {
        "--src a.src --tgt b.tgt"
    }
}

/// Checks that the run uses the value, or prints the name of its meaning.
fn check_in_effect(case: &Case<'_>, call: &Call, key: &Key, value: &str) -> Result<()> {
    let printed = case.end(&call.clone().with(["--print-config"]))?;
    printed.check_succeeded("--dry-run succeeded")?;
    // A value that is not TOML is text.
    let Some(given) = parsed(value) else {
        return Ok(());
    };
    let path = key.path();
    let effective =
        in_effect(&printed.stdout(), key).with_context(|| format!("`{path}` is not printed"))?;
    let text = effective.as_str();
    let is_same = is_equal(&given, &effective)
        // After --set, a value without quotes is text where the key takes text.
        || text == Some(value)
        // The examples of paths and languages that are not set.
        || given.as_str() == Some("none") && matches!(text, Some("FILE" | "en"))
        || key.name == "length_penalty" && text.is_some_and(|it| it.starts_with("gnmt:"))
        || given.as_array().is_some_and(Vec::is_empty);
    ensure!(is_same, "`{path}` was set to {given}, and is {effective}");
    Ok(())
}

/// Trains with several settings, each of which may be valid.
fn together(attack: &Attack) -> Result<()> {
    let bases = one_of(
        "--task copy --set data.task_pairs=300 | --finetune LAB/model --src a.src --tgt b.tgt \
         | --src a.src --tgt b.tgt",
    );
    attack.check(260, (bases, vec(own(attack), 2..6)), |case, drawn| {
        let (base, values) = drawn;
        case.take(&["a.src", "b.tgt"])?;
        let length = "--set training.updates=3 --set training.validation_interval=2";
        let files = "--config LAB/run.toml --out run --threads 1";
        let mut call = case.call(&format!("train {files} {base} {length}"));
        for (key, value) in values {
            if !["updates", "store_folder", "task_pairs", "task"].contains(&&*key.name) {
                let value = value.replace("LAB", &case.lab.display().to_string());
                call = call.with(["--set".to_owned(), format!("{}={value}", key.path())]);
            }
        }
        let dry = case.end(&call.clone().with(["--dry-run"]))?;
        let ended = case.end(&call)?;
        // Overflow is detected only after an update.
        let late = ["the loss of ", "not finite", "NaN"];
        let is_late = late.iter().any(|it| ended.stderr.contains(it));
        let is_known = !dry.succeeded() || ended.succeeded() || is_late;
        ensure!(
            is_known,
            "--dry-run accepts, training refuses: {}",
            ended.stderr
        );
        if ended.succeeded() {
            let translated = case.run("infer translate --model run --beam 1 101")?;
            translated.check_succeeded("the run succeeded")?;
        }
        Ok(())
    })
}
