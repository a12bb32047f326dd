//! [`Contender`]: a program that is built and measured in turns.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::figures::Figures;
use super::flags::{Flags, name};
use crate::libtorch;
use crate::process::{Environment, call, cargo, output, run_until, target_folder};

/// A program, and its figures so far.
#[derive(Debug, Default)]
pub(super) struct Contender {
    pub(super) figures: Figures,
    /// `None` if it cannot be measured; the figures say why.
    pub(super) program: Option<PathBuf>,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Environment,
    pub(super) n_turns: u32,
    pub(super) used: Duration,
}

impl Contender {
    /// Returns a program that cannot be measured, with the reason.
    pub(super) fn missing(backend: &str, why: &str) -> Self {
        Self {
            figures: Figures::missing(backend, why),
            ..Self::default()
        }
    }

    /// Builds the benchmark for one backend as a user does, and puts the program into a folder; an archive of another
    /// machine has it.
    ///
    /// It contains the default backend too: burn-train depends on burn-flex in any case, and with other features it
    /// would be compiled a second time.
    pub(super) fn build(root: &Path, backend: &str, out: &Path, flags: &Flags) -> Result<Self> {
        let mut environment = Vec::new();
        let mut build_s = None;
        let file = format!("bench_backend{}", env::consts::EXE_SUFFIX);
        let program = if let Some(folder) = &flags.plan.programs {
            let program = folder.join(file);
            ensure!(program.is_file(), "there is no `{}`", program.display());
            program.canonicalize()?
        } else {
            eprintln!("==> building {backend}");
            environment = self::environment(root, backend)?;
            let started = Instant::now();
            let arguments =
                format!("build -p examples --example bench_backend --features {backend}");
            let mut build = cargo(root, &arguments);
            call(build.envs(environment.iter().cloned())).context("the build failed, see above")?;
            build_s = Some(started.elapsed().as_secs_f64());
            let built = target_folder(root)?.join("debug/examples").join(&file);
            let program = out.join(format!("{backend}-{file}"));
            let copied = fs::copy(&built, &program);
            copied.with_context(|| format!("cannot copy `{}`", built.display()))?;
            program
        };
        environment.push(("BURN_DEVICE", backend.into()));
        let figures = Figures {
            backend: backend.to_owned(),
            build_s,
            binary_mib: Some(fs::metadata(&program)?.len() as f64 / f64::from(1 << 20)),
            ..Figures::default()
        };
        Ok(Self {
            figures,
            program: Some(program),
            environment,
            ..Self::default()
        })
    }

    /// Measures once more, unless that would exceed the limit: this is noted, and the figures so far stay.
    pub(super) fn take_turn(&mut self, flags: &Flags) {
        let plan = &flags.plan;
        let a_turn = self.used.checked_div(self.n_turns).unwrap_or_default();
        if self.used + a_turn > plan.limit {
            let (n, seconds, minutes) = (self.n_turns, a_turn.as_secs_f64(), minutes(plan.limit));
            self.figures.trouble = Some(format!(
                "{n} of {} runs, as each takes {seconds:.0} s and --limit is {minutes:.0} minutes",
                plan.runs
            ));
            return;
        }
        let started = Instant::now();
        let turn = self.measure(flags, ["1", &plan.seconds.to_string()], self.used);
        self.figures.merge(turn);
        self.used += started.elapsed();
        self.n_turns += 1;
    }

    /// Measures memory during updates of varying shapes, with a limit of their own.
    pub(super) fn vary(&mut self, flags: &Flags, n_updates: u64) {
        eprintln!("==> {n_updates} varied updates: {}", self.figures.backend);
        let found = self.measure(flags, ["varied", &n_updates.to_string()], Duration::ZERO);
        let figures = &mut self.figures;
        (figures.n_varied, figures.varied) = (Some(n_updates), found.varied);
        let trouble = found.trouble.map(|it| format!("of varied updates: {it}"));
        let troubles = figures.trouble.take().into_iter().chain(trouble);
        figures.trouble = troubles.reduce(|before, this| format!("{before}; {this}"));
    }

    /// Runs the program until it ends or the rest of the limit is over, and reads the figures that it printed.
    fn measure(&self, flags: &Flags, work: [&str; 2], used: Duration) -> Figures {
        let limit = flags.plan.limit;
        let mut command = Command::new(self.program.as_deref().unwrap_or(Path::new("")));
        command.args(&self.arguments).arg(name(&flags.preset));
        command.args(work).envs(self.environment.iter().cloned());
        let mut measured = || -> Result<Figures> {
            let mut log = tempfile::tempfile()?;
            let (status, printed) = run_until(&mut command, limit.saturating_sub(used), &mut log)?;
            let figures = Figures::read(&printed);
            let mut figures = figures.context("the benchmark printed unknown figures")?;
            figures.trouble = match status {
                Some(status) if status.success() => None,
                Some(status) => {
                    let reason = last_line(&printed).map(|it| format!(": {it}"));
                    Some(format!(
                        "it ended with {status}{}",
                        reason.unwrap_or_default()
                    ))
                }
                // Its last line does not explain the stop.
                None => Some(format!(
                    "it was stopped after {:.0} minutes",
                    minutes(limit)
                )),
            };
            Ok(figures)
        };
        measured().unwrap_or_else(|error| Figures::missing("", &format!("{error:#}")))
    }
}

