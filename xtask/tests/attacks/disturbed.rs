//! [`Trouble`]: a signal, a disk or a permission that disturbs a command while it writes.
//!
//! Afterwards the files are either old or new, a refused command has changed nothing, and repeating the command gives
//! the undisturbed result.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use proptest::prelude::*;
use walkdir::WalkDir;

use super::attack::Case;
use super::kills::Kill;
use super::lab::files_below;
use super::program::{Call, Ended};
use super::results::{check_equal, check_finished, states};

/// Commands that write `disk/out`, after its initial content and the run that the result must equal.
pub(crate) const JOBS: &str =
    "-: run: train --config run.toml --src a.src --tgt b.tgt --threads 1 --out disk/out
    | interrupted: run: train --resume disk/out --threads 1
    | interrupted: run: train --config run.toml --src a.src --tgt b.tgt --threads 1 --out disk/out
    | -: whole: train --config whole.toml --src a.src --tgt b.tgt --threads 1 --out disk/out
    | words: -: infer import --from LAB/separate --out disk/out --overwrite
    | -: -: infer import --from LAB/separate --out disk/out
    | -: -: infer quantize --model LAB/model --out disk/out --precision f16
    | -: -: infer export --model LAB/model --format safetensors --out disk/out
    | -: -: infer export --model LAB/marian --format hf-marian --out disk/out
    | a.src: -: infer evaluate --model LAB/model --src LAB/a.src --ref LAB/b.tgt --out disk/out
    | a.src: -: infer translate --model LAB/model --beam 1 --in LAB/long.html --out disk/out --overwrite
    | -: -: infer attention --model LAB/model --out disk/out.html 101
    | -: -: train average --run LAB/run --last 2 --out disk/out";

/// Command-line prefix that drops root's permissions.
const NOBODY: [&str; 5] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--",
];

/// A disturbance of a command.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    Kill(Kill),
    /// A limit on the size of files, like a quota, in blocks of 512 bytes.
    Limit(u64),
    /// A disk with this number of free pages.
    Full(u64),
    ReadOnly,
    NoRights,
}

/// A small disk in memory, unmounted on drop.
struct Disk(PathBuf);

/// Returns the prefix that drops root's permissions, if necessary and possible.
pub(crate) fn without_rights() -> Result<Option<&'static [&'static str]>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(Some(&[]));
    }
    let status = Command::new(NOBODY[0])
        .args(&NOBODY[1..])
        .arg("true")
        .status();
    Ok(status
        .is_ok_and(|status| status.success())
        .then_some(&NOBODY))
}

/// Draws a disturbance by the disk that is possible here.
pub(crate) fn trouble() -> Result<BoxedStrategy<Trouble>> {
    let mut kinds = vec![(8..148_u64).prop_map(Trouble::Limit).boxed()];
    if Disk::new(tempfile::tempdir()?.path().join("disk")).is_ok() {
        kinds.push((0..120_u64).prop_map(Trouble::Full).boxed());
        kinds.push(Just(Trouble::ReadOnly).boxed());
    } else {
        println!("skipped: full and read-only disks: to mount a tmpfs takes root");
    }
    match without_rights()? {
        Some(_) => kinds.push(Just(Trouble::NoRights).boxed()),
        None => println!("skipped: missing rights: root has all, and there is no `setpriv`"),
    }
    Ok(proptest::strategy::Union::new(kinds).boxed())
}

