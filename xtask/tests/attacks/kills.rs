//! Signals at the moments of a save.
//!
//! A watcher lists the folder of the case repeatedly. A name that appears or disappears, or a file that grows, is an
//! event: a temporary file is created, filled, renamed, or removed. The signal is sent at an event or soon after.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use proptest::collection::vec;
use proptest::prelude::*;
use walkdir::WalkDir;

use super::attack::{Attack, Case};
use super::disturbed::{JOBS, Trouble, check};
use super::program::{Call, Ended, Running};
use super::texts::one_of;

/// A signal.
#[derive(Clone, Debug)]
pub(crate) struct Kill {
    event: usize,
    /// Microseconds after the event.
    delay: u64,
    signal: Signal,
}

#[test]
fn every_killed_command_ends_as_one_that_was_not() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    // A save has a dozen events; a run has 180.
    let events = prop_oneof![1 => 1..15_usize, 2 => 1..90_usize];
    let delays = prop_oneof![Just(0), 0..1000_u64];
    let others = proptest::sample::select(vec![Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    let signals = prop_oneof![Just(Signal::SIGKILL), others];
    let kills = (events, delays, signals).prop_map(|(event, delay, signal)| {
        Trouble::Kill(Kill {
            event,
            delay,
            signal,
        })
    });
    attack.check(
        60,
        (one_of(JOBS), vec(kills, 1..4)),
        |case, (job, kills)| check(case, job, &kills),
    )
}

impl Kill {
    /// Starts a program and sends it the signal; returns `None` if the signal ended it.
    pub(crate) fn send(&self, case: &Case<'_>, call: &Call) -> Result<Option<Ended>> {
        let mut running = case.start(call)?;
        if watch(&mut running, &case.path("disk"), self.event)? {
            thread::sleep(Duration::from_micros(self.delay));
            if running.child.try_wait()?.is_none() {
                signal::kill(Pid::from_raw(running.child.id().cast_signed()), self.signal)?;
            }
        }
        let ended = running.wait()?;
        // A signal that comes before the program handles signals ends it, like any other program.
        if ended.status.signal() == Some(self.signal as i32) {
            return Ok(None);
        }
        ended.check()?;
        let code = ended.status.code();
        let is_interrupted = code == Some(130) && self.signal != Signal::SIGKILL;
        let is_expected = is_interrupted || code == Some(0);
        ensure!(
            is_expected,
            "{code:?} after {}: {}",
            self.signal,
            ended.stderr
        );
        Ok((!is_interrupted).then_some(ended))
    }
}

/// Waits for an event; returns `false` if the program ended before it.
fn watch(running: &mut Running, folder: &Path, event: usize) -> Result<bool> {
    let started = Instant::now();
    let mut before = listing(folder);
    let mut n_events = 0;
    while running.child.try_wait()?.is_none() {
        let now = listing(folder);
        n_events += usize::from(now != before);
        before = now;
        if n_events >= event {
            return Ok(true);
        }
        ensure!(
            started.elapsed() < Duration::from_secs(60),
            "a hang: no event {event} in 60 s"
        );
        thread::sleep(Duration::from_micros(50));
    }
    Ok(false)
}

/// Lists the files below a folder with their sizes.
fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let files = WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .filter_map(|entry| Some((entry.path().to_owned(), entry.metadata().ok()?.len())))
        .collect()
}
