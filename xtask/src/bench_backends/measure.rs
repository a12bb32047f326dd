//! Runs the programs that measure, reads their output, and stops those that take too long.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::build::Program;
use super::figures::{Figures, Kind};

/// The interval at which a program's end is polled.
const PAUSE: Duration = Duration::from_millis(100);

/// What is measured, and for how long.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) preset: String,
    /// The number of turns of each program.
    pub(super) n_rounds: u32,
    pub(super) seconds: f64,
    /// The time limit of all turns of a program together.
    pub(super) limit: Duration,
}

/// A program that is measured in turns, and its figures so far.
#[derive(Debug)]
pub(super) struct Contender {
    figures: Figures,
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    n_turns: u32,
    /// The duration of all turns.
    used: Duration,
}

impl Contender {
    /// Returns the benchmark of one backend.
    pub(super) fn ours(program: Program) -> Result<Self> {
        let size = fs::metadata(&program.path)?.len();
        let mut environment = program.environment;
        environment.push(("BURN_DEVICE", program.backend.clone().into()));
        Ok(Self {
            figures: Figures {
                backend: program.backend,
                build_s: program.build_s,
                binary_mib: Some(size as f64 / f64::from(1 << 20)),
                ..Figures::default()
            },
            program: program.path.into(),
            arguments: Vec::new(),
            environment,
            n_turns: 0,
            used: Duration::ZERO,
        })
    }

