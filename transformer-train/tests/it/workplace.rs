//! A temporary folder with settings and a small corpus, in which tests run the program.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::ChildStderr;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use serde_json::Value;
use tempfile::TempDir;
use transformer_core::directory::FileEntry;
use transformer_core::{ModelDirectory, device};
use transformer_search::Search;
use transformer_translate::Translator;

/// A model that trains in milliseconds, on files.
pub(crate) const CONFIG: &str = r#"
[data]
max_len = 13
valid_pairs = 3

[tokenizer]
kind = "char"
vocab_size = 40

[model]
preset = "tiny"
d_model = 16
d_ff = 24
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1

[training]
updates = 25
tokens_per_batch = 61
warmup_steps = 15
validation_interval = 10
average_last = 2

[validation]
max_sentences = 2
max_extra_len = 1
"#;

/// Number of lines in `a.src` and `b.tgt`.
pub(crate) const N_PAIRS: usize = 47;

/// A temporary folder that holds `run.toml`, which is [`CONFIG`], and a corpus: `a.src`, `b.tgt`.
pub(crate) struct Workplace(TempDir);

/// The exit code and output of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running program.
pub(crate) struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        let workplace = Self(tempfile::tempdir().expect("the system has temporary directories"));
        workplace.write("run.toml", CONFIG);
        let (src, tgt): (Vec<_>, Vec<_>) = pairs().into_iter().unzip();
        workplace.write("a.src", src.join("\n") + "\n");
        workplace.write("b.tgt", tgt.join("\n") + "\n");
        workplace
    }

    /// Makes a workplace whose config has some text replaced.
    pub(crate) fn with(replacements: &[(&str, &str)]) -> Self {
        let workplace = Self::new();
        let mut config = CONFIG.to_owned();
        for (from, to) in replacements {
            assert!(config.contains(from), "the config has no `{from}`");
            config = config.replace(from, to);
        }
        workplace.write("run.toml", config);
        workplace
    }

    /// Makes a workplace with a trained model in `base`, and settings without a model or tokenizer in
    /// `tune.toml`, where `section` stands in their place.
    pub(crate) fn with_base(section: &str) -> Self {
        let workplace = Self::new();
        workplace.train("base", &[]).lines();
        let config = workplace.read("run.toml");
        let (before, from_model) = config
            .split_once("[tokenizer]")
            .expect("the config has a tokenizer");
        let (_, training) = from_model
            .split_once("[training]")
            .expect("and says how to train it");
        workplace.write(
            "tune.toml",
            format!("{before}{section}[training]{training}"),
        );
        workplace
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("the temporary directory is writable");
    }

    /// Flips one bit of the byte at `index`, which counts from the end if it is negative.
    pub(crate) fn damage(&self, name: &str, index: isize) {
        let mut bytes = fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let from = if index < 0 { bytes.len() } else { 0 };
        bytes[from.wrapping_add_signed(index)] ^= 1;
        self.write(name, bytes);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there, as UTF-8")
    }

    /// Reads the manifest of a model directory.
    pub(crate) fn manifest(&self, model: &str) -> Value {
        let text = self.read(&format!("{model}/manifest.json"));
        serde_json::from_str(&text).expect("the manifest is JSON")
    }

    /// Writes a JSON file that has its own SHA-256 in the field `sha256`.
    pub(crate) fn write_hashed(&self, name: &str, mut json: Value) {
        json["sha256"] = "".into();
        let text = serde_json::to_string_pretty(&json).expect("a value can be written");
        let hash = FileEntry::new(String::new(), text.as_bytes()).sha256;
        let field = |hash: &str| format!("\"sha256\": \"{hash}\"");
        self.write(name, text.replacen(&field(""), &field(&hash), 1));
    }

    /// Replaces text in a JSON file that has its own SHA-256, and renews the hash.
    pub(crate) fn edit_hashed(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{text}");
        let edited = serde_json::from_str(&text.replace(from, to)).expect("it is JSON");
        self.write_hashed(name, edited);
    }

    /// Returns the command of the program, with the workplace as its working directory.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        self.command(env!("CARGO_BIN_EXE_transformer-train"), arguments)
    }

    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.program(arguments).output();
        Ended::new(output.expect("cargo has built the program"))
    }

    /// Trains on the corpus of the workplace, into the folder `out`.
    pub(crate) fn train(&self, out: &str, more: &[&str]) -> Ended {
        self.run(&[&training(out), more].concat())
    }

    /// As [`train`](Self::train), with bytes on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = self
            .program(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("cargo has built the program");
        let mut stdin = child.stdin.take().expect("standard input is piped");
        // The program may end without reading.
        let _ = stdin.write_all(input);
        drop(stdin);
        Ended::new(child.wait_with_output().expect("the program ends"))
    }

    /// Starts a run of `n_updates`.
    pub(crate) fn start(&self, out: &str, n_updates: u64) -> Running {
        let n_updates = n_updates.to_string();
        let updates = ["--updates", &n_updates];
        Running::new(self.program(&[&training(out)[..], &updates].concat()))
    }

    /// Returns every weight of the model in the folder `out`.
    pub(crate) fn weights(&self, out: &str) -> Vec<Vec<f32>> {
        weights(&self.path(out))
    }

    /// Returns whether the folder `out` has a model that translates.
    pub(crate) fn translates(&self, out: &str) -> bool {
        let device = test_device();
        let translator = Translator::open(self.path(out), &device);
        translator.is_ok_and(|translator| {
            translator
                .translate_with(&["1011", "1"], &Search::default())
                .is_ok()
        })
    }
}

