//! The class `disks`: full disks, limits of the size of files, read-only folders, and missing rights.
//!
//! A full disk is a tmpfs of a few kilobytes that only the attempt uses, or one that is filled but for a few
//! kilobytes; to mount one takes root. Missing rights are those of the user `nobody`, if the harness runs as root.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::call::{Call, Ended};
use super::case::{Case, Skipped};
use super::lab::{Lab, copy, files_below};
use super::mounted::{Mounted, fill};
use super::run_files::{check_equal, states};

/// Commands that write `full/out`, what they find there, and whether they write a model.
const OUTPUTS: [(&str, &str); 8] = [
    (
        "import --from LAB/separate --out full/out --overwrite",
        "words",
    ),
    ("import --from LAB/separate --out full/out", ""),
    (
        "quantize --model LAB/model --out full/out --precision f16",
        "",
    ),
    (
        "export --model LAB/model --format safetensors --out full/out",
        "",
    ),
    (
        "export --model LAB/marian --format hf-marian --out full/out",
        "",
    ),
    (
        "evaluate --model LAB/model --src LAB/a.src --ref LAB/b.tgt --out full/out",
        "a.src",
    ),
    ("attention --model LAB/model --out full/out.html 101", ""),
    ("TRAIN average --run LAB/run --last 2 --out full/out", ""),
];

/// Commands that print.
const PRINTS: [&str; 7] = [
    "translate --model LAB/model 101",
    "score --model LAB/model --src LAB/a.src --tgt LAB/b.tgt",
    "bleu --hyp LAB/a.src --ref LAB/b.tgt",
    "inspect --model LAB/model",
    "TRAIN --print-config",
    "TRAIN --config LAB/run.toml --src LAB/a.src --tgt LAB/b.tgt --out run",
    "--help",
];

const TRAINING: &str = "--config run.toml --src a.src --tgt b.tgt --threads 1 --out full/run";

#[expect(
    clippy::unnecessary_wraps,
    reason = "the number depends on the lab in other classes"
)]
pub(super) fn n_attempts(_: &Lab) -> Result<u64> {
    Ok(1000)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    for name in ["a.src", "b.tgt", "run.toml"] {
        case.take(name)?;
    }
    match case.index % 8 {
        0 => full_training(case, false),
        1 => full_training(case, true),
        2 => full_output(case),
        3 => limited(case),
        4 => no_output(case),
        5 => read_only(case),
        6 => no_right_to_read(case),
        _ => no_right_to_write(case),
    }
}

fn call_of(case: &Case<'_>, command: &str) -> Call {
    match command.strip_prefix("TRAIN ") {
        Some(command) => case.train(command),
        None => case.infer(command),
    }
}

/// Trains, or resumes, on a disk that gets full.
fn full_training(case: &mut Case<'_>, is_resumed: bool) -> Result<()> {
    let disk = Mounted::new(case.path("full"), 4096)?;
    if is_resumed {
        copy(&case.lab.folder.join("interrupted"), &case.path("full/run"))?;
    }
    fill(disk.path(), 4096 * case.random.below(120) as u64)?;
    let before = states(&case.path("full/run"))?;
    let call = case.train(TRAINING);
    let ended = case.run(&call)?;
    if !ended.succeeded() {
        names_the_disk(&ended)?;
    }
    intact(case, "full/run", is_resumed)?;
    let now = states(&case.path("full/run"))?;
    let newest = before.keys().next_back();
    ensure!(
        newest.is_none_or(|newest| now.contains_key(newest)),
        "the newest checkpoint is lost"
    );
    fs::remove_file(disk.path().join("ballast"))?;
    let again = case.run(&call)?;
    again.check_succeeded("there is room again")?;
    check_equal(&case.path("full/run"), &case.lab.folder.join("run"))
}

pub(super) fn names_the_disk(ended: &Ended) -> Result<()> {
    let stderr = ended.stderr();
    let names = ["No space left", "File too large", "standard output"];
    ensure!(
        names.iter().any(|it| stderr.contains(it)),
        "the full disk is not named: {stderr}"
    );
    Ok(())
}

/// Checks that a model which must be there, or may be, can be read.
fn intact(case: &mut Case<'_>, folder: &str, must_exist: bool) -> Result<()> {
    let has_model = ["manifest.json", "model/manifest.json"]
        .iter()
        .any(|name| case.path(folder).join(name).exists());
    ensure!(has_model || !must_exist, "the model in `{folder}` is lost");
    if has_model {
        let inspected = case.run_infer(&format!("inspect --model {folder}"))?;
        inspected.check_succeeded("writing failed before")?;
    }
    Ok(())
}