impl Disk {
    fn new(path: PathBuf) -> Result<Self> {
        fs::create_dir(&path)?;
        mount(&path, "-t tmpfs -o size=16m,mode=755 tmpfs")?;
        Ok(Self(path))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, because a process started by another test keeps the files open until it runs its program.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(path: &Path, options: &str) -> Result<()> {
    let mut mount = Command::new("mount");
    let output = mount.args(options.split(' ')).arg(path).output()?;
    ensure!(
        output.status.success(),
        "mount ended with {}",
        output.status
    );
    Ok(())
}

/// Fills a disk except for some pages of 4 KiB.
fn fill(ballast: &Path, n_free: u64) -> Result<()> {
    let mut file = File::create(ballast)?;
    while file.write_all(&[0; 4096]).is_ok() {}
    let n_bytes = file.metadata()?.len();
    Ok(file.set_len(n_bytes.saturating_sub(4096 * n_free))?)
}

/// Checks that an error names the disk.
pub(crate) fn names_the_disk(ended: &Ended) -> Result<()> {
    let names = ["No space left", "File too large", "standard output"];
    let is_named = ended.succeeded() || names.iter().any(|it| ended.stderr.contains(it));
    ensure!(is_named, "the full disk is not named: {}", ended.stderr);
    Ok(())
}

/// Runs a job with each trouble in its way, then without any, and checks the files.
pub(crate) fn check(case: &Case<'_>, job: &str, troubles: &[Trouble]) -> Result<()> {
    let mut parts = job.splitn(3, ": ");
    let mut part = || parts.next().context("a job has three parts");
    let (old, whole, command) = (part()?, part()?, part()?);
    let (disk, out) = (case.path("disk"), case.path("disk/out"));
    let has_disk = |it: &Trouble| matches!(it, Trouble::Full(_) | Trouble::ReadOnly);
    let _disk = match troubles.iter().any(has_disk) {
        true => Some(Disk::new(disk.clone())?),
        false => fs::create_dir(&disk).map(|()| None)?,
    };
    case.take(&["a.src", "b.tgt", "run.toml", "whole.toml"])?;
    case.write("disk/notes.txt", "mine")?;
    if old != "-" {
        case.take_as(old, "disk/out")?;
    }
    let call = case.call(command);
    for trouble in troubles {
        let (before, newest) = (files_below(&disk)?, states(&out)?.last().copied());
        let ended = trouble.disturb(case, &call)?;
        let now = files_below(&disk)?;
        let is_refused = ended.as_ref().is_some_and(|it| !it.succeeded());
        // While a model is being replaced, files of the new one may be beside the old ones.
        let is_kept = before
            .iter()
            .all(|(path, content)| now.get(path) == Some(content));
        let may_change = whole != "-" && !matches!(trouble, Trouble::ReadOnly | Trouble::NoRights);
        let is_refused = is_refused && !may_change;
        ensure!(
            !is_refused || is_kept,
            "refused, but the old content is lost"
        );
        let is_left = is_refused && old == "-" && now.len() > before.len();
        ensure!(!is_left, "refused, but `out` is left");
        ensure!(
            case.read("disk/notes.txt")? == b"mine",
            "a user's file is changed"
        );
        check_out(case, &out, old != "-")?;
        let now = states(&out)?;
        let is_kept = now.last().copied() >= newest;
        ensure!(is_kept, "the newest checkpoint is lost");
        if let (None, Some(newest)) = (&ended, now.last()) {
            check_resumes(case, *newest)?;
        }
        if ended.is_none() && out.is_file() && old != "-" {
            check_old_or_new(case, command, before.get(Path::new("out")))?;
        }
        if old == "-" && whole == "-" && out.exists() {
            // These commands write only into folders that are empty or absent.
            fs::remove_dir_all(&out)?;
        }
    }
    case.end(&call)?
        .check_succeeded("nothing is in the way any more")?;
    // A killed program cannot remove an unfinished file.
    if !troubles.iter().any(|it| matches!(it, Trouble::Kill(_))) {
        check_finished(&disk)?;
    }
    check_out(case, &out, false)?;
    match whole {
        "-" => Ok(()),
        whole => check_equal(&out, &case.lab.join(whole)),
    }
}

/// Checks that the output file of a killed command is either unchanged or the result of the command.
fn check_old_or_new(case: &Case<'_>, command: &str, before: Option<&Vec<u8>>) -> Result<()> {
    case.run(&command.replace("disk/out", "expected"))?;
    let now = case.read("disk/out")?;
    let is_old = before == Some(&now);
    ensure!(
        is_old || now == case.read("expected")?,
        "`out` is neither old nor new"
    );
    Ok(())
}

/// Checks that the run resumes from its newest complete checkpoint.
fn check_resumes(case: &Case<'_>, newest: u64) -> Result<()> {
    let resumed = case.run("train --resume disk/out --dry-run --threads 1")?;
    let expected = format!("resumed     after update {newest}\n");
    let is_newest = resumed.stdout().contains(&expected);
    ensure!(
        is_newest,
        "checkpoint {newest} is complete, but not resumed"
    );
    Ok(())
}

/// Checks that the model in `disk/out` can be read, if it exists or must exist.
fn check_out(case: &Case<'_>, out: &Path, must_exist: bool) -> Result<()> {
    let manifests = ["manifest.json", "model/manifest.json"];
    let has_model = manifests.iter().any(|name| out.join(name).exists());
    ensure!(has_model || out.is_file() || !must_exist, "`out` is lost");
    if has_model {
        let translated = case.run("infer translate --model disk/out --beam 1 101")?;
        translated.check_succeeded("the program that wrote the model was disturbed")?;
    }
    Ok(())
}

impl Trouble {
    /// Makes a call under the disturbance; returns `None` if a signal ended the program.
    fn disturb(&self, case: &Case<'_>, call: &Call) -> Result<Option<Ended>> {
        let (disk, ballast) = (case.path("disk"), case.path("disk/ballast"));
        let ended = match self {
            Self::Kill(kill) => return kill.send(case, call),
            Self::Limit(blocks) => {
                let mut limited = call.clone();
                limited.file_blocks = Some(*blocks);
                case.end(&limited)?
            }
            Self::Full(n_free) => {
                fill(&ballast, *n_free)?;
                let ended = case.end(call);
                fs::remove_file(ballast)?;
                ended?
            }
            Self::ReadOnly => {
                // The disk is busy while a process started by another test has the files open.
                let mut tries = 0..200;
                while mount(&disk, "-o remount,ro").is_err() && tries.next().is_some() {
                    thread::sleep(Duration::from_millis(5));
                }
                let ended = case.end(call);
                if case.path("disk/out/checkpoints").exists() {
                    let dry = case.run("train --resume disk/out --dry-run")?;
                    dry.check_succeeded("--dry-run writes nothing")?;
                }
                check_out(case, &case.path("disk/out"), false)?;
                mount(&disk, "-o remount,rw")?;
                ended?
            }
            Self::NoRights => {
                allow(&disk, 0o555)?;
                let mut limited = call.clone();
                limited.prefix = without_rights()?.unwrap_or_default().to_vec();
                let ended = case.end(&limited);
                allow(&disk, 0o755)?;
                ended?
            }
        };
        match self {
            Self::ReadOnly | Self::NoRights => {
                ended.check_refused("the folder cannot be written")?;
            }
            _ => names_the_disk(&ended)?,
        }
        Ok(Some(ended))
    }
}

/// Sets the permissions of the folders in a folder.
fn allow(folder: &Path, mode: u32) -> Result<()> {
    let entries: Vec<_> = WalkDir::new(folder).into_iter().collect::<Result<_, _>>()?;
    for entry in entries.iter().filter(|entry| entry.file_type().is_dir()) {
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}