impl Ended {
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Checks that the program succeeded, and returns the lines that it printed.
    pub(crate) fn lines(&self) -> Vec<&str> {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self.stdout.lines().collect()
    }

    /// Returns the lines of the intervals.
    pub(crate) fn intervals(&self) -> Vec<&str> {
        let mut lines = self.lines();
        lines.retain(|line| line.starts_with("update "));
        lines
    }

    /// Checks that the program failed with one line on standard error, and returns its message.
    pub(crate) fn failure(&self) -> &str {
        assert_eq!(self.code, Some(1), "{self:?}");
        let message = self.stderr.strip_prefix("error: ");
        let message = message.and_then(|message| message.strip_suffix('\n'));
        match message {
            Some(message) if !message.contains('\n') => message,
            _ => panic!("not one line that starts with `error: `: {self:?}"),
        }
    }
}

impl Running {
    pub(crate) fn new(mut command: Command) -> Self {
        let mut child = command.spawn().expect("cargo has built the program");
        let stdout = child.stdout.take().expect("standard output is piped");
        Self {
            child,
            lines: BufReader::new(stdout).lines(),
        }
    }

    /// Waits until `n_intervals` are logged.
    pub(crate) fn wait_for_intervals(&mut self, n_intervals: usize) {
        for _ in 0..n_intervals {
            self.wait_for("update ");
        }
    }

    /// Waits for a line with this start.
    pub(crate) fn wait_for(&mut self, start: &str) {
        loop {
            let line = self.lines.next().expect("the program is still running");
            if line.expect("the output is UTF-8").starts_with(start) {
                return;
            }
        }
    }

    /// Waits for a line with this start on standard error, and returns the rest of its lines; dropping them closes it.
    #[cfg(unix)]
    pub(crate) fn wait_for_error(&mut self, start: &str) -> Lines<BufReader<ChildStderr>> {
        let stderr = self.child.stderr.take().expect("standard error is piped");
        let mut lines = BufReader::new(stderr).lines();
        while let Some(line) = lines.next() {
            if line.expect("the output is UTF-8").starts_with(start) {
                return lines;
            }
        }
        panic!("the program ended without `{start}`");
    }

    /// Returns the number of the process.
    #[cfg(feature = "mpi")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts the program, as Ctrl-C does.
    #[cfg(unix)]
    pub(crate) fn interrupt(&self) {
        let kill = format!("kill -INT {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("there is a shell").success());
    }

    /// Kills the program.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the program is still running");
        self.child.wait().expect("the program was killed");
    }

    /// Kills the program after a time, and returns whether it was still running.
    pub(crate) fn kill_after(mut self, time: Duration) -> bool {
        thread::sleep(time);
        let _ = self.child.kill();
        let output = self.child.wait_with_output().expect("the program ended");
        match output.status.code() {
            None => true,
            Some(0) => false,
            Some(_) => panic!("it failed by itself: {:?}", Ended::new(output)),
        }
    }

    /// Waits for the end of the program, and returns the output that was not read yet.
    pub(crate) fn wait(self) -> Ended {
        let Self { child, lines } = self;
        let lines: Result<Vec<String>, _> = lines.collect();
        let output = child.wait_with_output().expect("the program ends");
        Ended {
            stdout: lines.expect("the output is UTF-8").join("\n"),
            ..Ended::new(output)
        }
    }

    /// Closes the program's standard output, waits for its end, and returns its standard error.
    pub(crate) fn close_output(self) -> Ended {
        let Self { child, lines } = self;
        drop(lines);
        Ended::new(child.wait_with_output().expect("the program ends"))
    }
}

/// The arguments for the config and the corpus of a workplace.
pub(crate) const FILES: [&str; 6] = ["--config", "run.toml", "--src", "a.src", "--tgt", "b.tgt"];

pub(crate) fn training(out: &str) -> Vec<&str> {
    [&FILES[..], &["--threads", "1", "--out", out]].concat()
}

/// Returns the device of the backend that BURN_DEVICE names, as the programs do.
pub(crate) fn test_device() -> Device {
    let named = std::env::var("BURN_DEVICE").ok();
    let chosen = device::choose(named.as_deref());
    chosen.expect("tests are built with a backend").1
}

/// Returns binary numbers and the same in base eight: sides of odd and unequal lengths.
pub(crate) fn pairs() -> Vec<(String, String)> {
    let numbers = (0..N_PAIRS).map(|number| number * number + 5);
    numbers
        .map(|number| (format!("{number:b}"), format!("{number:o}")))
        .collect()
}

/// Returns every weight of a model directory.
pub(crate) fn weights(path: &Path) -> Vec<Vec<f32>> {
    let device = test_device();
    let directory = ModelDirectory::open(path).expect("the directory holds a model");
    let model = directory
        .load(&device)
        .expect("the weights are the model's");
    let mut values = Values(Vec::new());
    model.visit(&mut values);
    assert!(values.0.iter().flatten().all(|value| value.is_finite()));
    values.0
}

/// Collects the values of the parameters of a module.
struct Values(Vec<Vec<f32>>);

impl ModuleVisitor for Values {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let values = param.val().into_data();
        self.0.push(values.iter::<f32>().collect());
    }
}
