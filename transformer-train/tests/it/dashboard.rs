//! Keys and errors while Burn's dashboard is on screen, in a terminal made by `script`.

#![expect(
    clippy::print_stdout,
    reason = "the log shows skipped tests and the reason"
)]

use std::fs;
use std::io::{Read, Write};
use std::process::{ChildStdin, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::workplace::Workplace;

/// A training run in a terminal.
struct Terminal {
    script: std::process::Child,
    keys: ChildStdin,
    screen: JoinHandle<String>,
}

impl Terminal {
    /// Starts a long training run and waits for its first checkpoint. Returns `None`, and says so,
    /// if `script` is not installed.
    fn start(workplace: &Workplace) -> Option<Self> {
        let program = env!("CARGO_BIN_EXE_transformer-train");
        let arguments =
            "--config run.toml --src a.src --tgt b.tgt --threads 1 --out run --updates 1000000";
        let command = format!("stty rows 40 columns 120; exec '{program}' {arguments}");
        let mut script = workplace.command("script", &["-qefc", &command, "/dev/null"]);
        let started = script.env("SHELL", "/bin/sh").stdin(Stdio::piped()).spawn();
        let Ok(mut script) = started else {
            println!("skipped: `script` is not installed");
            return None;
        };
        let keys = script.stdin.take().expect("the stream is piped");
        let mut output = script.stdout.take().expect("the stream is piped");
        let screen = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = output.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let manifest = workplace.path("run/model/manifest.json");
        while !manifest.exists() {
            let ended = script.try_wait().expect("the program was started here");
            assert_eq!(ended, None, "the first checkpoint is written");
            thread::sleep(Duration::from_millis(20));
        }
        Some(Self {
            script,
            keys,
            screen,
        })
    }

    fn press(&mut self, key: u8) {
        self.keys.write_all(&[key]).expect("the terminal is open");
        self.keys.flush().expect("the terminal is open");
    }

    /// Waits for the program to exit, and returns its exit code and everything it wrote.
    fn wait(mut self) -> (Option<i32>, String) {
        let status = self.script.wait().expect("the program was started here");
        let screen = self.screen.join().expect("the thread only reads");
        (status.code(), screen)
    }
}

/// The control sequence with which a program leaves the alternate screen.
const LEAVE_ALTERNATE_SCREEN: &str = "\x1b[?1049l";

/// Checks that a run ended after a whole interval and printed how to resume it.
fn assert_ended_after_interval(workplace: &Workplace, (code, screen): (Option<i32>, String)) {
    assert_eq!(code, Some(130), "{screen}");
    let (_, after) = screen
        .rsplit_once(LEAVE_ALTERNATE_SCREEN)
        .expect("the dashboard closed");
    assert!(after.contains("--resume run"), "{after}");
    let updates = workplace.manifest("run/model")["training"]["scores"]["updates"].as_u64();
    assert!(
        updates.is_some_and(|updates| updates > 0 && updates % 10 == 0),
        "{updates:?}"
    );
}

#[test]
fn ctrl_c_ends_a_run_after_its_interval() {
    let workplace = Workplace::new();
    let Some(mut terminal) = Terminal::start(&workplace) else {
        return;
    };
    terminal.press(0x03);
    assert_ended_after_interval(&workplace, terminal.wait());
}

#[test]
fn the_stop_key_of_the_dashboard_ends_a_run_after_its_interval() {
    let workplace = Workplace::new();
    let Some(mut terminal) = Terminal::start(&workplace) else {
        return;
    };
    terminal.press(b'q');
    terminal.press(b's');
    assert_ended_after_interval(&workplace, terminal.wait());
}

#[test]
fn the_error_of_a_run_is_printed_after_the_dashboard_closes() {
    let workplace = Workplace::new();
    let Some(terminal) = Terminal::start(&workplace) else {
        return;
    };
    fs::rename(workplace.path("run/checkpoints"), workplace.path("moved"))
        .expect("the folder exists");
    workplace.write("run/checkpoints", "a file where a folder was");
    let (code, screen) = terminal.wait();
    assert_eq!(code, Some(1), "{screen}");
    let (_, after) = screen
        .rsplit_once(LEAVE_ALTERNATE_SCREEN)
        .expect("the dashboard closed");
    assert!(after.contains("error: "), "{after}");
}
