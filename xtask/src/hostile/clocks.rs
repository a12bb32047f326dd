//! The class `clocks`: files from the past and the future, and programs whose clock was set.
//!
//! The clock of the machine is not set. `faketime`, where it is installed, gives a program another time; a time
//! namespace gives it another time since the start of the machine.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};

use super::case::{Case, Skipped};
use super::lab::{Lab, copy, files_below};
use super::run_files::check_equal;

const TRAINING: &str = "--config run.toml --src a.src --tgt b.tgt --threads 1 --out run";

/// Seconds from now, of dates from 1901 to 2200.
const LONGEST: i64 = 123 * 365 * 86_400;

#[expect(
    clippy::unnecessary_wraps,
    reason = "the number depends on the lab in other classes"
)]
pub(super) fn n_attempts(_: &Lab) -> Result<u64> {
    Ok(400)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    for name in ["a.src", "b.tgt", "run.toml"] {
        case.take(name)?;
    }
    match case.index % 4 {
        0 => old_model(case),
        1 => old_run(case, ""),
        2 => old_run(case, "--set data.store=disk"),
        _ => other_clock(case),
    }
}

/// Gives every file below a folder a date of its own.
fn date(case: &mut Case<'_>, folder: &Path) -> Result<()> {
    for (path, _) in files_below(folder)? {
        let seconds = case.random.next() as i64 % LONGEST;
        let span = Duration::from_secs(seconds.unsigned_abs());
        let now = SystemTime::now();
        let then = if seconds < 0 {
            now.checked_sub(span)
        } else {
            now.checked_add(span)
        };
        let file = File::options().write(true).open(folder.join(path))?;
        file.set_modified(then.context("the date can be represented")?)?;
    }
    Ok(())
}

fn old_model(case: &mut Case<'_>) -> Result<()> {
    case.take("model")?;
    let expected = case.run_infer("translate --model model 101 10110")?;
    let folder = case.folder.clone();
    date(case, &folder)?;
    let ended = case.run_infer("translate --model model 101 10110")?;
    ended.check_succeeded("only dates of files differ")?;
    ensure!(
        ended.stdout == expected.stdout,
        "another translation with other dates of files"
    );
    case.run_infer("inspect --model model")?
        .check_succeeded("only dates of files differ")
}

/// Resumes a run whose files, and text, have other dates.
fn old_run(case: &mut Case<'_>, settings: &str) -> Result<()> {
    copy(&case.lab.folder.join("interrupted"), &case.path("run"))?;
    let call = case.train(&format!("{TRAINING} {settings}"));
    if case.random.one_in(2) {
        let dates = [case.path("run"), case.folder.clone()];
        let folder = &dates[case.random.below(2)];
        date(case, folder)?;
    }
    let ended = case.run(&call)?;
    ended.check_succeeded("only dates of files differ")?;
    let folder = case.folder.clone();
    date(case, &folder)?;
    // It has ended; the model is published again.
    let again = case.run(&call)?;
    again.check_succeeded("only dates of files differ")?;
    check_equal(&case.path("run"), &case.lab.folder.join("run"))
}

/// Trains and resumes with another time each.
fn other_clock(case: &mut Case<'_>) -> Result<()> {
    copy(&case.lab.folder.join("interrupted"), &case.path("run"))?;
    let mut call = case.train(TRAINING);
    call.prefix = match case.random.one_in(2) {
        true => fake_date(case)?,
        false => fake_uptime(case)?,
    };
    let ended = case.run(&call)?;
    ended.check_succeeded("only the time differs")?;
    check_equal(&case.path("run"), &case.lab.folder.join("run"))
}

fn fake_date(case: &mut Case<'_>) -> Result<Vec<OsString>> {
    let date = case.random.pick(&[
        "1970-01-02 00:00:00",
        "2001-01-01 00:00:00",
        "2038-01-19 03:14:06",
        "2090-01-01 00:00:00",
    ]);
    let words = ["faketime", date];
    works(&words, "another date: `faketime` is not installed")
}

fn fake_uptime(case: &mut Case<'_>) -> Result<Vec<OsString>> {
    let seconds = case.random.pick(&["100000000", "1000000000", "4294967296"]);
    let words = [
        "unshare",
        "--time",
        "--monotonic",
        seconds,
        "--boottime",
        seconds,
        "--",
    ];
    works(
        &words,
        "another time since the start of the machine: `unshare --time` takes root",
    )
}

/// Returns the words, if they can run a program.
fn works(words: &[&str], reason: &str) -> Result<Vec<OsString>> {
    let status = Command::new(words[0])
        .args(&words[1..])
        .arg("true")
        .output();
    match status.is_ok_and(|output| output.status.success()) {
        true => Ok(words.iter().map(OsString::from).collect()),
        false => Err(Skipped(reason.to_owned()).into()),
    }
}
