//! Files from the past and the future, and programs with a different clock.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use proptest::array::uniform16;
use proptest::sample::select;

use super::attack::Attack;
use super::keys::parts;
use super::lab::{TRAINING, files_below};
use super::program::Call;
use super::results::check_equal;
use super::texts::one_of;

/// Seconds from 1901 to 1970, and from 1901 to the last possible file date.
const UNTIL_1970: u64 = 69 * 365 * 86_400;
const MAX_SECONDS: u64 = 300 * 365 * 86_400;

/// Programs that give a program a different time. The clock of the machine is not changed.
const CLOCKS: &str = "faketime 1970-01-02 | faketime 2001-01-01 | faketime 2038-01-19
    | faketime 2090-01-01 | unshare --time --monotonic 100000000 --boottime 100000000 --
    | unshare --time --monotonic 1000000000 --boottime 1000000000 --
    | unshare --time --monotonic 4294967296 --boottime 4294967296 --";

#[test]
fn nothing_depends_on_dates_and_clocks() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    let dates = || uniform16(0..MAX_SECONDS);
    attack.check(10, dates(), |case, dates| {
        case.take(&["model"])?;
        let command = "infer translate --model model 101 10110";
        let expected = case.run(command)?.stdout;
        date(&case.path("model"), &dates)?;
        let is_equal = case.run(command)?.stdout == expected;
        ensure!(is_equal, "another translation with other dates of files");
        case.run("infer inspect --model model")?
            .check_succeeded("only dates of files differ")
    })?;
    let runs = (
        dates(),
        one_of("run | ."),
        one_of("| --set data.store=disk"),
    );
    attack.check(20, runs, |case, (dates, folder, store)| {
        case.take(&["a.src", "b.tgt", "run.toml"])?;
        case.take_as("interrupted", "run")?;
        // The second time, the run has ended, and the model is published again.
        for folder in [folder, "."] {
            date(&case.path(folder), &dates)?;
            let ended = case.run(&format!("{TRAINING} run {store}"))?;
            ended.check_succeeded("only dates of files differ")?;
        }
        check_equal(&case.path("run"), &case.lab.join("run"))
    })?;
    let clocks = parts(CLOCKS)
        .into_iter()
        .map(|words| words.split(' ').collect::<Vec<_>>());
    let (clocks, missing): (Vec<_>, Vec<_>) = clocks.partition(|words| {
        let output = Command::new(words[0])
            .args(&words[1..])
            .arg("true")
            .output();
        output.is_ok_and(|output| output.status.success())
    });
    if let Some(words) = missing.first() {
        println!("skipped: another time: `{}` does not work here", words[0]);
    }
    if clocks.is_empty() {
        return Ok(());
    }
    attack.check(10, select(clocks), |case, prefix| {
        case.take(&["a.src", "b.tgt", "run.toml"])?;
        case.take_as("interrupted", "run")?;
        let call = case.call(&format!("{TRAINING} run"));
        case.end(&Call { prefix, ..call })?
            .check_succeeded("only the time differs")?;
        check_equal(&case.path("run"), &case.lab.join("run"))
    })
}

/// Sets the dates of the files below a folder.
fn date(folder: &Path, dates: &[u64]) -> Result<()> {
    let first = SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(UNTIL_1970));
    let first = first.context("1901 can be represented")?;
    for (path, seconds) in files_below(folder)?.into_keys().zip(dates.iter().cycle()) {
        let file = File::options().write(true).open(folder.join(path))?;
        file.set_modified(first + Duration::from_secs(*seconds))?;
    }
    Ok(())
}
