//! The memory of this process, and of GPUs.

use std::fs;
use std::process::{Command, Stdio};

use burn::tensor::Device;
use transformer_core::device::is_cpu_memory;

use crate::figures::{Figures, MemorySample};

/// Measures memory; on a GPU, what was used before is subtracted.
#[derive(Debug)]
pub(crate) struct MemoryUse {
    gpu_before_mib: Option<f64>,
}

impl MemoryUse {
    /// Requires the GPU memory that was in use before the device was initialized.
    pub(crate) fn new(device: &Device, gpus_before_mib: Option<f64>) -> Self {
        Self {
            gpu_before_mib: gpus_before_mib.filter(|_| !is_cpu_memory(device)),
        }
    }

    /// Fills in the peak memory of this process, and its GPU memory, which is a peak too: allocators keep what they
    /// had.
    pub(crate) fn peak(&self, figures: &mut Figures) {
        figures.peak_memory_mib = of_process_mib("VmHWM:");
        figures.gpu_memory_mib = self.of_gpu_mib();
    }

    /// Returns the memory of this process after an update, and its GPU memory.
    pub(crate) fn after(&self, update: u64) -> MemorySample {
        MemorySample {
            update,
            memory_mib: of_process_mib("VmRSS:"),
            gpu_memory_mib: self.of_gpu_mib(),
        }
    }

    fn of_gpu_mib(&self) -> Option<f64> {
        let before = self.gpu_before_mib?;
        Some(of_gpus_mib()? - before)
    }
}

/// Returns the memory that all programs use on all NVIDIA GPUs, if `nvidia-smi` is there. (In a container it does
/// not list the programs.)
pub(crate) fn of_gpus_mib() -> Option<f64> {
    let output = Command::new("nvidia-smi")
        .args(["--query-gpu=memory.used", "--format=csv,noheader,nounits"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let values: Result<Vec<f64>, _> = text.lines().map(|line| line.trim().parse()).collect();
    let values = values.ok().filter(|values| !values.is_empty())?;
    Some(values.iter().sum())
}

/// Returns a field of this process's memory on Linux; `None` on other systems.
fn of_process_mib(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1024.0)
}
