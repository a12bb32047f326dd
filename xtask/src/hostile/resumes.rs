//! The class `resumes`: an interrupted run is resumed with one setting changed.
//!
//! A change is refused with its name, or recorded in the manifest, or has no effect: then the checkpoints are those
//! of the run that was never interrupted, bit for bit. In any case the manifest has the settings of the run.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value as Json;
use toml::{Table, Value};

use super::call::Ended;
use super::case::{Case, with_arguments};
use super::lab::{Lab, SETTINGS, files_below};
use super::run_files::checkpoints;
use super::settings::{is_equal, keys, parsed, with_key};
use crate::settings::{Key, Values};

/// The ways to change a setting, each with and without `--allow-changes`.
const N_WAYS: u64 = 6;

/// Values that are tried of each key.
const N_VALUES: u64 = 6;

/// Settings after whose change there may be no update in common.
const OF_LENGTH: [&str; 2] = ["training.updates", "training.patience"];

pub(super) fn n_attempts(lab: &Lab) -> Result<u64> {
    Ok(keys(&lab.sections).len() as u64 * N_WAYS * N_VALUES)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    let lab = case.lab;
    let all = keys(&lab.sections);
    let (section, key) = all[(case.index / N_VALUES / N_WAYS) as usize % all.len()];
    let way = case.index / N_VALUES % N_WAYS;
    let before = fs::read_to_string(lab.folder.join("interrupted/experiment.toml"))?;
    let table: Table = toml::from_str(&before).context("the settings of a run are TOML")?;
    let current = table
        .get(section)
        .and_then(|section| section.get(&key.name));
    let values = values_of(key, current);
    let value = &values[(case.index % N_VALUES) as usize % values.len()];

    for name in ["a.src", "b.tgt", "run.toml"] {
        case.take(name)?;
    }
    case.write("c.src", case.read("a.src")?)?;
    case.write(
        "d.src",
        String::from_utf8(case.read("a.src")?)?.replace("11", "10"),
    )?;
    super::lab::copy(&lab.folder.join("interrupted"), &case.path("run"))?;
    let mut call = match way / 2 {
        0 => {
            case.write(
                "run/experiment.toml",
                with_key(&before, section, &key.name, value),
            )?;
            case.train("--resume run")
        }
        1 => {
            let set = format!("{section}.{}={value}", key.name);
            with_arguments(case.train("--resume run"), ["--set".to_owned(), set])
        }
        _ => {
            case.write("run.toml", with_key(SETTINGS, section, &key.name, value))?;
            let is_file =
                section == "data" && matches!(key.name.as_str(), "src" | "tgt" | "tsv" | "task");
            let files = if is_file {
                ""
            } else {
                "--src a.src --tgt b.tgt"
            };
            case.train(&format!("--config run.toml {files} --out run"))
        }
    };
    if way % 2 == 1 {
        call = with_arguments(call, ["--allow-changes"]);
    }
    let saved = saved(&case.path("run"))?;
    let ended = case.run(&with_arguments(call, ["--threads", "1"]))?;
    let name = format!("{section}.{}", key.name);
    match ended.succeeded() {
        true => check_accepted(case, &name, value, current),
        false => check_refused(case, &ended, &name, &saved),
    }
}

