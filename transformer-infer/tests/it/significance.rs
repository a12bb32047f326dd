//! Paired tests have the results of sacreBLEU, from `tests/fixtures/generate_scores.py`.

use serde::Deserialize;
use transformer_infer::metrics::{
    Bleu, Chrf, CorpusCounts, Metric, PairedTest, PairedTestKind, Ter,
};

/// sacreBLEU resamples in single precision, this crate in double precision.
const TOLERANCE: f64 = 1e-4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    systems: Vec<Vec<String>>,
    /// `[n_references][n_lines]`.
    references: Vec<Vec<String>>,
    tests: Vec<GoldenTest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenTest {
    kind: String,
    n_samples: usize,
    metric: String,
    signature: String,
    results: Vec<GoldenResult>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenResult {
    score: f64,
    p_value: Option<f64>,
    mean: Option<f64>,
    ci: Option<f64>,
}

fn sets() -> Vec<Set> {
    serde_json::from_str(include_str!("../fixtures/significance.json"))
        .expect("the generator writes the fields above")
}

fn metric(name: &str) -> Box<dyn Metric> {
    match name {
        "BLEU" => Box::new(Bleu::default()),
        "chrF2" => Box::new(Chrf::default()),
        _ => Box::new(Ter::default()),
    }
}

fn counts(metric: &dyn Metric, system: &[String], references: &[Vec<String>]) -> CorpusCounts {
    let of_line = |line: usize| references.iter().map(move |it| it[line].as_str()).collect();
    let lines = system.iter().enumerate();
    CorpusCounts::new(
        metric,
        lines.map(|(line, hypothesis)| (hypothesis.as_str(), of_line(line))),
    )
}

/// Compares the results of all tests of a kind with sacreBLEU's.
fn check(kind: &str, settings: PairedTest) {
    let mut n_checked = 0;
    for set in sets() {
        for golden in set.tests.iter().filter(|golden| golden.kind == kind) {
            let metric = metric(&golden.metric);
            let systems: Vec<CorpusCounts> = set
                .systems
                .iter()
                .map(|system| counts(&*metric, system, &set.references))
                .collect();
            let test = PairedTest {
                n_samples: golden.n_samples,
                ..settings
            };
            let results = test.run(&*metric, &systems);
            assert_eq!(results.len(), golden.results.len());
            for (ours, theirs) in results.iter().zip(&golden.results) {
                let near = |ours: f64, theirs: f64| (ours - theirs).abs() < TOLERANCE;
                assert!(near(ours.score, theirs.score), "{}", golden.signature);
                // Counts over the same number; what is read from JSON may differ in the last bit.
                let p_values = (ours.p_value.unwrap_or(2.0), theirs.p_value.unwrap_or(2.0));
                assert!(
                    (p_values.0 - p_values.1).abs() < 1e-12,
                    "{p_values:?}, {}",
                    golden.signature
                );
                if let (Some(mean), Some(ci)) = (theirs.mean, theirs.ci) {
                    assert!(near(ours.mean, mean), "{ours:?}, not {mean}");
                    assert!(near(ours.half_interval(), ci), "{ours:?}, not {ci}");
                }
                n_checked += 1;
            }
        }
    }
    assert_eq!(n_checked, 27);
}

#[test]
fn paired_bootstrap_has_the_results_of_sacrebleu() {
    let settings = PairedTest::bootstrap();
    assert_eq!(settings.kind, PairedTestKind::Bootstrap);
    check("bs", settings);
}

#[test]
fn paired_randomization_has_the_results_of_sacrebleu() {
    let settings = PairedTest::randomization();
    assert_eq!(settings.kind, PairedTestKind::Randomization);
    check("ar", settings);
}
