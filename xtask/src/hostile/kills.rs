//! The class `kills`: signals at the moments of a save.
//!
//! A watcher lists the folders that the program writes, again and again. A name that appears or disappears, or a
//! file that grows, is an event: a temporary file is created, filled, renamed, or removed. The attempt counts events
//! and sends a signal at one of them, or up to a millisecond later. Then the same command is repeated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::call::Call;
use super::case::Case;
use super::lab::{Lab, copy};
use super::run_files::{check_equal, states};

/// Most signals during a run.
const MOST_SIGNALS: usize = 3;

/// Events of an uninterrupted run, roughly: a save has a dozen.
const N_EVENTS: usize = 180;

/// Longest time that the watcher waits for the program.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(
    clippy::unnecessary_wraps,
    reason = "the number depends on the lab in other classes"
)]
pub(super) fn n_attempts(_: &Lab) -> Result<u64> {
    Ok(1500)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    match case.index % 3 {
        0 => output(case),
        _ => training(case),
    }
}

/// Interrupts a run several times, and compares it with one that was not interrupted.
fn training(case: &mut Case<'_>) -> Result<()> {
    for name in ["a.src", "b.tgt", "whole.toml"] {
        case.take(name)?;
    }
    let run = case.path("run");
    fs::create_dir(&run)?;
    fs::write(run.join("notes.txt"), "mine")?;
    let call = case.train("--config whole.toml --src a.src --tgt b.tgt --threads 1 --out run");
    for _ in 0..1 + case.random.below(MOST_SIGNALS) {
        let event = 1 + case.random.below(N_EVENTS / 2);
        let signal = case
            .random
            .pick(&["KILL", "KILL", "KILL", "INT", "TERM", "HUP"]);
        if !signaled(case, &call, event, signal)? {
            break;
        }
        ensure!(
            fs::read(run.join("notes.txt"))? == b"mine",
            "a file of the user is changed"
        );
        if run.join("model/manifest.json").exists() {
            let inspected = case.run_infer("inspect --model run")?;
            inspected.check_succeeded("the program was killed during a save")?;
        }
        let newest = states(&run)?.keys().next_back().copied();
        if let Some(newest) = newest.filter(|_| case.random.one_in(2)) {
            check_resumes(case, newest)?;
        }
    }
    let ended = case.run(&call)?;
    ended.check_succeeded("the run was interrupted before")?;
    check_equal(&run, &case.lab.folder.join("whole"))?;
    ensure!(
        fs::read(run.join("notes.txt"))? == b"mine",
        "a file of the user is changed"
    );
    Ok(())
}

/// Checks that the run resumes at its newest complete checkpoint.
fn check_resumes(case: &mut Case<'_>, newest: u64) -> Result<()> {
    let ended = case.run_train("--resume run --dry-run --threads 1")?;
    ended.check_succeeded("the run was interrupted")?;
    let expected = format!("resumed     after update {newest}\n");
    let stdout = ended.stdout();
    ensure!(
        stdout.contains(&expected),
        "checkpoint {newest} is complete, but not resumed: {stdout}"
    );
    Ok(())
}