/// Writes a model or a file on a disk that gets full, over an older one.
fn full_output(case: &mut Case<'_>) -> Result<()> {
    let disk = Mounted::new(case.path("full"), 4096)?;
    let (command, old) = case.random.pick_pair(&OUTPUTS);
    write_and_repeat(case, command, old, |case| {
        fill(&case.path("full"), 4096 * case.random.below(40) as u64)
    })?;
    drop(disk);
    Ok(())
}

/// Runs a command that writes, after the disk was filled; then again, without what filled it.
fn write_and_repeat(
    case: &mut Case<'_>,
    command: &str,
    old: &str,
    prepare: impl FnOnce(&mut Case<'_>) -> Result<()>,
) -> Result<()> {
    let out = case.path("full/out");
    if !old.is_empty() {
        copy(&case.lab.folder.join(old), &out)?;
    }
    let before = content(&out)?;
    prepare(case)?;
    let mut call = call_of(case, command);
    let ballast = case.path("full/ballast");
    if !ballast.exists() {
        call.file_blocks = Some(8 + case.random.below(120) as u64);
    }
    let ended = case.run(&call)?;
    if !ended.succeeded() {
        names_the_disk(&ended)?;
        let now = content(&out)?;
        // A model that is replaced may have files of the new one beside its own.
        let is_kept = before.iter().all(|file| now.contains(file));
        ensure!(is_kept, "`{command}` failed, and the old content is lost");
        ensure!(
            !old.is_empty() || !out.exists(),
            "`{command}` failed and left `full/out`"
        );
    }
    if out.is_dir() && out.join("manifest.json").exists() {
        intact(case, "full/out", true)?;
    }
    if ballast.exists() {
        fs::remove_file(&ballast)?;
    }
    if old.is_empty() && out.exists() {
        fs::remove_dir_all(&out)?;
    }
    call.file_blocks = None;
    let again = case.run(&call)?;
    again.check_succeeded("there is room again")?;
    let unfinished = files_below(&case.path("full"))?.into_iter();
    let left = unfinished
        .map(|(path, _)| path)
        .find(|path| path.to_string_lossy().contains("unfinished"));
    ensure!(left.is_none(), "{left:?} is left");
    Ok(())
}

/// Returns the files at a path, which may be one file, or nothing.
fn content(path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    match path.is_file() {
        true => Ok(vec![(PathBuf::new(), fs::read(path)?)]),
        false => files_below(path),
    }
}

/// The system limits the size of files, as a quota does. This takes no root.
fn limited(case: &mut Case<'_>) -> Result<()> {
    fs::create_dir(case.path("full"))?;
    if case.random.one_in(2) {
        let (command, old) = case.random.pick_pair(&OUTPUTS);
        return write_and_repeat(case, command, old, |_| Ok(()));
    }
    let is_resumed = case.random.one_in(2);
    if is_resumed {
        copy(&case.lab.folder.join("interrupted"), &case.path("full/run"))?;
    }
    let mut call = case.train(TRAINING);
    call.file_blocks = Some(8 + case.random.below(140) as u64);
    let ended = case.run(&call)?;
    if !ended.succeeded() {
        names_the_disk(&ended)?;
    }
    intact(case, "full/run", is_resumed)?;
    call.file_blocks = None;
    let again = case.run(&call)?;
    again.check_succeeded("there is no limit any more")?;
    check_equal(&case.path("full/run"), &case.lab.folder.join("run"))
}

/// Standard output is a full disk.
fn no_output(case: &mut Case<'_>) -> Result<()> {
    let command = case.random.pick(&PRINTS);
    let mut call = call_of(case, command);
    call.output = Some("/dev/full".into());
    let ended = case.run(&call)?;
    ended.check_refused("its output was lost")?;
    names_the_disk(&ended)
}

/// Everything is read and written on a disk that is mounted read-only.
fn read_only(case: &mut Case<'_>) -> Result<()> {
    let disk = Mounted::new(case.path("full"), 4096)?;
    copy(&case.lab.folder.join("interrupted"), &case.path("full/run"))?;
    let (command, old) = case.random.pick_pair(&OUTPUTS);
    if !old.is_empty() {
        copy(&case.lab.folder.join(old), &case.path("full/out"))?;
    }
    disk.remount("ro")?;
    let before = files_below(disk.path())?;
    for command in [
        "TRAIN --resume full/run",
        &format!("TRAIN {TRAINING}"),
        command,
    ] {
        let call = call_of(case, command);
        case.run(&call)?.check_refused("the disk is read-only")?;
    }
    let translated = case.run_infer("translate --model full/run 101")?;
    translated.check_succeeded("a model can be read from a read-only disk")?;
    let dry = case.run_train("--resume full/run --dry-run")?;
    dry.check_succeeded("--dry-run writes nothing")?;
    ensure!(
        files_below(disk.path())? == before,
        "a read-only disk has other content"
    );
    Ok(())
}

/// Returns what runs a program without root's rights: nothing for another user.
fn without_rights() -> Result<Vec<OsString>> {
    let id = Command::new("id").arg("-u").output()?;
    if String::from_utf8_lossy(&id.stdout).trim() != "0" {
        return Ok(Vec::new());
    }
    let words = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--",
    ];
    let mut setpriv = Command::new(words[0]);
    if !setpriv
        .args(&words[1..])
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        let reason =
            "missing rights: root has all, and there is no `setpriv` to run as another user";
        return Err(Skipped(reason.to_owned()).into());
    }
    Ok(words.map(OsString::from).to_vec())
}

