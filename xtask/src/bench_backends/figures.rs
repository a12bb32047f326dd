//! [`Figures`]: the results of one backend, or of a program that it is compared with.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The figures of one column. Those that could not be measured are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Figures {
    pub(super) backend: String,
    pub(super) device: Option<String>,
    pub(super) threads: Option<u32>,
    /// The difference from PyTorch's logits, in units of the largest logit.
    pub(super) logits: Option<Difference>,
    /// The difference from PyTorch's gradients, in units of the parameter's largest value.
    pub(super) gradients: Option<Difference>,
    /// Translations of the golden sources with PyTorch's weights, greedily and with a beam.
    pub(super) translations: Vec<Vec<u32>>,
    pub(super) parameters: Option<u64>,
    /// Seconds of the first update, which compiles kernels and allocates memory.
    pub(super) first_update_s: Option<f64>,
    /// Seconds of everything that ran for the first time.
    pub(super) warm_up_s: Option<f64>,
    pub(super) training: Option<Training>,
    /// With the matrix products of layers in bfloat16.
    pub(super) training_bf16: Option<Training>,
    /// With layers that the backward pass computes again.
    pub(super) training_recomputed: Option<Training>,
    pub(super) parts: Option<Parts>,
    pub(super) decoding: Vec<Decoding>,
    pub(super) peak_memory_mib: Option<f64>,
    pub(super) gpu_memory_mib: Option<f64>,
    /// How many updates of varying shapes were requested.
    pub(super) n_varied: Option<u64>,
    /// Memory after some of them.
    pub(super) varied: Vec<MemorySample>,
    pub(super) build_s: Option<f64>,
    pub(super) binary_mib: Option<f64>,
    /// Why figures are missing.
    pub(super) trouble: Option<String>,
}

/// The largest difference of all goldens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Difference {
    /// `None` if a value is NaN.
    pub(super) found: Option<f64>,
    /// A smaller difference is due to rounding.
    pub(super) tolerance: f64,
}

impl Difference {
    pub(super) fn is_rounding(self) -> bool {
        self.found.is_some_and(|found| found < self.tolerance)
    }

    /// Returns the larger of two differences.
    fn worse(self, other: Self) -> Self {
        let found = self.found.zip(other.found);
        Self {
            found: found.map(|(one, other)| one.max(other)),
            ..self
        }
    }
}

/// Memory after some updates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MemorySample {
    pub(super) update: u64,
    pub(super) memory_mib: Option<f64>,
    pub(super) gpu_memory_mib: Option<f64>,
}

/// The kind of hardware that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Cpu,
    Gpu,
}

/// Backends and other programs that compute on the CPU.
const ON_CPU: [&str; 6] = [
    "flex",
    "ndarray",
    "tch",
    "pytorch",
    "pytorch-compile",
    "ctranslate2",
];

/// How the names of other programs begin.
const PEERS: [&str; 2] = ["pytorch", "ctranslate2"];

/// Names of devices that emulate a GPU on the CPU.
const SOFTWARE: [&str; 3] = ["llvmpipe", "SwiftShader", "Microsoft Basic Render"];

/// The speed of whole updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Training {
    /// Target tokens per update.
    pub(super) labels: f64,
    /// One value per run.
    pub(super) tokens_per_second: Vec<f64>,
}

/// Median seconds of the parts of an update, one value per run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) forward_s: Vec<f64>,
    pub(super) backward_s: Vec<f64>,
    pub(super) optimizer_s: Vec<f64>,
}

/// The speed of translation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Decoding {
    /// Sentences per batch.
    pub(super) batch: u32,
    /// Hypotheses per sentence.
    pub(super) beam: u32,
    /// Tokens of the best hypotheses per second, one value per run.
    pub(super) tokens_per_second: Vec<f64>,
    /// Milliseconds to the first token, one value per run.
    pub(super) first_token_ms: Vec<f64>,
}

/// The tolerance of logits that are computed in single precision.
const SINGLE: f64 = 1e-5;

impl Figures {
    /// Returns the column of a backend that could not be measured.
    pub(super) fn missing(backend: &str, why: &str) -> Self {
        Self {
            backend: backend.to_owned(),
            trouble: Some(why.to_owned()),
            ..Self::default()
        }
    }

