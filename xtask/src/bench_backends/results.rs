//! The kind of hardware of [`Figures`], the figures of several runs together, medians, and wrong results of backends.

use super::figures::{Decoding, Difference, Figures};

/// Backends and other programs that compute on the CPU.
const ON_CPU: [&str; 7] = [
    "flex",
    "ndarray",
    "tch",
    "pytorch",
    "pytorch-bf16",
    "pytorch-compile",
    "ctranslate2",
];

/// The beginnings of the names of other programs.
const PEERS: [&str; 2] = ["pytorch", "ctranslate2"];

/// Names of devices that emulate a GPU on the CPU.
const SOFTWARE: [&str; 3] = ["llvmpipe", "SwiftShader", "Microsoft Basic Render"];

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
        self.logits.is_some_and(|it| it.tolerance > SINGLE)
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

    /// Returns whether a GPU computes, by the names of backend and device.
    pub(super) fn is_on_gpu(&self) -> bool {
        !self.is_emulated() && !ON_CPU.contains(&self.backend.as_str())
    }

    pub(super) fn decoding(&self, batch: usize, beam: usize) -> Option<&Decoding> {
        let is_it = |cell: &&Decoding| (cell.batch, cell.beam) == (batch, beam);
        self.decoding.iter().find(is_it)
    }

    /// Reads lines of JSON, each with some of the figures; other lines are ignored.
    pub(super) fn read(lines: &str) -> serde_json::Result<Self> {
        let mut all = Self::default();
        for line in lines.lines() {
            if let Ok(line @ serde_json::Value::Object(_)) = serde_json::from_str(line) {
                all.merge(serde_json::from_value(line)?);
            }
        }
        Ok(all)
    }

    /// Adds the figures of a later line or run of the same program.
    ///
    /// Speeds are collected. Of memory and differences the largest counts; of warm-ups the first, when nothing was
    /// prepared.
    pub(super) fn merge(&mut self, later: Self) {
        if self.backend.is_empty() {
            self.backend = later.backend;
        }
        if self.translations.is_empty() {
            self.translations = later.translations;
        }
        add(&mut self.device, later.device, |_, _| ());
        add(&mut self.threads, later.threads, |_, _| ());
        add(&mut self.parameters, later.parameters, |_, _| ());
        add(&mut self.first_update_s, later.first_update_s, |_, _| ());
        add(&mut self.warm_up_s, later.warm_up_s, |_, _| ());
        add(&mut self.trouble, later.trouble, |_, _| ());
        add(&mut self.logits, later.logits, keep_worse);
        add(&mut self.gradients, later.gradients, keep_worse);
        let larger = |ours: &mut f64, later: f64| *ours = ours.max(later);
        add(&mut self.peak_memory_mib, later.peak_memory_mib, larger);
        add(&mut self.gpu_memory_mib, later.gpu_memory_mib, larger);
        for (ours, later) in [
            (&mut self.training, later.training),
            (&mut self.training_bf16, later.training_bf16),
            (&mut self.training_recomputed, later.training_recomputed),
        ] {
            add(ours, later, |ours, later| {
                ours.tokens_per_second.extend(later.tokens_per_second);
            });
        }
        add(&mut self.parts, later.parts, |ours, later| {
            ours.forward_s.extend(later.forward_s);
            ours.backward_s.extend(later.backward_s);
            ours.optimizer_s.extend(later.optimizer_s);
        });
        for cell in later.decoding {
            let mut cells = self.decoding.iter_mut();
            match cells.find(|it| (it.batch, it.beam) == (cell.batch, cell.beam)) {
                Some(ours) => {
                    ours.tokens_per_second.extend(cell.tokens_per_second);
                    ours.first_token_ms.extend(cell.first_token_ms);
                }
                None => self.decoding.push(cell),
            }
        }
        self.varied.extend(later.varied);
    }
}

fn add<T>(ours: &mut Option<T>, later: Option<T>, join: impl FnOnce(&mut T, T)) {
    match (ours, later) {
        (Some(ours), Some(later)) => join(ours, later),
        (ours @ None, later) => *ours = later,
        (Some(_), None) => {}
    }
}

fn keep_worse(ours: &mut Difference, later: Difference) {
    let both = ours.found.zip(later.found);
    ours.found = both.map(|(ours, later)| ours.max(later));
}

impl Difference {
    pub(super) fn is_rounding(self) -> bool {
        self.found.is_some_and(|found| found < self.tolerance)
    }
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
        let median = f64::midpoint(values[(values.len() - 1) / 2], values[half]);
        Some(Self { min, median, max })
    }
}

/// Returns the wrong results of all backends.
pub(crate) fn faults(columns: &[Figures]) -> Vec<String> {
    let first = first_that_translates(columns);
    let mut faults = Vec::new();
    for it in columns {
        for (name, difference) in [("logits", it.logits), ("gradients", it.gradients)] {
            let Some(wrong) = difference.filter(|it| !it.is_rounding()) else {
                continue;
            };
            let Difference { found, tolerance } = wrong;
            let wrong = found.map_or("contain NaN".to_owned(), |it| {
                format!("are {it:.0e} from PyTorch's")
            });
            faults.push(format!(
                "{}'s {name} {wrong}, {tolerance:.0e} is tolerated",
                it.backend
            ));
        }
        let other = first.map_or(0, |first| it.translations.len() - n_equal(it, first));
        // With lower precision, the order of two tokens of nearly equal probability may change.
        if let (Some(first), 1.., false) = (first, other, it.is_less_precise()) {
            let (name, first, n) = (&it.backend, &first.backend, it.translations.len());
            faults.push(format!(
                "{name} translates {other} of {n} sentences differently from {first}"
            ));
        }
    }
    faults
}

