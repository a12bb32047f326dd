//! An interrupted run is resumed with one setting changed.
//!
//! The change is refused by name, or recorded in the manifest, or has no effect. If it has none, the checkpoints equal
//! those of the uninterrupted run, bit for bit. In any case the manifest has the settings of the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::attack::{Attack, Case};
use super::keys::{Key, is_equal, parsed, with_key};
use super::lab::SETTINGS;
use super::program::Ended;
use super::results::{checkpoints, saved};
use super::settings::text_flags;

/// The way in which a setting is changed.
#[derive(Clone, Copy, Debug)]
enum Way {
    SettingsOfRun,
    Flag,
    SettingsOfUser,
}

#[test]
fn every_change_of_a_resumed_run_is_refused_recorded_or_without_effect() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    let settings = fs::read_to_string(attack.lab.path().join("interrupted/experiment.toml"))?;
    let table: Table = toml::from_str(&settings).context("the settings of a run are TOML")?;
    let mut changes = Vec::new();
    for key in &attack.lab.keys {
        let current = in_table(&table, key);
        let is_other = |value: &String| match (parsed(value), current) {
            (Some(value), Some(current)) => !is_equal(&value, current),
            _ => true,
        };
        let values = key.values().into_iter().filter(is_other);
        let values = values.filter(|value| !value.contains("LAB"));
        changes.extend(values.map(|value| (key.clone(), value, current.cloned())));
    }
    let ways = select(vec![Way::SettingsOfRun, Way::Flag, Way::SettingsOfUser]);
    let cases = (select(changes), ways, any::<bool>());
    attack.check(400, cases, |case, ((key, value, current), way, allows)| {
        case.take(&["a.src", "b.tgt", "run.toml"])?;
        case.take_as("a.src", "c.src")?;
        case.take_as("interrupted", "run")?;
        let mut call = match way {
            Way::SettingsOfRun => {
                case.write("run/experiment.toml", with_key(&settings, &key, &value)?)?;
                case.call("train --resume run")
            }
            Way::Flag => {
                let set = format!("{}={value}", key.path());
                case.call("train --resume run")
                    .with(["--set".to_owned(), set])
            }
            Way::SettingsOfUser => {
                case.write("run.toml", with_key(SETTINGS, &key, &value)?)?;
                let text = text_flags(&key);
                case.call(&format!("train --config run.toml {text} --out run"))
            }
        };
        if allows {
            call = call.with(["--allow-changes"]);
        }
        let before = saved(&case.path("run"))?;
        let ended = case.end(&call.with(["--threads", "1"]))?;
        match ended.succeeded() {
            true => check_accepted(case, &key, &value, current.as_ref()),
            false => check_refused(case, &ended, (&key, &value), &before),
        }
    })
}

fn in_table<'a>(settings: &'a Table, key: &Key) -> Option<&'a Value> {
    settings.get(&key.section)?.get(&key.name)
}

/// Checks that a refusal names the setting, its line or its text, and that nothing is lost.
fn check_refused(
    case: &Case<'_>,
    ended: &Ended,
    (key, value): (&Key, &str),
    before: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<()> {
    let stderr = &ended.stderr;
    let is_text = ["data", "embeddings", "finetune", "tokenizer"].contains(&&*key.section);
    let value = format!("`{}`", value.trim_matches('"'));
    let texts = ["text", "standard input", "`a.src`", &value];
    let names_text = is_text && texts.iter().any(|it| stderr.contains(it));
    let words = key.name.replace('_', " ");
    // A value of the wrong kind in a file is named with its line.
    let names_line = stderr.contains(".toml`, line ");
    let is_named =
        stderr.contains(&key.name) || stderr.contains(&words) || names_text || names_line;
    ensure!(is_named, "refused without naming {}: {stderr}", key.path());
    let is_same = saved(&case.path("run"))? == *before;
    ensure!(is_same, "refused, but checkpoints or model are changed");
    Ok(())
}

/// Checks that an accepted change is in the manifest, and is recorded or without effect.
fn check_accepted(case: &Case<'_>, key: &Key, value: &str, current: Option<&Value>) -> Result<()> {
    let manifest: Json = serde_json::from_slice(&case.read("run/model/manifest.json")?)?;
    let training = &manifest["training"];
    let experiment: Table = toml::from_str(training["experiment"].as_str().unwrap_or_default())?;
    let (path, now) = (key.path(), in_table(&experiment, key));
    let is_set = match (parsed(value), now) {
        // A number is a formula here.
        _ if key.name == "length_penalty" => true,
        (Some(given), Some(now)) => is_equal(&given, now),
        // An absent key has been unset.
        (_, None) => value == "\"none\"" || current.is_none(),
        (None, Some(_)) => true,
    };
    ensure!(
        is_set,
        "{path} was set to {value}, the manifest has {now:?}"
    );
    let mut changes = training["changes"].as_array().into_iter().flatten();
    if changes.any(|change| change["changed"] == path) {
        return Ok(());
    }
    let whole = checkpoints(&case.lab.join("run"))?;
    let mut n_new = 0;
    for (updates, weights) in checkpoints(&case.path("run"))? {
        let expected = whole.get(&updates);
        let is_equal = expected.is_none_or(|expected| *expected == weights);
        ensure!(
            is_equal,
            "{path} = {value} has other weights, and no record"
        );
        // The interrupted run already has the first checkpoints.
        n_new += usize::from(expected.is_some() && updates > 20);
    }
    // After a change of the length, the runs may have no update in common.
    let may_be_none = ["training.updates", "training.patience"].contains(&&*path);
    let has_new = n_new > 0 || may_be_none;
    ensure!(has_new, "{path} = {value}: no checkpoint in common");
    Ok(())
}
