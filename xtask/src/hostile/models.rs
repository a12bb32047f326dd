//! The class `models`: model directories with damaged, missing and exchanged files.
//!
//! The manifest has the hash of every file. So that damage reaches the readers behind that check, most attempts
//! write the hash of the damaged file into the manifest.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::call::Ended;
use super::case::Case;
use super::damage::{ByteChange, damage};
use super::lab::Lab;

/// Files whose bytes are changed at every position, and how often each.
const SMALL: [(&str, &str, u64); 11] = [
    ("model", "manifest.json", 3),
    ("model", "config.json", 3),
    ("model", "tokenizer.json", 3),
    ("words", "manifest.json", 1),
    ("words", "config.json", 1),
    ("words", "src_tokenizer.json", 3),
    ("words", "tgt_tokenizer.json", 3),
    ("marian", "manifest.json", 3),
    ("marian", "config.json", 3),
    ("marian", "src_tokenizer.json", 1),
    ("int8", "manifest.json", 1),
];

/// Files of weights: positions from the start that are all changed, and positions of the rest.
const WEIGHTS: [(&str, &str); 2] = [("model", "weights.bpk"), ("int8", "weights.bpk")];
const N_HEAD: u64 = 3000;
const N_REST: u64 = 1000;

/// Attempts with several changes, and with files that are missing or of another kind.
const N_OTHER: u64 = 4000;

/// What is run on a model, with `MODEL` for its folder. The first reads least.
const COMMANDS: [&str; 10] = [
    "inspect --model MODEL",
    "translate --model MODEL",
    "translate --model MODEL --json --alignments",
    "inspect --model MODEL --json",
    "score --model MODEL --src LAB/a.src --tgt LAB/b.tgt",
    "quantize --model MODEL --out out --precision f16",
    "export --model MODEL --format safetensors --out out",
    "export --model MODEL --format ctranslate2 --out out",
    "export --model MODEL --format hf-pegasus --out out",
    "attention --model MODEL --out a.html 101",
];

const INPUT: &[u8] = b"101 7\n\n10110\n";

/// Returns the number of attempts that change every position.
pub(super) fn n_attempts(lab: &Lab) -> Result<u64> {
    let mut n = N_OTHER + WEIGHTS.len() as u64 * (N_HEAD + N_REST);
    for (model, file, n_changes) in SMALL {
        n += n_changes * fs::metadata(lab.folder.join(model).join(file))?.len();
    }
    Ok(n)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    let mut index = case.index;
    for (model, file, n_changes) in SMALL {
        let n = fs::metadata(case.lab.folder.join(model).join(file))?.len();
        if index < n * n_changes {
            return at_position(case, model, file, (index / n_changes) as usize);
        }
        index -= n * n_changes;
    }
    for (model, file) in WEIGHTS {
        if index < N_HEAD {
            return at_position(case, model, file, index as usize);
        }
        index -= N_HEAD;
        if index < N_REST {
            let n = fs::metadata(case.lab.folder.join(model).join(file))?.len();
            let at = case.random.below(n as usize);
            return at_position(case, model, file, at);
        }
        index -= N_REST;
    }
    match case.random.below(4) {
        0 => exchanged(case),
        _ => damaged(case),
    }
}

/// Changes a byte of a file.
fn at_position(case: &mut Case<'_>, model: &str, file: &str, at: usize) -> Result<()> {
    case.take(model)?;
    let path = format!("{model}/{file}");
    let mut bytes = case.read(&path)?;
    let change = match case.index % 3 {
        0 => ByteChange::Truncate,
        1 => [ByteChange::Delete, ByteChange::Insert][case.random.below(2)],
        _ => [ByteChange::Flip, ByteChange::Replace][case.random.below(2)],
    };
    let whole = bytes.clone();
    change.apply(&mut bytes, at, &mut case.random);
    case.write(&path, &bytes)?;
    let is_sealed = file != "manifest.json" && case.random.one_in(8);
    if !is_sealed {
        reseal(&case.path(model), file)?;
    }
    let ended = use_model(case, model)?;
    // Two equal bytes may change places.
    if is_sealed && bytes != whole {
        ended.check_refused("the file is not what the manifest says")?;
    }
    Ok(())
}

/// Changes one or two files at random.
fn damaged(case: &mut Case<'_>) -> Result<()> {
    let model = case.random.pick(&["model", "words", "marian", "int8"]);
    case.take(model)?;
    for _ in 0..1 + case.random.below(2) {
        let (_, file) = some_file(case, model)?;
        let path = format!("{model}/{file}");
        let mut bytes = case.read(&path)?;
        damage(&mut bytes, &mut case.random);
        case.write(&path, &bytes)?;
        reseal(&case.path(model), &file)?;
    }
    use_model(case, model)?;
    Ok(())
}

