//! The environment of a run: its folder, devices, threads and display, which the program decides and not the settings.

use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::Device;
use transformer_core::device;

use super::folder::Existing;
use crate::config::Experiment;
use crate::error::TrainError;
use crate::progress::{Interrupt, LogFn, Progress, StatusFn};
use crate::step::ranks::Ranks;

/// The environment of a run: its folder, devices, threads, display and reports.
#[derive(Clone)]
pub struct RunEnvironment {
    /// The run's folder.
    pub directory: PathBuf,
    /// The treatment of a run that is already in the folder.
    pub existing: Existing,
    /// The device to train on, as a plain device without autodiff. With several devices, it is the first one (rank 0),
    /// which also validates and saves.
    pub device: Device,
    /// The other devices that share each update, one fewer than `training.devices`.
    pub more_devices: Vec<Device>,
    /// The processes that share each update, `training.ranks` of them.
    pub ranks: Ranks,
    /// Number of threads that share an update.
    pub threads: ThreadCount,
    /// Receives the lines of the log.
    pub log: LogFn,
    /// The display of training progress.
    pub display: Display,
    /// Receives a status line while text is read; without it, progress is logged every ten seconds.
    pub status: Option<StatusFn>,
    /// Ends the run when the program requests it.
    pub interrupt: Interrupt,
}

/// Number of threads that share an update.
///
/// More than one pays off where tensors are in CPU memory (flex, ndarray, libtorch), because one operation at a time
/// cannot keep two cores busy. The weights of a run depend on the number of threads in their last bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadCount {
    /// This number, even if a resumed run began with another.
    Exactly(usize),
    /// This number, unless a resumed run began with another.
    Suggested(usize),
}

impl ThreadCount {
    pub(crate) fn given(self) -> usize {
        let (Self::Exactly(given) | Self::Suggested(given)) = self;
        given.max(1)
    }
}

/// The display of training progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Display {
    /// Burn's dashboard, which takes over the whole terminal.
    Dashboard,
    /// One line per interval.
    Lines,
}

impl RunEnvironment {
    /// Returns the environment for training inside a program: one device, one thread, and no log.
    ///
    /// A run that is already in the folder is [resumed](Existing::Resume). Change the fields that differ in your
    /// program: `RunEnvironment { existing: Existing::Replace, ..RunEnvironment::new(folder, &device) }`.
    pub fn new(directory: impl Into<PathBuf>, device: &Device) -> Self {
        Self {
            directory: directory.into(),
            existing: Existing::Resume,
            device: device.clone(),
            more_devices: Vec::new(),
            ranks: Ranks::default(),
            threads: ThreadCount::Exactly(1),
            log: Arc::new(|_| ()),
            display: Display::Lines,
            status: None,
            interrupt: Interrupt::default(),
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress::new(&self.log, self.status.as_ref(), &self.interrupt)
    }

    pub(crate) fn show_status(&self, line: &str) {
        if let Some(status) = &self.status {
            status(line);
        }
    }

    /// Returns all devices; the first one validates and saves.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let more = self.more_devices.iter().cloned();
        std::iter::once(self.device.clone()).chain(more).collect()
    }

    /// Refuses numbers of devices or processes that differ from the experiment's, and devices that cannot compute in
    /// its precision.
    pub(crate) fn check_devices(&self, experiment: &Experiment) -> Result<(), TrainError> {
        let (requested, given) = (experiment.training.ranks, self.ranks.n_ranks());
        if requested != given as u64 {
            return Err(TrainError::OtherRanks { requested, given });
        }
        let devices = self.devices();
        let (requested, given) = (experiment.training.devices, devices.len());
        if requested != given as u64 {
            return Err(TrainError::OtherDevices { requested, given });
        }
        let matmul = experiment.training.precision.matmul().unwrap_or_default();
        let mut unable = devices.iter().filter(|it| !matmul.is_supported(it));
        unable.next().map_or(Ok(()), |device| {
            let device = device::describe(device);
            Err(TrainError::NoBf16 { device })
        })
    }

    pub(crate) fn device_names(&self) -> String {
        let names = self.devices().into_iter();
        let names: Vec<String> = names.map(|device| format!("{device:?}")).collect();
        names.join(", ")
    }
}

impl std::fmt::Debug for RunEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunEnvironment")
            .field("directory", &self.directory)
            .field("device", &self.device)
            .field("more_devices", &self.more_devices)
            .field("ranks", &self.ranks)
            .field("threads", &self.threads)
            .field("display", &self.display)
            .finish_non_exhaustive()
    }
}