/// Returns what could not be measured, and why.
pub(crate) fn troubles(columns: &[Figures]) -> Vec<String> {
    let trouble = |it: &Figures| Some(format!("{}: {}", it.backend, it.trouble.as_ref()?));
    columns.iter().filter_map(trouble).collect()
}

/// Returns the column that translations are compared with: the first in single precision, or else the first.
pub(super) fn first_that_translates(columns: &[Figures]) -> Option<&Figures> {
    let columns = columns.iter().filter(|it| !it.translations.is_empty());
    columns.min_by_key(|it| it.is_less_precise())
}

pub(super) fn n_equal(one: &Figures, other: &Figures) -> usize {
    let pairs = one.translations.iter().zip(&other.translations);
    pairs.filter(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_all_lines_are_collected() {
        let lines = [
            r#"{"backend":"flex","threads":2}"#,
            "a warning of a driver",
            r#"{"decoding":[{"batch":1,"beam":4,"tokens_per_second":[7.0],"first_token_ms":[1.5]}]}"#,
            r#"{"decoding":[{"batch":32,"beam":4,"tokens_per_second":[9.0],"first_token_ms":[2.5]}]}"#,
            r#"{"varied":[{"update":5,"memory_mib":310.0,"gpu_memory_mib":null}]}"#,
            r#"{"varied":[{"update":10,"memory_mib":311.0,"gpu_memory_mib":null}]}"#,
        ];
        let figures = Figures::read(&lines.join("\n")).expect("the lines are figures");
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
        let read = |line: &str| Figures::read(line).expect("the line is figures");
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
        assert!(!wgpu("llvmpipe (LLVM 15.0.6, 256 bits)").is_on_gpu());
        assert!(wgpu("NVIDIA H200").is_on_gpu());
    }

    #[test]
    fn each_figure_of_several_runs_is_merged_by_its_rule() {
        let read = |line: &str| Figures::read(line).expect("the line is figures");
        let mut figures = Figures {
            backend: "flex".to_owned(),
            ..Figures::default()
        };
        figures.merge(read(
            r#"{"logits":{"found":1.0,"tolerance":3.0},"first_update_s":9.0,"peak_memory_mib":5.0}
                {"parts":{"forward_s":[1.0],"backward_s":[2.0],"optimizer_s":[3.0]}}
                {"decoding":[{"batch":1,"beam":4,"tokens_per_second":[7.0],"first_token_ms":[1.5]}]}"#,
        ));
        figures.merge(read(
            r#"{"logits":{"found":2.0,"tolerance":3.0},"first_update_s":1.0,"peak_memory_mib":4.0}
                {"parts":{"forward_s":[4.0],"backward_s":[5.0],"optimizer_s":[6.0]}}
                {"decoding":[{"batch":1,"beam":4,"tokens_per_second":[8.0],"first_token_ms":[2.5]}]}"#,
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

    fn column(backend: &str, logits: Option<f64>, translation: u32) -> Figures {
        let difference = |found| {
            Some(Difference {
                found,
                tolerance: 1e-5,
            })
        };
        Figures {
            backend: backend.to_owned(),
            logits: difference(logits),
            gradients: difference(Some(1e-6)),
            translations: vec![vec![4, translation]],
            ..Figures::default()
        }
    }

    #[test]
    fn differences_by_rounding_are_not_wrong() {
        let columns = [
            column("flex", Some(1e-7), 5),
            column("tch", Some(9e-7), 5),
            Figures::missing("cuda", "no driver"),
        ];
        assert!(faults(&columns).is_empty());
    }

    #[test]
    fn lower_precision_is_neither_a_reference_for_translations_nor_compared_with_one() {
        let mut cuda = column("cuda", Some(1e-3), 6);
        cuda.logits = cuda.logits.map(|it| Difference {
            tolerance: 5e-3,
            ..it
        });
        let columns = [
            cuda,
            column("wgpu", Some(1e-7), 5),
            column("tch", Some(1e-7), 6),
        ];
        assert_eq!(
            faults(&columns),
            ["tch translates 1 of 1 sentences differently from wgpu"]
        );
    }

    #[test]
    fn every_fault_is_named_with_its_backend() {
        let columns = [
            column("flex", Some(1e-7), 5),
            column("tch", Some(1e-5), 5),
            column("wgpu", None, 6),
        ];
        let expected = [
            "tch's logits are 1e-5 from PyTorch's, 1e-5 is tolerated",
            "wgpu's logits contain NaN, 1e-5 is tolerated",
            "wgpu translates 1 of 1 sentences differently from flex",
        ];
        assert_eq!(faults(&columns), expected);
    }
}