/// Replaces a file by another one, or by what is not a file.
fn exchanged(case: &mut Case<'_>) -> Result<()> {
    let model = case.random.pick(&["model", "words", "marian", "int8"]);
    case.take(model)?;
    let (kind, file) = some_file(case, model)?;
    let path = case.path(model).join(&file);
    fs::remove_file(&path)?;
    match case.random.below(10) {
        0 => {}
        1 => fs::create_dir(&path)?,
        2 => make_fifo(&path)?,
        3 => symlink(&file, &path)?,
        4 => symlink("nowhere", &path)?,
        5 => {
            let device = case.random.pick(&[
                "/dev/null",
                "/dev/zero",
                "/dev/full",
                "/dev/tty",
                "/dev/random",
            ]);
            symlink(device, &path)?;
        }
        6 => File::create(&path)?.set_len(1 << 40)?,
        7 => File::create(&path).map(drop)?,
        _ => {
            let other = case.random.pick(&["model", "words", "marian", "int8"]);
            let (_, other_file) = some_file_of(case, &case.lab.folder.join(other))?;
            fs::copy(case.lab.folder.join(other).join(&other_file), &path)?;
            if case.random.one_in(4) {
                fs::write(case.path(model).join(&other_file), b"{}")?;
            }
        }
    }
    let before = fs::read(case.lab.folder.join(model).join(&file))?;
    let is_regular = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() < 1 << 30);
    let is_same = is_regular && fs::read(&path).is_ok_and(|now| now == before);
    let resealed = is_regular && kind != "manifest" && case.random.one_in(2);
    if resealed {
        reseal(&case.path(model), &file)?;
    }
    let ended = use_model(case, model)?;
    if !is_same && !resealed && kind != "manifest" {
        ended.check_refused("the file is not what the manifest says")?;
    }
    Ok(())
}

fn make_fifo(path: &Path) -> Result<()> {
    let status = Command::new("mkfifo")
        .arg(path)
        .status()
        .context("`mkfifo` cannot be started")?;
    ensure!(status.success(), "mkfifo ended with {status}");
    Ok(())
}

/// Returns the role and the name of a file of a model in the folder of the attempt.
fn some_file(case: &mut Case<'_>, model: &str) -> Result<(String, String)> {
    let folder = case.path(model);
    if !folder.join("manifest.json").exists() {
        bail!("the manifest is gone");
    }
    some_file_of(case, &case.lab.folder.join(model))
}

fn some_file_of(case: &mut Case<'_>, folder: &Path) -> Result<(String, String)> {
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json"))?)?;
    let files = manifest["files"]
        .as_object()
        .context("the manifest has files")?;
    let mut named: Vec<(String, String)> = files
        .iter()
        .filter_map(|(kind, entry)| Some((kind.clone(), entry["name"].as_str()?.to_owned())))
        .collect();
    named.push(("manifest".to_owned(), "manifest.json".to_owned()));
    let chosen = case.random.below(named.len());
    Ok(named.swap_remove(chosen))
}

/// Writes the size and the hash of a file into the manifest, if the manifest names it.
fn reseal(folder: &Path, file: &str) -> Result<()> {
    let path = folder.join("manifest.json");
    if file == "manifest.json" {
        return Ok(());
    }
    let Ok(mut manifest) = serde_json::from_slice::<Value>(&fs::read(&path)?) else {
        return Ok(());
    };
    let content = fs::read(folder.join(file))?;
    let Some(files) = manifest["files"].as_object_mut() else {
        return Ok(());
    };
    for entry in files.values_mut().filter(|entry| entry["name"] == file) {
        let hash: String = Sha256::digest(&content)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        entry["bytes"] = content.len().into();
        entry["sha256"] = hash.into();
    }
    Ok(fs::write(&path, serde_json::to_vec_pretty(&manifest)?)?)
}

/// Runs a command on the model.
fn use_model(case: &mut Case<'_>, model: &str) -> Result<Ended> {
    let command = match case.random.below(3) {
        0 => COMMANDS[0],
        1 => COMMANDS[1],
        _ => case.random.pick(&COMMANDS),
    };
    let arguments = command.replace("MODEL", model);
    let call = case.infer(&arguments);
    let ended = case.run_with_input(call, INPUT)?;
    if ended.succeeded() && command.starts_with("translate") {
        let n_lines = ended.stdout().matches('\n').count();
        ensure!(n_lines == 3, "3 lines gave {n_lines} translations");
    }
    if !ended.succeeded() && case.path("out").exists() {
        bail!("`{arguments}` failed and left a folder");
    }
    Ok(ended)
}
