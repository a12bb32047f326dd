//! Memory that a run takes: of this process, and of GPUs.

use std::fs;
use std::process::{Command, Stdio};

use burn::tensor::Device;
use serde_json::{Value, json};
use transformer_core::device::is_cpu_memory;

/// Tells memory, on a GPU beside what others had before.
#[derive(Debug)]
pub(crate) struct Occupied {
    gpu_before_mib: Option<f64>,
}

impl Occupied {
    /// Takes what the GPUs held before the device was touched.
    pub(crate) fn new(device: &Device, gpus_before_mib: Option<f64>) -> Self {
        Self {
            gpu_before_mib: gpus_before_mib.filter(|_| !is_cpu_memory(device)),
        }
    }

    /// Returns the most that this process has held, and what it holds of the GPUs: allocators keep what they had.
    pub(crate) fn most(&self) -> Value {
        json!({ "peak_memory_mib": of_process_mib("VmHWM:"), "gpu_memory_mib": self.of_gpu_mib() })
    }

    /// Returns what this process holds now.
    pub(crate) fn now(&self) -> Value {
        json!({ "memory_mib": of_process_mib("VmRSS:"), "gpu_memory_mib": self.of_gpu_mib() })
    }

    fn of_gpu_mib(&self) -> Option<f64> {
        let before = self.gpu_before_mib?;
        Some(of_gpus_mib()? - before)
    }
}

/// Returns what all programs hold of all NVIDIA GPUs, if the driver's program is there to say it. (In a container it
/// does not say which program.)
pub(crate) fn of_gpus_mib() -> Option<f64> {
    let output = Command::new("nvidia-smi")
        .args(["--query-gpu=memory.used", "--format=csv,noheader,nounits"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers: Result<Vec<f64>, _> = text.lines().map(|line| line.trim().parse()).collect();
    numbers
        .ok()
        .filter(|numbers| !numbers.is_empty())
        .map(|numbers| numbers.iter().sum())
}

/// Returns a number of this process's memory, where the system says it.
fn of_process_mib(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1024.0)
}
