//! Tests of [`IntervalMetric`] against values computed by hand.

use std::sync::Arc;

use burn::data::dataloader::Progress;
use burn_train::metric::{Adaptor, Metric, MetricMetadata, Numeric};
use parking_lot::Mutex;
use transformer_metrics::{Bleu, Tokenization};

use super::*;
use crate::batching::BatchSize;
use crate::step::Report;
use crate::validation::text_scores::TextMetrics;

fn batch(nll: f64, n_labels: usize) -> BatchMetrics {
    let size = BatchSize {
        n_labels,
        ..BatchSize::default()
    };
    let report = Report {
        nll,
        smoothed: nll,
        size,
        ..Report::default()
    };
    report.adapt()
}

fn update(metric: &mut IntervalMetric, batch: &BatchMetrics) {
    let metadata = MetricMetadata {
        progress: Progress::new(1, 1, None),
        iteration: Some(1),
        lr: None,
    };
    let updated = metric.update(batch, &metadata);
    updated.expect("the metric reads no tensor");
}

/// Batches of two corpora: 4 nats over 8 tokens, and 6 over 4.
fn update_all(metric: &mut IntervalMetric) {
    for (corpus, nll, n) in [(0, 1.0, 5), (1, 6.0, 4), (0, 3.0, 3)] {
        let mut batch = batch(nll, n);
        batch.report.corpus = corpus;
        update(metric, &batch);
    }
}

/// Returns a callback that records the updates it is called with.
fn recorder() -> (OnNonFinite, Arc<Mutex<Vec<u64>>>) {
    let updates = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&updates);
    let record = move |update, _| {
        let mut updates = updates.lock();
        updates.push(update);
    };
    (Arc::new(record), recorded)
}

#[test]
fn a_batch_counts_in_proportion_to_its_tokens() {
    let mut perplexity = IntervalMetric::perplexity();
    for batch in [batch(3.0, 1), batch(1.0, 3)] {
        update(&mut perplexity, &batch);
    }
    // Four nats over four tokens.
    assert!((perplexity.final_value().current() - std::f64::consts::E).abs() < 1e-12);
}

/// On several devices the norm may be known later than the losses.
#[test]
fn an_unknown_norm_is_neither_averaged_nor_reported() {
    let (on_non_finite, reported) = recorder();
    let mut norm = IntervalMetric::gradient_norm(on_non_finite);
    for (number, gradient_norm) in [
        (1, Some(2.0)),
        (2, None),
        (3, Some(4.0)),
        (4, Some(f64::NAN)),
    ] {
        let mut batch = batch(1.0, 2);
        batch.report.update = number;
        batch.report.gradient_norm = gradient_norm;
        update(&mut norm, &batch);
        if number == 3 {
            assert_eq!(norm.final_value().current(), 3.0);
        }
    }
    let reported = reported.lock();
    assert_eq!(*reported, [4]);
}

#[test]
fn a_nan_loss_is_reported_with_its_update() {
    let (on_non_finite, reported) = recorder();
    let mut loss = IntervalMetric::loss(on_non_finite);
    let mut bad = batch(f64::NAN, 2);
    bad.report.update = 7;
    update(&mut loss, &bad);
    let reported = reported.lock();
    assert_eq!(*reported, [7]);
}

#[test]
fn a_small_corpus_counts_in_the_mean_as_much_as_a_large_one() {
    let mut mean = IntervalMetric::perplexity().over_corpora(2);
    update_all(&mut mean);
    // The mean of 0.5 and 1.5 nats.
    assert!((mean.final_value().current() - std::f64::consts::E).abs() < 1e-12);
    mean.clear();
    assert!(mean.final_value().current().is_nan());
}

#[test]
fn a_metric_of_a_corpus_ignores_the_others_and_has_its_number_in_its_name() {
    let mut second = IntervalMetric::perplexity().of_corpus(1, 3);
    update_all(&mut second);
    assert_eq!(*second.name(), "Perplexity corpus 3");
    assert!((second.final_value().current() - 1.5_f64.exp()).abs() < 1e-12);
}

#[test]
fn the_mean_of_one_corpus_is_the_metric() {
    let mut metric = IntervalMetric::perplexity();
    let mut mean = metric.clone().over_corpora(1);
    update(&mut mean, &batch(1.0, 3));
    update(&mut metric, &batch(1.0, 3));
    assert_eq!(mean.final_value().current(), metric.final_value().current());
}

#[test]
fn the_score_of_an_interval_is_that_of_its_whole_text_not_the_mean_of_its_batches() {
    let metrics = TextMetrics::new(false, Tokenization::V13a);
    let pairs = [
        ("a dog ran home today .", "a dog ran home ."),
        ("the cat sat on a mat .", "the cat sat on the mat ."),
        ("x", "y z"),
    ];
    let mut metric = IntervalMetric::bleu(metrics);
    for pairs in pairs.chunks(2) {
        let batch = BatchMetrics {
            translations: TranslationCounts {
                n_sentences: pairs.len(),
                n_exact: 0,
                text: metrics.count(pairs.iter().copied()),
                texts: Vec::new(),
            },
            ..BatchMetrics::default()
        };
        update(&mut metric, &batch);
    }
    let expected = Bleu::default().corpus_score(pairs.map(|(translation, it)| (translation, [it])));
    assert!(expected.score > 1.0);
    assert!((metric.final_value().current() - expected.score).abs() < 1e-12);
}