/// Returns other values of a key than its current one, in TOML.
fn values_of(key: &Key, current: Option<&Value>) -> Vec<String> {
    let mut values: Vec<String> = match &key.values {
        Values::Bool => vec!["true".to_owned(), "false".to_owned()],
        Values::Count => {
            let now = current.and_then(Value::as_integer).unwrap_or(4);
            [now + 1, now * 2, 1, now / 2, 3, 0]
                .map(|it| it.to_string())
                .to_vec()
        }
        Values::Number => {
            let now = current.and_then(Value::as_float).unwrap_or(0.5);
            [now * 1.5, now + 0.25, now / 2.0, 1.0, 0.0, 0.125]
                .map(|it| format!("{it:?}"))
                .to_vec()
        }
        Values::Path => ["c.src", "d.src", "nowhere", "a.src", ".", ""]
            .map(quoted)
            .to_vec(),
        Values::Language => ["en", "pt-BR", "zh-Hans", "none", "english", ""]
            .map(quoted)
            .to_vec(),
        Values::Command => ["cat {hyp}", "score {hyp} {ref}"].map(quoted).to_vec(),
        Values::Text => ["<2de>", "two words", ""].map(quoted).to_vec(),
        Values::Texts => ["[]", "[\"<2de>\"]", "[\"<2de>\", \"\"]"]
            .map(str::to_owned)
            .to_vec(),
        Values::TextOrNumber => ["none", "power:1", "gnmt:0.7"].map(quoted).to_vec(),
        Values::OneOf(choices) => choices.iter().map(|choice| quoted(&choice.name)).collect(),
        Values::SomeOf(choices) => choices
            .iter()
            .map(|choice| format!("[{}]", quoted(&choice.name)))
            .collect(),
        Values::Tables(_) => {
            let corpus = "src = \"a.src\", tgt = \"b.tgt\"";
            vec![
                format!("[{{ {corpus} }}]"),
                format!("[{{ {corpus} }}, {{ {corpus}, weight = 2.0 }}]"),
            ]
        }
    };
    if key.takes_none {
        values.insert(0, quoted("none"));
    }
    let is_other = |value: &String| match (parsed(value), current) {
        (Some(value), Some(current)) => !is_equal(&value, current),
        _ => true,
    };
    values.retain(is_other);
    values
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Returns the files of checkpoints and model.
fn saved(run: &Path) -> Result<Vec<(std::path::PathBuf, Vec<u8>)>> {
    let mut files = files_below(&run.join("checkpoints"))?;
    files.extend(files_below(&run.join("model"))?);
    Ok(files)
}

/// Checks that a refusal names the setting, and that nothing is lost.
fn check_refused(
    case: &Case<'_>,
    ended: &Ended,
    name: &str,
    before: &[(std::path::PathBuf, Vec<u8>)],
) -> Result<()> {
    let stderr = ended.stderr();
    let (section, key) = name.split_once('.').unwrap_or_default();
    let is_text = ["data", "embeddings", "finetune", "tokenizer"].contains(&section);
    let names_text = is_text
        && ["text", "`c.src`", "`d.src`", "nowhere", "`a.src`", "`.`"]
            .iter()
            .any(|it| stderr.contains(it));
    let words = key.replace('_', " ");
    let is_named = stderr.contains(key) || stderr.contains(&words) || names_text;
    ensure!(is_named, "refused without naming `{name}`: {stderr}");
    ensure!(
        saved(&case.path("run"))? == before,
        "refused, but checkpoints or model are changed"
    );
    Ok(())
}

/// Checks that an accepted change is in the manifest, and recorded or without effect.
fn check_accepted(case: &Case<'_>, name: &str, value: &str, current: Option<&Value>) -> Result<()> {
    let manifest: Json = serde_json::from_slice(&case.read("run/model/manifest.json")?)?;
    let training = &manifest["training"];
    let experiment: Table = toml::from_str(training["experiment"].as_str().unwrap_or_default())?;
    let (section, key) = name.split_once('.').unwrap_or_default();
    let now = experiment.get(section).and_then(|section| section.get(key));
    let given = parsed(value);
    let is_set = match (&given, now) {
        (Some(given), Some(now)) => is_equal(given, now),
        // A key that is absent has been unset.
        (_, None) => value == "\"none\"" || current.is_none(),
        (None, Some(_)) => true,
    };
    ensure!(
        is_set,
        "`{name}` was set to {value}, and the manifest has {now:?}"
    );
    let changes = training["changes"].as_array().cloned().unwrap_or_default();
    if changes.iter().any(|change| change["changed"] == name) {
        return Ok(());
    }
    let n_compared =
        compared(&case.lab.folder.join("run"), &case.path("run")).with_context(|| {
            format!("`{name}` = {value} was accepted without a record in the manifest")
        })?;
    let may_be_none = OF_LENGTH.contains(&name);
    ensure!(
        n_compared > 0 || may_be_none,
        "`{name}` = {value}: no checkpoint in common"
    );
    Ok(())
}

/// Compares the checkpoints of the two runs after the same updates, and returns the number of those that were written
/// after the interruption.
fn compared(whole: &Path, run: &Path) -> Result<usize> {
    let (whole, run) = (checkpoints(whole)?, checkpoints(run)?);
    let mut n = 0;
    for (updates, content) in &run {
        if let Some(expected) = whole.get(updates) {
            if content != expected {
                bail!("the weights after update {updates} are not those of the uninterrupted run");
            }
            n += usize::from(*updates > 20);
        }
    }
    Ok(n)
}
