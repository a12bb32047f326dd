//! Devices that share an update do what one device does with all of its batches.

#![expect(
    clippy::print_stdout,
    reason = "what is skipped, and how far curves differ, is for people"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use transformer_core::device::{self, Backend};
use transformer_train::config::Experiment;
use transformer_train::{Display, Existing, Interrupt, RunEnvironment, ThreadCount, train};

use crate::workplace::{Workplace, test_device};

/// Number of batches of an update, on however many devices.
const N_BATCHES: u64 = 4;

/// The folder in which every run begins, with one interval done on one device. Weights are drawn from a
/// generator that tests beside this one draw from as well, so that no two runs could begin anew.
const START: &str = "start";

/// Trains on the corpus of the workplace until so many updates are done.
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
        threads: ThreadCount::Exactly(2),
        log: Arc::new(|_| {}),
        display: Display::Lines,
        status: None,
        interrupt: Interrupt::default(),
    };
    train(&experiment, &environment).expect("the corpus can be trained on");
}

/// Begins a run with the settings in which devices could come apart: clipping by the norm of all gradients, a
/// moving average, and dropout.
fn started(dropout: f64, device: &Device) -> Workplace {
    // The order in which four devices add up their gradients changes; rounding must meet no kink, as ReLU has.
    let model = format!("n_heads = 2\nactivation = \"silu\"\ndropout = {dropout}");
    let training = "warmup_steps = 15\nclip_norm = 0.5\nema_decay = 0.9";
    let workplace = Workplace::with(&[("n_heads = 2", &model), ("warmup_steps = 15", training)]);
    train_on(&workplace, START, std::slice::from_ref(device), 10);
    workplace
}

/// Goes on with the run to update 25, on these devices, and returns the rows of `metrics.csv` but for speeds.
fn curve(workplace: &Workplace, out: &str, devices: &[Device]) -> Vec<(String, f64)> {
    copy_folder(&workplace.path(START), &workplace.path(out));
    train_on(workplace, out, devices, 25);
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

/// Checks that both curves are the same, every value within a share of it.
fn assert_same_curve(one: &[(String, f64)], several: &[(String, f64)], tolerance: f64) {
    let names = |curve: &[(String, f64)]| -> Vec<String> {
        curve.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(one), names(several));
    for metric in ["train,Loss", "train,Gradient norm", "valid,Perplexity"] {
        let rows = one.iter().filter(|(name, _)| name.ends_with(metric));
        assert_eq!(rows.count(), 3, "{metric} of three intervals");
    }
    let apart = |a: f64, b: f64| (a - b).abs() / a.abs().max(1e-3);
    let mut largest: f64 = 0.0;
    for ((name, a), (_, b)) in one.iter().zip(several) {
        let close = apart(*a, *b) <= tolerance;
        assert!(close, "{name}: {a} on one device, {b} on several");
        largest = largest.max(apart(*a, *b));
    }
    println!("values of the curves differ by {largest:.1e} at most");
}

/// The same device twice, or four times, is enough for everything but what carries tensors between devices.
#[test]
fn a_device_that_is_named_several_times_learns_what_it_learns_alone() {
    let device = test_device();
    if !device::is_host(&device) {
        println!(
            "skipped: {device:?} drops units in an order that differs, or rounds otherwise for other shapes"
        );
        return;
    }
    let workplace = started(0.2, &device);
    let one = curve(&workplace, "one", std::slice::from_ref(&device));
    for n_devices in [2, 4] {
        let devices = vec![device.clone(); n_devices];
        let several = curve(&workplace, &format!("of-{n_devices}"), &devices);
        // The same sums in another order, in single precision, over 15 updates of Adam.
        assert_same_curve(&one, &several, 1e-4);
    }
}

#[test]
fn two_devices_learn_what_one_learns() {
    let compiled = Backend::compiled();
    let [first, second, ..] = compiled.as_slice() else {
        println!("skipped: this program has one backend, {compiled:?}, with one device");
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
    if is_quick && !devices.iter().all(device::is_host) {
        println!("skipped: {devices:?} may take minutes; set RUN_SLOW_TESTS=1 to run it");
        return;
    }
    let workplace = started(0.0, &devices[0]);
    let one = curve(&workplace, "one", &devices[..1]);
    let two = curve(&workplace, "two", &devices);
    // Two backends round differently, from the first product on.
    assert_same_curve(&one, &two, 1e-3);
}

#[test]
fn more_devices_than_there_are_are_refused() {
    let workplace = Workplace::new();
    let ended = workplace.train("run", &["--devices", "77"]);
    let failure = ended.failure();
    assert!(
        failure.starts_with("77 devices are asked for, and backend `"),
        "{failure}"
    );
    assert!(!workplace.path("run").exists());
}
