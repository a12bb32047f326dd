//! Model directories with damaged, missing and exchanged files.
//!
//! The manifest has the hash of every file. So that damage gets past this check to the readers, most cases write the
//! hash of the damaged file into the manifest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::attack::Attack;
use super::damage::spoiled;
use super::texts::{MODELS, one_of};

/// Commands on a model, with `MODEL` for its folder.
const COMMANDS: &str = "inspect --model MODEL | translate --model MODEL
    | inspect --model MODEL | translate --model MODEL
    | translate --model MODEL --json --alignments | inspect --model MODEL --json
    | score --model MODEL --src LAB/a.src --tgt LAB/b.tgt
    | quantize --model MODEL --out out --precision f16
    | export --model MODEL --format safetensors --out out
    | export --model MODEL --format ctranslate2 --out out
    | export --model MODEL --format hf-pegasus --out out
    | attention --model MODEL --out a.html 101";

#[test]
fn every_spoiled_model_is_read_or_refused() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    let file = || (any::<Index>(), spoiled());
    let files = prop_oneof![4 => vec(file(), 1), 1 => vec(file(), 2)];
    let is_sealed = proptest::bool::weighted(0.2);
    let cases = (one_of(MODELS), files, is_sealed, one_of(COMMANDS));
    attack.check(2000, cases, |case, (model, files, is_sealed, command)| {
        case.take(&[model])?;
        let folder = case.path(model);
        let names = names(&folder)?;
        let mut is_invalid = false;
        for (file, spoiled) in &files {
            let file = file.get(&names);
            let path = folder.join(file);
            // It may be the second change of one file.
            let Some(before) = content(&path) else {
                continue;
            };
            spoiled.apply(&path, case.lab)?;
            match content(&path) {
                Some(now) if !is_sealed => reseal(&folder, file, &now)?,
                now => is_invalid |= now != Some(before) && file != "manifest.json",
            }
        }
        let command = format!("infer {}", command.replace("MODEL", model));
        let ended = case.run_with(&command, "101 7\n\n10110\n")?;
        if command.contains(" translate") {
            ended.check_lines(3)?;
        }
        let is_left = !ended.succeeded() && case.path("out").exists();
        ensure!(!is_left, "`{command}` failed and left a folder");
        match is_invalid && files.len() == 1 {
            true => ended.check_refused("the file is not that of the manifest"),
            false => Ok(()),
        }
    })
}

/// Returns the names in the manifest, and those of the files that it names.
fn names(model: &Path) -> Result<Vec<String>> {
    let manifest: Value = serde_json::from_slice(&fs::read(model.join("manifest.json"))?)?;
    let files = manifest["files"]
        .as_object()
        .context("a manifest names files")?;
    let names = files.values().filter_map(|file| file["name"].as_str());
    Ok(names.chain(["manifest.json"]).map(str::to_owned).collect())
}

/// Returns the content of a file, unless it is a device or very large.
fn content(path: &Path) -> Option<Vec<u8>> {
    let is_small = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() < 1 << 30);
    is_small.then(|| fs::read(path).ok()).flatten()
}

/// Writes the size and the hash of a file into the manifest, if the manifest can be read and names it.
fn reseal(folder: &Path, file: &str, content: &[u8]) -> Result<()> {
    let path = folder.join("manifest.json");
    let manifest = self::content(&path).unwrap_or_default();
    let Ok(mut manifest) = serde_json::from_slice::<Value>(&manifest) else {
        return Ok(());
    };
    let hash = Sha256::digest(content);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let files = manifest.get_mut("files").and_then(Value::as_object_mut);
    let entries = files.into_iter().flat_map(|files| files.values_mut());
    for entry in entries.filter(|entry| entry["name"] == file) {
        entry["bytes"] = content.len().into();
        entry["sha256"] = hash.as_str().into();
    }
    match file == "manifest.json" {
        true => Ok(()),
        false => Ok(fs::write(&path, serde_json::to_vec_pretty(&manifest)?)?),
    }
}
