//! Programs that measure: called, listened to, and stopped when they take too long.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::build::Program;
use super::figures::Figures;

/// How a program's end is waited for.
const PAUSE: Duration = Duration::from_millis(100);

/// The programs that `docs/bench_peers.py` can measure.
const PEERS: [&str; 3] = ["pytorch", "pytorch-compile", "ctranslate2"];

/// What is measured, and for how long.
#[derive(Debug)]
pub(super) struct Effort {
    pub(super) preset: String,
    pub(super) n_runs: u32,
    pub(super) seconds: f64,
    /// After which a program is stopped.
    pub(super) limit: Duration,
}

/// Runs the benchmark of one backend.
pub(super) fn ours(program: &Program, effort: &Effort) -> Result<Figures> {
    let mut command = Command::new(&program.path);
    command
        .args([
            &effort.preset,
            &effort.n_runs.to_string(),
            &effort.seconds.to_string(),
        ])
        .env("BURN_DEVICE", &program.backend)
        .envs(program.environment.iter().cloned());
    let size = fs::metadata(&program.path)?.len();
    Ok(Figures {
        backend: program.backend.clone(),
        build_s: Some(program.build_s),
        binary_mib: Some(size as f64 / f64::from(1 << 20)),
        ..measured(&mut command, effort)?
    })
}

/// Checks that a Python has what the programs beside ours need.
pub(super) fn check_peers(root: &Path, python: &Path) -> Result<()> {
    let mut command = Command::new(python);
    command
        .current_dir(root.join("docs"))
        .args(["-c", "import bench_peers, ctranslate2"]);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("`{}` cannot be started", python.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "`{}` cannot measure the peers: {}; docs/bench_peers.txt lists what it needs",
        python.display(),
        last_line(&errors).unwrap_or("no reason given")
    );
    Ok(())
}

/// Runs the benchmarks of the programs beside ours.
pub(super) fn peers(root: &Path, python: &Path, effort: &Effort) -> Vec<Figures> {
    let one = |peer: &&str| {
        let mut command = Command::new(python);
        command
            .arg(root.join("docs/bench_peers.py"))
            .args([*peer, &effort.preset])
            .args([effort.n_runs.to_string(), effort.seconds.to_string()])
            // As glibc is told to do in our programs: keep freed pages.
            .env("MALLOC_MMAP_MAX_", "0")
            .env("MALLOC_TRIM_THRESHOLD_", "17179869184");
        let figures = measured(&mut command, effort);
        Figures {
            backend: (*peer).to_owned(),
            ..figures.unwrap_or_else(|error| Figures::missing(peer, &format!("{error:#}")))
        }
    };
    PEERS.iter().map(one).collect()
}

/// Runs a program until it ends or time is up, and reads what it has printed.
fn measured(command: &mut Command, effort: &Effort) -> Result<Figures> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{}` cannot be started", command.get_program().display()))?;
    let output = child.stdout.take().map(listen);
    let errors = child.stderr.take().map(listen);
    let trouble = wait(&mut child, effort.limit)?;
    let said = |listener: Option<thread::JoinHandle<String>>| {
        listener.and_then(|it| it.join().ok()).unwrap_or_default()
    };
    let (output, errors) = (said(output), said(errors));
    let mut figures =
        Figures::read(output.lines()).context("the benchmark prints other figures")?;
    figures.trouble = trouble.map(|trouble| match last_line(&errors) {
        Some(line) => format!("{trouble}: {line}"),
        None => trouble,
    });
    Ok(figures)
}

/// Reads all that a program prints, on a thread of its own.
fn listen(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A program that is stopped leaves what it has printed.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a program and returns what went wrong with it, if anything.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<String>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!status.success()).then(|| format!("it ended with {status}")));
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            let minutes = limit.as_secs_f64() / 60.0;
            return Ok(Some(format!("it was stopped after {minutes:.0} minutes")));
        }
        thread::sleep(PAUSE);
    }
}

/// Returns the last line that says something, without the word that errors begin with.
fn last_line(text: &str) -> Option<&str> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.trim_start_matches("Error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effort(limit: Duration) -> Effort {
        Effort {
            preset: "tiny".to_owned(),
            n_runs: 1,
            seconds: 1.0,
            limit,
        }
    }

    /// Measures what a line of shell prints.
    fn shell(line: &str, limit: Duration) -> Figures {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        measured(&mut command, &effort(limit)).expect("there is a shell")
    }

    #[test]
    fn a_program_that_fails_leaves_what_it_had_measured() {
        let line = r#"echo '{"threads":2}'; echo 'Error: no adapter' >&2; exit 1"#;
        let figures = shell(line, Duration::from_secs(60));
        assert_eq!(figures.threads, Some(2));
        let trouble = figures.trouble.expect("it failed");
        assert!(trouble.ends_with(": no adapter"), "{trouble}");
    }

    #[test]
    fn a_program_that_gets_stuck_is_stopped() {
        let figures = shell(
            r#"echo '{"threads":2}'; exec sleep 600"#,
            Duration::from_millis(300),
        );
        assert_eq!(figures.threads, Some(2));
        assert!(
            figures
                .trouble
                .is_some_and(|trouble| trouble.contains("stopped"))
        );
    }
}