/// Returns the environment variables that a backend needs for its build and its runs, or the reason why it cannot run
/// here, if that is known without a build.
pub(crate) fn environment(root: &Path, backend: &str) -> Result<Environment> {
    match backend {
        "cuda" if !answers("nvidia-smi") => {
            bail!("no NVIDIA driver: `nvidia-smi -L` does not answer")
        }
        "rocm" if !Path::new("/dev/kfd").exists() => bail!("no ROCm driver: there is no /dev/kfd"),
        "metal" if !cfg!(target_os = "macos") => bail!("Metal needs macOS"),
        "tch" => libtorch::environment(root),
        _ => Ok(Vec::new()),
    }
}

/// Returns whether a program succeeds in listing devices.
pub(super) fn answers(program: &str) -> bool {
    output(Command::new(program).arg("-L")).is_ok()
}

fn minutes(duration: Duration) -> f64 {
    duration.as_secs_f64() / 60.0
}

/// Returns the last line that is neither blank nor figures, without the prefix of errors.
pub(super) fn last_line(text: &str) -> Option<&str> {
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with('{');
    let line = text.lines().map(str::trim).rfind(is_text)?;
    Some(line.trim_start_matches("Error: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    impl Contender {
        /// Returns a line of shell that is measured.
        pub(in crate::bench_backends) fn shell(line: &str) -> Self {
            Self {
                program: Some("sh".into()),
                arguments: vec!["-c".into(), line.into()],
                ..Self::default()
            }
        }
    }

    /// Measures once with a line of shell.
    fn shell(line: &str, limit: &str) -> Figures {
        let mut shell = Contender::shell(line);
        shell.take_turn(&Flags::of(&["--limit", limit]));
        shell.figures
    }

    #[test]
    fn the_figures_of_a_program_that_fails_later_are_kept() {
        let line = r#"echo '{"threads":2}'; echo 'Error: no adapter' >&2; exit 1"#;
        let figures = shell(line, "1");
        assert_eq!(figures.threads, Some(2));
        let trouble = figures.trouble.expect("it failed");
        assert!(trouble.ends_with(": no adapter"), "{trouble}");
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let figures = shell(r#"echo '{"threads":2}'; exec sleep 600"#, "0.005");
        assert_eq!(figures.threads, Some(2));
        assert!(
            figures
                .trouble
                .is_some_and(|trouble| trouble.contains("stopped"))
        );
    }

    fn two_runs() -> Flags {
        Flags::of(&["--runs", "2", "--limit", "1"])
    }

    #[test]
    fn every_turn_adds_a_value() {
        let line = r#"echo '{"training":{"labels":8.0,"tokens_per_second":[5.0]}}'"#;
        let mut shell = Contender::shell(line);
        shell.take_turn(&two_runs());
        shell.take_turn(&two_runs());
        assert_eq!(shell.figures.trouble, None);
        let training = shell.figures.training.expect("it was printed");
        assert_eq!(training.tokens_per_second, [5.0, 5.0]);
    }

    #[test]
    fn turns_share_one_limit() {
        let mut shell = Contender::shell("exec sleep 600");
        shell.used = Duration::from_secs(59);
        shell.take_turn(&two_runs());
        let trouble = shell.figures.trouble.as_deref().expect("no time is left");
        assert!(trouble.contains("stopped after 1 minutes"), "{trouble}");
    }

    #[test]
    fn a_turn_that_would_exceed_the_limit_is_not_started() {
        let line = r#"echo '{"threads":2}'"#;
        let mut shell = Contender::shell(line);
        (shell.n_turns, shell.used) = (1, Duration::from_secs(40));
        shell.take_turn(&two_runs());
        let expected = "1 of 2 runs, as each takes 40 s and --limit is 1 minutes";
        assert_eq!(shell.figures.trouble.as_deref(), Some(expected));
        assert_eq!(shell.figures.threads, None);
    }

    #[test]
    fn varied_updates_have_their_own_limit_and_change_nothing_else() {
        let line =
            r#"echo '{"threads":2,"varied":[{"update":8,"memory_mib":5.0,"gpu_memory_mib":1.0}]}'"#;
        let mut shell = Contender::shell(line);
        shell.used = Duration::from_secs(59);
        shell.vary(&two_runs(), 8);
        assert_eq!(shell.figures.trouble.as_deref(), None);
        let figures = &shell.figures;
        assert_eq!((figures.n_varied, figures.threads), (Some(8), None));
        assert_eq!(figures.varied[0].gpu_memory_mib, Some(1.0));
    }

    #[test]
    fn failed_varied_updates_are_reported() {
        let mut shell = Contender::shell("echo 'Error: out of memory' >&2; exit 1");
        shell.figures.trouble = Some("1 of 2 runs".to_owned());
        shell.vary(&two_runs(), 8);
        let trouble = shell.figures.trouble.as_deref().expect("it failed");
        let both = "1 of 2 runs; of varied updates: ";
        assert!(trouble.starts_with(both), "{trouble}");
        assert!(trouble.ends_with("out of memory"), "{trouble}");
    }
}