fn allow(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

/// A file or a folder cannot be read.
fn no_right_to_read(case: &mut Case<'_>) -> Result<()> {
    let prefix = without_rights()?;
    case.take("model")?;
    copy(&case.lab.folder.join("interrupted"), &case.path("run"))?;
    let (hidden, command) = case.random.pick_pair(&[
        ("model", "inspect --model model"),
        ("model/manifest.json", "translate --model model 1"),
        ("model/weights.bpk", "translate --model model 1"),
        ("model/config.json", "inspect --model model"),
        (
            "model/tokenizer.json",
            "score --model model --src a.src --tgt b.tgt",
        ),
        ("a.src", "evaluate --model model --src a.src --ref b.tgt"),
        ("b.tgt", "bleu --hyp a.src --ref b.tgt"),
        ("b.tgt", "TRAIN --src a.src --tgt b.tgt --out out --dry-run"),
        (
            "run.toml",
            "TRAIN --config run.toml --src a.src --tgt b.tgt --out out --dry-run",
        ),
        ("run/experiment.toml", "TRAIN --resume run --dry-run"),
        ("run/checkpoints", "TRAIN --resume run --dry-run"),
        (
            "run/checkpoints/state-10.json",
            "TRAIN --resume run --dry-run",
        ),
        (
            "run/checkpoints/optim-10.bpk",
            "TRAIN --resume run --dry-run",
        ),
        ("run", "TRAIN average --run run --last 1 --out out"),
    ]);
    let path = case.path(hidden);
    if !path.exists() {
        return Ok(());
    }
    allow(&path, 0)?;
    let mut call = call_of(case, command);
    call.prefix = prefix;
    let ended = case.run(&call);
    allow(&path, if path.is_dir() { 0o755 } else { 0o644 })?;
    let ended = ended?;
    ended.check_refused(&format!("`{hidden}` cannot be read"))?;
    let stderr = ended.stderr();
    // Of a checkpoint, the error names one file for all.
    let name = match hidden.contains("checkpoints") {
        true => "checkpoint",
        false => hidden.rsplit('/').next().unwrap_or(hidden),
    };
    ensure!(
        stderr.contains(name),
        "`{hidden}` cannot be read, and the error does not name it: {stderr}"
    );
    Ok(())
}

/// A folder cannot be written. Nothing in it may change.
fn no_right_to_write(case: &mut Case<'_>) -> Result<()> {
    let prefix = without_rights()?;
    fs::create_dir(case.path("full"))?;
    copy(&case.lab.folder.join("interrupted"), &case.path("full/run"))?;
    let (command, old) = case.random.pick_pair(&OUTPUTS);
    if !old.is_empty() {
        copy(&case.lab.folder.join(old), &case.path("full/out"))?;
    }
    let folders = [
        "full",
        "full/run",
        "full/run/checkpoints",
        "full/run/model",
        "full/out",
    ]
    .map(|it| case.path(it));
    let folders: Vec<PathBuf> = folders
        .into_iter()
        .filter(|folder| folder.is_dir())
        .collect();
    for folder in &folders {
        allow(folder, 0o555)?;
    }
    let before = files_below(&case.path("full"))?;
    for command in [
        "TRAIN --resume full/run",
        &format!("TRAIN {TRAINING}"),
        command,
    ] {
        let mut call = call_of(case, command);
        call.prefix.clone_from(&prefix);
        let ended = case.run(&call)?;
        ended.check_refused("the folder cannot be written")?;
    }
    ensure!(
        files_below(&case.path("full"))? == before,
        "a refused command has changed a file"
    );
    for folder in &folders {
        allow(folder, 0o755)?;
    }
    Ok(())
}