    /// Returns whether the tolerance is larger than the rounding of single precision.
    pub(super) fn is_less_precise(&self) -> bool {
        let tolerance = self.logits.map(|it| it.tolerance);
        tolerance.is_some_and(|tolerance| tolerance > SINGLE)
    }

    /// Returns whether the device is a GPU that the CPU emulates.
    pub(super) fn is_emulated(&self) -> bool {
        let device = self.device.as_deref().unwrap_or_default();
        SOFTWARE.iter().any(|name| device.contains(name))
    }

    /// Returns whether it is another program, which we are compared with.
    pub(super) fn is_peer(&self) -> bool {
        PEERS.iter().any(|name| self.backend.starts_with(name))
    }

    /// Returns the kind of hardware, derived from the names of backend and device.
    pub(super) fn kind(&self) -> Kind {
        if self.is_emulated() || ON_CPU.contains(&self.backend.as_str()) {
            Kind::Cpu
        } else {
            Kind::Gpu
        }
    }

    /// Reads lines of JSON, each with some of the figures; other lines are ignored.
    pub(super) fn read<'a>(lines: impl Iterator<Item = &'a str>) -> serde_json::Result<Self> {
        let mut all = Map::new();
        let (mut decoding, mut varied) = (Vec::new(), Vec::new());
        for line in lines {
            let Ok(Value::Object(mut figures)) = serde_json::from_str(line) else {
                continue;
            };
            decoding.extend(figures.remove("decoding"));
            varied.extend(figures.remove("varied"));
            all.extend(figures);
        }
        all.insert("decoding".to_owned(), Value::Array(decoding));
        all.insert("varied".to_owned(), Value::Array(varied));
        serde_json::from_value(Value::Object(all))
    }

    /// Adds the figures of a later run of the same program.
    ///
    /// Speeds are collected. Of memory and differences the largest counts; of warm-ups the first, when nothing was
    /// prepared.
    pub(super) fn merge(&mut self, later: Self) {
        self.device = self.device.take().or(later.device);
        self.threads = self.threads.or(later.threads);
        self.logits = worse(self.logits, later.logits);
        self.gradients = worse(self.gradients, later.gradients);
        if self.translations.is_empty() {
            self.translations = later.translations;
        }
        self.parameters = self.parameters.or(later.parameters);
        self.first_update_s = self.first_update_s.or(later.first_update_s);
        self.warm_up_s = self.warm_up_s.or(later.warm_up_s);
        for (ours, theirs) in [
            (&mut self.training, later.training),
            (&mut self.training_bf16, later.training_bf16),
            (&mut self.training_recomputed, later.training_recomputed),
        ] {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    ours.tokens_per_second.extend(theirs.tokens_per_second);
                }
                (ours, theirs) => *ours = ours.take().or(theirs),
            }
        }
        match (&mut self.parts, later.parts) {
            (Some(ours), Some(theirs)) => {
                ours.forward_s.extend(theirs.forward_s);
                ours.backward_s.extend(theirs.backward_s);
                ours.optimizer_s.extend(theirs.optimizer_s);
            }
            (ours, theirs) => *ours = ours.take().or(theirs),
        }
        for cell in later.decoding {
            let is_it = |it: &&mut Decoding| (it.batch, it.beam) == (cell.batch, cell.beam);
            match self.decoding.iter_mut().find(is_it) {
                Some(ours) => {
                    ours.tokens_per_second.extend(cell.tokens_per_second);
                    ours.first_token_ms.extend(cell.first_token_ms);
                }
                None => self.decoding.push(cell),
            }
        }
        self.peak_memory_mib = larger(self.peak_memory_mib, later.peak_memory_mib);
        self.gpu_memory_mib = larger(self.gpu_memory_mib, later.gpu_memory_mib);
        self.trouble = self.trouble.take().or(later.trouble);
    }

    /// Returns the speed of translation, if it was measured.
    pub(super) fn decoding(&self, batch: u32, beam: u32) -> Option<&Decoding> {
        let is_it = |cell: &&Decoding| (cell.batch, cell.beam) == (batch, beam);
        self.decoding.iter().find(is_it)
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    [one, other].into_iter().flatten().reduce(f64::max)
}

fn worse(one: Option<Difference>, other: Option<Difference>) -> Option<Difference> {
    [one, other].into_iter().flatten().reduce(Difference::worse)
}