/// Interrupts a command that replaces a model or a file, which must be the old or the new one.
fn output(case: &mut Case<'_>) -> Result<()> {
    let (command, old) = case.random.pick_pair(&[
        ("import --from LAB/separate --out out --overwrite", "words"),
        ("quantize --model LAB/model --out out --precision f16", ""),
        (
            "export --model LAB/model --format safetensors --out out",
            "",
        ),
        ("export --model LAB/marian --format hf-marian --out out", ""),
        (
            "evaluate --model LAB/model --src LAB/a.src --ref LAB/b.tgt --out out",
            "a.src",
        ),
        ("attention --model LAB/model --out out.html 101", ""),
        ("TRAIN average --run LAB/whole --last 3 --out out", ""),
    ]);
    let path = case.path("out");
    if !old.is_empty() {
        copy(&case.lab.folder.join(old), &path)?;
    }
    let before = path.is_file().then(|| fs::read(&path)).transpose()?;
    let call = match command.strip_prefix("TRAIN ") {
        Some(command) => case.train(command),
        None => case.infer(command),
    };
    let event = 1 + case.random.below(14);
    signaled(case, &call, event, "KILL")?;
    let is_model = path.join("manifest.json").exists();
    ensure!(
        is_model || path.is_file() || old.is_empty(),
        "`out` is lost"
    );
    if is_model {
        let inspected = case.run_infer("inspect --model out")?;
        inspected.check_succeeded("the program was killed during a save")?;
    }
    if let Some(before) = before {
        let now = fs::read(&path)?;
        let n_lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
        ensure!(
            now == before || n_lines(&now) == n_lines(&before),
            "`out` is cut"
        );
    }
    if old.is_empty() {
        // They write into folders that are empty or absent only.
        let _ = fs::remove_dir_all(&path);
    }
    let again = case.run(&call)?;
    again.check_succeeded("the command was killed before")?;
    Ok(())
}

/// Starts a program and sends it a signal at an event. Returns whether it was still running.
pub(super) fn signaled(
    case: &mut Case<'_>,
    call: &Call,
    event: usize,
    signal: &str,
) -> Result<bool> {
    let delay = Duration::from_micros(if case.random.one_in(2) {
        0
    } else {
        case.random.next() % 1000
    });
    case.lines
        .push(format!("{}  # SIG{signal} at event {event}", call.line()));
    let mut child = call.start()?;
    let is_running = watch(&mut child, &case.folder, event)?;
    if is_running {
        thread::sleep(delay);
        send(&mut child, signal)?;
    }
    let ended = call.wait(child)?;
    case.runs.n += 1;
    let is_killed = signal == "KILL" && ended.signal == Some(9);
    if is_killed {
        case.runs.n_killed += 1;
        return Ok(true);
    }
    // A signal before the handler is set ends the program, as it ends any other.
    let number = [("INT", 2), ("TERM", 15), ("HUP", 1)]
        .iter()
        .find(|it| it.0 == signal)
        .map(|it| it.1);
    if ended.signal.is_some() && ended.signal == number {
        case.runs.n_killed += 1;
        return Ok(true);
    }
    ended.check()?;
    match ended.code {
        Some(0) => Ok(false),
        Some(130) if signal != "KILL" => {
            case.runs.n_killed += 1;
            Ok(true)
        }
        code => bail!("ended with {code:?} after SIG{signal}: {}", ended.stderr()),
    }
}

fn send(child: &mut Child, signal: &str) -> Result<()> {
    if signal == "KILL" {
        child.kill()?;
        return Ok(());
    }
    let pid = child.id().to_string();
    let mut kill = Command::new("kill");
    let sent = kill
        .args(["-s", signal, &pid])
        .output()
        .context("`kill` cannot be started")?;
    // The program may have ended in the meantime.
    drop(sent);
    Ok(())
}

/// Waits for an event; `false` if the program ended before it.
fn watch(child: &mut Child, folder: &Path, event: usize) -> Result<bool> {
    let started = Instant::now();
    let mut before = listing(folder);
    let mut n_events = 0;
    while child.try_wait()?.is_none() {
        let now = listing(folder);
        if now != before {
            n_events += 1;
            before = now;
        }
        if n_events >= event {
            return Ok(true);
        }
        ensure!(
            started.elapsed() < PATIENCE,
            "a hang: no event {event} in {PATIENCE:?}"
        );
        thread::sleep(Duration::from_micros(50));
    }
    Ok(false)
}

/// Lists the files below a folder with their sizes, without the output of the programs.
fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let is_output = next == folder
                && ["stdout", "stderr"]
                    .iter()
                    .any(|name| entry.file_name() == *name);
            match entry.metadata() {
                Ok(it) if it.is_dir() => folders.push(entry.path()),
                Ok(it) if !is_output => files.push((entry.path(), it.len())),
                _ => {}
            }
        }
    }
    files.sort();
    files
}
