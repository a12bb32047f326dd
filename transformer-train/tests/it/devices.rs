//! Training on several devices gives the results of training on one device with the same batches.

#![expect(
    clippy::print_stdout,
    reason = "the log shows skipped tests and the differences between curves"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use transformer_core::device::{self, Backend};
use transformer_train::config::Experiment;
use transformer_train::step::ranks::Ranks;
use transformer_train::{Display, Existing, Interrupt, RunEnvironment, ThreadCount, train};

use crate::workplace::{Ended, Workplace, test_device};

/// Number of batches per update, on all devices together.
const N_BATCHES: u64 = 4;

/// The folder from which every run resumes, after one interval on one device. It is of another process: here, other
/// tests draw from the same generator of initial weights.
const START: &str = "start";

/// The number of threads, on which results depend.
const N_THREADS: usize = 2;

/// Trains on the corpus of the workplace until `n_updates` updates are done.
fn train_on(workplace: &Workplace, out: &str, devices: &[Device], n_updates: u64) {
    let path = workplace.path("run.toml");
    let mut experiment = Experiment::from_toml(&path).expect("the config is right");
    experiment.data.src = Some(workplace.path("a.src"));
    experiment.data.tgt = Some(workplace.path("b.tgt"));
    experiment.training.updates = n_updates;
    experiment.training.devices = devices.len() as u64;
    experiment.training.accumulate = N_BATCHES / devices.len() as u64;
    let environment = RunEnvironment {
        directory: workplace.path(out),
        existing: Existing::Resume,
        device: devices[0].clone(),
        more_devices: devices[1..].to_vec(),
        ranks: Ranks::default(),
        threads: ThreadCount::Exactly(N_THREADS),
        log: Arc::new(|_| {}),
        display: Display::Lines,
        status: None,
        interrupt: Interrupt::default(),
    };
    train(&experiment, &environment).expect("the corpus can be trained on");
}

/// Starts a run with the settings whose results could depend on the number of devices: clipping by
/// the global norm, a moving average, and dropout.
fn start_run(dropout: f64, backend: Option<&str>) -> Workplace {
    // Four devices sum their gradients in varying order. ReLU's derivative is discontinuous and
    // would amplify the rounding; SiLU's is not.
    let model = format!("n_heads = 2\nactivation = \"silu\"\ndropout = {dropout}");
    let training = "warmup_steps = 15\nclip_norm = 0.5\nema_decay = 0.9";
    let workplace = Workplace::with(&[("n_heads = 2", &model), ("warmup_steps = 15", training)]);
    let [src, tgt] = ["a.src", "b.tgt"].map(|name| workplace.path(name).display().to_string());
    let (batches, threads) = (
        format!("training.accumulate={N_BATCHES}"),
        N_THREADS.to_string(),
    );
    let arguments = [
        ["--config", "run.toml"],
        ["--src", &src],
        ["--tgt", &tgt],
        ["--set", &batches],
        ["--updates", "10"],
        ["--threads", &threads],
        ["--out", START],
    ];
    let mut program = workplace.program(&arguments.concat());
    let program = program.envs(backend.map(|name| ("BURN_DEVICE", name)));
    Ended::new(program.output().expect("cargo has built the program")).lines();
    workplace
}

/// Resumes the run until update 25 on `devices`, and returns the rows of `metrics.csv` without
/// timings.
fn curve(workplace: &Workplace, out: &str, devices: &[Device]) -> Vec<(String, f64)> {
    copy_folder(&workplace.path(START), &workplace.path(out));
    train_on(workplace, out, devices, 25);
    metrics(workplace, out)
}

/// Returns the rows of a run's `metrics.csv` without timings.
pub(crate) fn metrics(workplace: &Workplace, out: &str) -> Vec<(String, f64)> {
    let table = workplace.read(&format!("{out}/metrics.csv"));
    let split = |row: &str| {
        let (name, value) = row.rsplit_once(',').expect("a row has four columns");
        (name.to_owned(), value.parse().expect("values are numbers"))
    };
    let rows = table.lines().skip(1);
    rows.filter(|row| !row.contains("tokens/s") && !row.contains("Waiting"))
        .map(split)
        .collect()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).expect("the temporary directory is writable");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, target).expect("the file can be copied");
        }
    }
}

/// Checks that two curves are equal within a relative tolerance.
pub(crate) fn assert_same_curve(one: &[(String, f64)], several: &[(String, f64)], tolerance: f64) {
    let names = |curve: &[(String, f64)]| -> Vec<String> {
        curve.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(one), names(several));
    for metric in ["train,Loss", "train,Gradient norm", "valid,Perplexity"] {
        let rows = one.iter().filter(|(name, _)| name.ends_with(metric));
        assert_eq!(rows.count(), 3, "{metric} of three intervals");
    }
    let difference = |a: f64, b: f64| (a - b).abs() / a.abs().max(1e-3);
    let mut largest: f64 = 0.0;
    for ((name, a), (_, b)) in one.iter().zip(several) {
        let close = difference(*a, *b) <= tolerance;
        assert!(
            close,
            "{name}: {a} alone, {b} on several devices or processes"
        );
        largest = largest.max(difference(*a, *b));
    }
    println!("the curves differ by at most {largest:.1e}");
}

/// Using one device several times tests everything except transfers between devices.
#[test]
fn one_device_used_several_times_gives_the_curve_of_a_single_device() {
    let device = test_device();
    if !device::is_rust_cpu(&device) {
        println!(
            "skipped: on {device:?}, dropout or rounding depends on the order of operations or on shapes"
        );
        return;
    }
    let workplace = start_run(0.2, None);
    let one = curve(&workplace, "one", std::slice::from_ref(&device));
    for n_devices in [2, 4] {
        let devices = vec![device.clone(); n_devices];
        let several = curve(&workplace, &format!("of-{n_devices}"), &devices);
        // The same sums in a different order, in single precision, over 15 updates of Adam.
        assert_same_curve(&one, &several, 1e-4);
    }
}

#[test]
fn two_devices_give_the_curve_of_a_single_device() {
    let compiled = Backend::compiled();
    let [first, second, ..] = compiled.as_slice() else {
        println!("skipped: only one backend is compiled in, {compiled:?}, with one device");
        return;
    };
    let open = |backend: &Backend| device::choose(Some(backend.name()));
    let devices = match (open(first), open(second)) {
        (Ok((_, first)), Ok((_, second))) => [first, second],
        (Err(error), _) | (_, Err(error)) => {
            println!("skipped: {error}");
            return;
        }
    };
    let is_quick = std::env::var_os("RUN_SLOW_TESTS").is_none_or(|value| value != "1");
    if is_quick && !devices.iter().all(device::is_rust_cpu) {
        println!("skipped: {devices:?} may take minutes; set RUN_SLOW_TESTS=1 to run it");
        return;
    }
    let workplace = start_run(0.0, Some(first.name()));
    let one = curve(&workplace, "one", &devices[..1]);
    let two = curve(&workplace, "two", &devices);
    // Two backends round differently from the first matrix product on.
    assert_same_curve(&one, &two, 1e-3);
}

#[test]
fn requesting_more_devices_than_exist_is_an_error() {
    let workplace = Workplace::new();
    let ended = workplace.train("run", &["--devices", "77"]);
    let failure = ended.failure();
    assert!(
        failure.starts_with("77 devices are requested, and backend `"),
        "{failure}"
    );
    assert!(!workplace.path("run").exists());
}