/// The median and the range of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Returns `None` if there are no values.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            f64::midpoint(values[half - 1], values[half])
        };
        Some(Self { min, median, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_all_lines_are_collected() {
        let lines = [
            r#"{"backend":"flex","threads":2}"#,
            "a warning of a driver",
            r#"{"decoding":{"batch":1,"beam":4,"tokens_per_second":[7.0],"first_token_ms":[1.5]}}"#,
            r#"{"decoding":{"batch":32,"beam":4,"tokens_per_second":[9.0],"first_token_ms":[2.5]}}"#,
            r#"{"varied":{"update":5,"memory_mib":310.0,"gpu_memory_mib":null}}"#,
            r#"{"varied":{"update":10,"memory_mib":311.0,"gpu_memory_mib":null}}"#,
        ];
        let figures = Figures::read(lines.into_iter()).expect("the lines are figures");
        assert_eq!(
            (figures.backend.as_str(), figures.threads),
            ("flex", Some(2))
        );
        let cell = figures.decoding(32, 4).expect("it is in the last line");
        assert_eq!(cell.tokens_per_second, [9.0]);
        assert_eq!(figures.decoding(32, 1), None);
        assert_eq!(figures.training, None);
        let memory: Vec<_> = figures
            .varied
            .iter()
            .map(|sample| sample.memory_mib)
            .collect();
        assert_eq!(memory, [Some(310.0), Some(311.0)]);
    }

    #[test]
    fn a_nan_difference_is_not_rounding_and_stays() {
        let read = |line: &str| Figures::read([line].into_iter()).expect("the line is figures");
        let mut figures = read(r#"{"logits":{"found":null,"tolerance":1e-5}}"#);
        figures.merge(read(r#"{"logits":{"found":1e-7,"tolerance":1e-5}}"#));
        let logits = figures.logits.expect("it was measured");
        assert_eq!(logits.found, None);
        assert!(!logits.is_rounding());
    }

    #[test]
    fn an_emulated_gpu_is_the_cpu() {
        let wgpu = |device: &str| Figures {
            backend: "wgpu".to_owned(),
            device: Some(device.to_owned()),
            ..Figures::default()
        };
        assert_eq!(wgpu("llvmpipe (LLVM 15.0.6, 256 bits)").kind(), Kind::Cpu);
        assert_eq!(wgpu("NVIDIA H200").kind(), Kind::Gpu);
    }

    #[test]
    fn each_figure_of_several_runs_is_merged_by_its_rule() {
        let read = |line: &str| Figures::read([line].into_iter()).expect("the line is figures");
        let mut figures = Figures {
            backend: "flex".to_owned(),
            ..Figures::default()
        };
        figures.merge(read(
            r#"{"logits":{"found":1.0,"tolerance":3.0},"first_update_s":9.0,"peak_memory_mib":5.0,
                "parts":{"forward_s":[1.0],"backward_s":[2.0],"optimizer_s":[3.0]},
                "decoding":{"batch":1,"beam":4,"tokens_per_second":[7.0],"first_token_ms":[1.5]}}"#,
        ));
        figures.merge(read(
            r#"{"logits":{"found":2.0,"tolerance":3.0},"first_update_s":1.0,"peak_memory_mib":4.0,
                "parts":{"forward_s":[4.0],"backward_s":[5.0],"optimizer_s":[6.0]},
                "decoding":{"batch":1,"beam":4,"tokens_per_second":[8.0],"first_token_ms":[2.5]}}"#,
        ));
        assert_eq!(figures.backend, "flex");
        assert_eq!(figures.logits.and_then(|it| it.found), Some(2.0));
        assert_eq!(figures.first_update_s, Some(9.0));
        assert_eq!(figures.peak_memory_mib, Some(5.0));
        let parts = figures.parts.clone().expect("both have them");
        assert_eq!(parts.backward_s, [2.0, 5.0]);
        let cell = figures.decoding(1, 4).expect("both have it");
        assert_eq!(cell.tokens_per_second, [7.0, 8.0]);
        assert_eq!(cell.first_token_ms, [1.5, 2.5]);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let spread = |numbers: &[f64]| Spread::of(numbers).map(|it| (it.min, it.median, it.max));
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(spread(&[4.0, 1.0]), Some((1.0, 2.5, 4.0)));
        assert_eq!(spread(&[]), None);
    }
}