    /// Returns the benchmark of another program.
    pub(super) fn beside(
        name: &str,
        program: &Path,
        arguments: Vec<OsString>,
        environment: Vec<(&'static str, OsString)>,
    ) -> Self {
        Self {
            figures: Figures {
                backend: name.to_owned(),
                ..Figures::default()
            },
            program: program.into(),
            arguments,
            environment,
            n_turns: 0,
            used: Duration::ZERO,
        }
    }

    /// Returns a program that cannot be measured, with the reason.
    pub(super) fn missing(backend: &str, why: &str) -> Self {
        Self {
            figures: Figures::missing(backend, why),
            program: OsString::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            n_turns: 0,
            used: Duration::ZERO,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.figures.backend
    }

    /// Returns why nothing more can be measured.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.figures.trouble.as_deref()
    }

    /// Measures once more, unless that would exceed the limit: this is noted, and the figures so far stay.
    pub(super) fn take_turn(&mut self, plan: &Plan) {
        let a_turn = self.used.checked_div(self.n_turns).unwrap_or_default();
        if self.used + a_turn > plan.limit {
            self.figures.trouble = Some(format!(
                "{} of {} runs, as each takes {:.0} s and --limit is {:.0} minutes",
                self.n_turns,
                plan.n_rounds,
                a_turn.as_secs_f64(),
                minutes(plan.limit)
            ));
            return;
        }
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .args([&plan.preset, "1", &plan.seconds.to_string()])
            .envs(self.environment.iter().cloned());
        let started = Instant::now();
        match measured(&mut command, plan.limit, self.used) {
            Ok(turn) => self.figures.merge(turn),
            Err(error) => self.figures.trouble = Some(format!("{error:#}")),
        }
        self.used += started.elapsed();
        self.n_turns += 1;
    }

    /// Measures memory during updates of varying shapes, with a limit of their own.
    pub(super) fn vary(&mut self, plan: &Plan, n_updates: u64) {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .args([&plan.preset, "varied", &n_updates.to_string()])
            .envs(self.environment.iter().cloned());
        self.figures.n_varied = Some(n_updates);
        let trouble = match measured(&mut command, plan.limit, Duration::ZERO) {
            Ok(found) => {
                self.figures.varied = found.varied;
                found.trouble
            }
            Err(error) => Some(format!("{error:#}")),
        };
        let trouble = trouble.map(|trouble| format!("of varied updates: {trouble}"));
        let all: Vec<String> = self
            .figures
            .trouble
            .take()
            .into_iter()
            .chain(trouble)
            .collect();
        self.figures.trouble = (!all.is_empty()).then(|| all.join("; "));
    }

    /// Returns whether there is a program to run.
    pub(super) fn is_built(&self) -> bool {
        !self.program.is_empty()
    }

    pub(super) fn kind(&self) -> Kind {
        self.figures.kind()
    }

    pub(super) fn figures(&self) -> &Figures {
        &self.figures
    }
}

/// Runs a program until it ends or the rest of `limit` is over, and reads the figures that it printed.
fn measured(command: &mut Command, limit: Duration, used: Duration) -> Result<Figures> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{}` cannot be started", command.get_program().display()))?;
    let output = child.stdout.take().map(listen);
    let errors = child.stderr.take().map(listen);
    let trouble = wait(&mut child, limit, used)?;
    let text = |listener: Option<thread::JoinHandle<String>>| {
        listener.and_then(|it| it.join().ok()).unwrap_or_default()
    };
    let (output, errors) = (text(output), text(errors));
    let mut figures =
        Figures::read(output.lines()).context("the benchmark printed unknown figures")?;
    figures.trouble = trouble.map(|trouble| match (trouble, last_line(&errors)) {
        (Trouble::Failed(status), Some(line)) => format!("it ended with {status}: {line}"),
        (Trouble::Failed(status), None) => format!("it ended with {status}"),
        // Its last line does not explain the stop.
        (Trouble::Stopped, _) => format!("it was stopped after {:.0} minutes", minutes(limit)),
    });
    Ok(figures)
}

/// Reads the output of a program on a thread of its own.
fn listen(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The output of a stopped program ends where it was stopped.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Why a program did not succeed.
#[derive(Debug)]
pub(crate) enum Trouble {
    Failed(ExitStatus),
    Stopped,
}

/// Waits for a program, stops it at the limit, and returns what went wrong, if anything.
pub(crate) fn wait(child: &mut Child, limit: Duration, used: Duration) -> Result<Option<Trouble>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!status.success()).then_some(Trouble::Failed(status)));
        }
        if used + started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Some(Trouble::Stopped));
        }
        thread::sleep(PAUSE);
    }
}

fn minutes(duration: Duration) -> f64 {
    duration.as_secs_f64() / 60.0
}

/// Returns the last line that is not blank, without the prefix of errors.
pub(super) fn last_line(text: &str) -> Option<&str> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.trim_start_matches("Error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures with a line of shell.
    fn shell(line: &str, limit: Duration) -> Figures {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        measured(&mut command, limit, Duration::ZERO).expect("there is a shell")
    }

    #[test]
    fn the_figures_of_a_program_that_fails_later_are_kept() {
        let line = r#"echo '{"threads":2}'; echo 'Error: no adapter' >&2; exit 1"#;
        let figures = shell(line, Duration::from_secs(60));
        assert_eq!(figures.threads, Some(2));
        let trouble = figures.trouble.expect("it failed");
        assert!(trouble.ends_with(": no adapter"), "{trouble}");
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
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

    fn contender(line: &str) -> Contender {
        let arguments = vec!["-c".into(), line.into()];
        Contender::beside("sh", Path::new("sh"), arguments, Vec::new())
    }

    fn plan(limit: Duration) -> Plan {
        Plan {
            preset: "tiny".to_owned(),
            n_rounds: 2,
            seconds: 1.0,
            limit,
        }
    }

    #[test]
    fn every_turn_adds_a_value() {
        let line = r#"echo '{"training":{"labels":8.0,"tokens_per_second":[5.0]}}'"#;
        let mut shell = contender(line);
        let minute = plan(Duration::from_secs(60));
        shell.take_turn(&minute);
        shell.take_turn(&minute);
        assert_eq!(shell.trouble(), None);
        let training = shell.figures().training.clone().expect("it was printed");
        assert_eq!(training.tokens_per_second, [5.0, 5.0]);
    }

    #[test]
    fn turns_share_one_limit() {
        let mut shell = contender("exec sleep 600");
        shell.used = Duration::from_secs(59);
        shell.take_turn(&plan(Duration::from_secs(60)));
        let trouble = shell.trouble().expect("no time is left");
        assert!(trouble.contains("stopped after 1 minutes"), "{trouble}");
    }

    #[test]
    fn a_turn_that_would_exceed_the_limit_is_not_started() {
        let line = r#"echo '{"threads":2}'"#;
        let mut shell = contender(line);
        (shell.n_turns, shell.used) = (1, Duration::from_secs(40));
        shell.take_turn(&plan(Duration::from_secs(60)));
        let expected = "1 of 2 runs, as each takes 40 s and --limit is 1 minutes";
        assert_eq!(shell.trouble(), Some(expected));
        assert_eq!(shell.figures().threads, None);
    }

    #[test]
    fn varied_updates_have_their_own_limit_and_change_nothing_else() {
        let line =
            r#"echo '{"threads":2,"varied":{"update":8,"memory_mib":5.0,"gpu_memory_mib":1.0}}'"#;
        let mut shell = contender(line);
        shell.used = Duration::from_secs(59);
        shell.vary(&plan(Duration::from_secs(60)), 8);
        assert_eq!(shell.trouble(), None);
        let figures = shell.figures();
        assert_eq!((figures.n_varied, figures.threads), (Some(8), None));
        assert_eq!(figures.varied[0].gpu_memory_mib, Some(1.0));
    }

    #[test]
    fn failed_varied_updates_are_reported() {
        let mut shell = contender("echo 'Error: out of memory' >&2; exit 1");
        shell.figures.trouble = Some("1 of 2 runs".to_owned());
        shell.vary(&plan(Duration::from_secs(60)), 8);
        let trouble = shell.trouble().expect("it failed");
        let both = "1 of 2 runs; of varied updates: ";
        assert!(trouble.starts_with(both), "{trouble}");
        assert!(trouble.ends_with("out of memory"), "{trouble}");
    }
}
