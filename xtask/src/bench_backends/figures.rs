//! What is known of one backend, or of a program beside it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The figures of one column. What could not be measured is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Figures {
    pub(super) backend: String,
    pub(super) device: Option<String>,
    pub(super) threads: Option<u32>,
    /// Largest difference from PyTorch's logits, in units of the largest logit.
    pub(super) logit_difference: Option<f64>,
    /// Largest difference from PyTorch's gradients, in units of the largest entry of the same parameter.
    pub(super) gradient_difference: Option<f64>,
    /// What PyTorch's weights translate the golden sources to, greedily and with a beam.
    pub(super) translations: Vec<Vec<u32>>,
    pub(super) parameters: Option<u64>,
    /// Seconds of the first update: kernels are compiled, memory is claimed.
    pub(super) first_update_s: Option<f64>,
    pub(super) training: Option<Training>,
    pub(super) parts: Option<Parts>,
    pub(super) decoding: Vec<Decoding>,
    pub(super) peak_memory_mib: Option<f64>,
    pub(super) build_s: Option<f64>,
    pub(super) binary_mib: Option<f64>,
    /// Why figures are missing.
    pub(super) trouble: Option<String>,
}

/// Speed of whole updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Training {
    /// Target tokens of an update.
    pub(super) labels: f64,
    /// Of every run.
    pub(super) tokens_per_second: Vec<f64>,
}

/// Median seconds of the parts of an update that is one batch, of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) forward_s: Vec<f64>,
    pub(super) backward_s: Vec<f64>,
    pub(super) optimizer_s: Vec<f64>,
}

/// Speed of translation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Decoding {
    /// Sentences at once.
    pub(super) batch: u32,
    /// Hypotheses of each.
    pub(super) beam: u32,
    /// Tokens of the best hypotheses a second, of every run.
    pub(super) tokens_per_second: Vec<f64>,
    /// Milliseconds until the first token is known, of every run.
    pub(super) first_token_ms: Vec<f64>,
}

impl Figures {
    /// Returns the column of a backend of which nothing could be measured.
    pub(super) fn missing(backend: &str, why: &str) -> Self {
        Self {
            backend: backend.to_owned(),
            trouble: Some(why.to_owned()),
            ..Self::default()
        }
    }

    /// Reads lines of JSON, each with some of the figures; other lines are passed over.
    pub(super) fn read<'a>(lines: impl Iterator<Item = &'a str>) -> serde_json::Result<Self> {
        let mut all = Map::new();
        let mut decoding = Vec::new();
        for line in lines {
            let Ok(Value::Object(mut figures)) = serde_json::from_str(line) else {
                continue;
            };
            decoding.extend(figures.remove("decoding"));
            all.extend(figures);
        }
        all.insert("decoding".to_owned(), Value::Array(decoding));
        serde_json::from_value(Value::Object(all))
    }

    /// Takes up what was measured in a later run of the same program.
    ///
    /// What varies is kept of every run. Of memory and differences the largest counts, and of what happens once, the
    /// first time, when nothing was prepared.
    pub(super) fn join(&mut self, later: Self) {
        self.device = self.device.take().or(later.device);
        self.threads = self.threads.or(later.threads);
        self.logit_difference = larger(self.logit_difference, later.logit_difference);
        self.gradient_difference = larger(self.gradient_difference, later.gradient_difference);
        if self.translations.is_empty() {
            self.translations = later.translations;
        }
        self.parameters = self.parameters.or(later.parameters);
        self.first_update_s = self.first_update_s.or(later.first_update_s);
        match (&mut self.training, later.training) {
            (Some(ours), Some(theirs)) => ours.tokens_per_second.extend(theirs.tokens_per_second),
            (ours, theirs) => *ours = ours.take().or(theirs),
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

/// The middle of some numbers, and how far they are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) most: f64,
}

impl Spread {
    /// Returns `None` if there is no number.
    pub(super) fn of(numbers: &[f64]) -> Option<Self> {
        let mut numbers = numbers.to_vec();
        numbers.sort_by(f64::total_cmp);
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        let half = numbers.len() / 2;
        let median = if numbers.len() % 2 == 1 {
            numbers[half]
        } else {
            f64::midpoint(numbers[half - 1], numbers[half])
        };
        Some(Self {
            least,
            median,
            most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_all_lines_come_together() {
        let lines = [
            r#"{"backend":"flex","threads":2}"#,
            "a warning of a driver",
            r#"{"decoding":{"batch":1,"beam":4,"tokens_per_second":[7.0],"first_token_ms":[1.5]}}"#,
            r#"{"decoding":{"batch":32,"beam":4,"tokens_per_second":[9.0],"first_token_ms":[2.5]}}"#,
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
    }

    #[test]
    fn runs_are_joined_by_what_their_figures_mean() {
        let read = |line: &str| Figures::read([line].into_iter()).expect("the line is figures");
        let mut figures = Figures {
            backend: "flex".to_owned(),
            ..Figures::default()
        };
        figures.join(read(
            r#"{"logit_difference":1.0,"first_update_s":9.0,"peak_memory_mib":5.0,
                "parts":{"forward_s":[1.0],"backward_s":[2.0],"optimizer_s":[3.0]},
                "decoding":{"batch":1,"beam":4,"tokens_per_second":[7.0],"first_token_ms":[1.5]}}"#,
        ));
        figures.join(read(
            r#"{"logit_difference":2.0,"first_update_s":1.0,"peak_memory_mib":4.0,
                "parts":{"forward_s":[4.0],"backward_s":[5.0],"optimizer_s":[6.0]},
                "decoding":{"batch":1,"beam":4,"tokens_per_second":[8.0],"first_token_ms":[2.5]}}"#,
        ));
        assert_eq!(figures.backend, "flex");
        assert_eq!(figures.logit_difference, Some(2.0));
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
        let spread = |numbers: &[f64]| Spread::of(numbers).map(|it| (it.least, it.median, it.most));
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(spread(&[4.0, 1.0]), Some((1.0, 2.5, 4.0)));
        assert_eq!(spread(&[]), None);
    }
}
