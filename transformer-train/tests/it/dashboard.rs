//! What keys and errors do while Burn's dashboard has the terminal, which `script` makes.

#![expect(clippy::print_stdout, reason = "a check that is left out says why")]

use std::fs;
use std::io::{Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::workplace::Workplace;

/// A training in a terminal.
struct Terminal {
    script: std::process::Child,
    keys: ChildStdin,
    screen: JoinHandle<String>,
}

impl Terminal {
    /// Starts a long training, and waits for its first checkpoint; `None`, which is said, where there is no `script`.
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
        let keys = script.stdin.take().expect("it is piped");
        let mut output = script.stdout.take().expect("it is piped");
        let screen = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = output.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let manifest = workplace.path("run/model/manifest.json");
        let begun = Instant::now();
        while !manifest.exists() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "nothing is trained"
            );
            thread::sleep(Duration::from_millis(20));
        }
        Some(Self {
            script,
            keys,
            screen,
        })
    }

    fn press(&mut self, key: u8) {
        self.keys.write_all(&[key]).expect("the terminal is there");
        self.keys.flush().expect("the terminal is there");
        // The dashboard looks ten times a second.
        thread::sleep(Duration::from_millis(300));
    }

    /// Waits for the end of the program, and returns its code and all that it wrote.
    fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.script.try_wait().expect("it was started here") {
                let screen = self.screen.join().expect("it only reads");
                return (status.code(), screen);
            }
            if begun.elapsed() > Duration::from_secs(60) {
                let id = self.script.id().to_string();
                let _ = Command::new("pkill").args(["-KILL", "-P", &id]).status();
                let _ = self.script.kill();
                panic!("the program does not end");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// What the terminal is told when a program leaves the screen that it had to itself.
const LEFT: &str = "\x1b[?1049l";

/// Checks that a run ended after an interval, and says how to go on.
fn ended_after_an_interval(workplace: &Workplace, (code, screen): (Option<i32>, String)) {
    assert_eq!(code, Some(130), "{screen}");
    let (_, after) = screen.rsplit_once(LEFT).expect("the dashboard went away");
    assert!(after.contains("--resume run"), "{after}");
    let manifest = workplace.read("run/model/manifest.json");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("it is JSON");
    let updates = manifest["training"]["scores"]["updates"].as_u64();
    assert!(
        updates.is_some_and(|updates| updates > 0 && updates % 10 == 0),
        "{updates:?}"
    );
}

#[test]
fn the_interrupt_key_ends_a_run_after_its_interval() {
    let workplace = Workplace::new();
    let Some(mut terminal) = Terminal::start(&workplace) else {
        return;
    };
    terminal.press(0x03);
    ended_after_an_interval(&workplace, terminal.end());
}

#[test]
fn the_dashboards_own_key_ends_a_run_after_its_interval() {
    let workplace = Workplace::new();
    let Some(mut terminal) = Terminal::start(&workplace) else {
        return;
    };
    terminal.press(b'q');
    terminal.press(b's');
    ended_after_an_interval(&workplace, terminal.end());
}

#[test]
fn what_ended_a_run_is_told_when_the_dashboard_is_gone() {
    let workplace = Workplace::new();
    let Some(terminal) = Terminal::start(&workplace) else {
        return;
    };
    fs::rename(workplace.path("run/checkpoints"), workplace.path("moved")).expect("it is there");
    workplace.write("run/checkpoints", "a file where a folder was");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(1), "{screen}");
    let (_, after) = screen.rsplit_once(LEFT).expect("the dashboard went away");
    assert!(after.contains("error: "), "{after}");
}
