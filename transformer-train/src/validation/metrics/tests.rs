//! Metrics of numbers that are made up.

use burn::data::dataloader::Progress;

use super::*;

fn metadata() -> MetricMetadata {
    MetricMetadata {
        progress: Progress::new(1, 1, None),
        iteration: Some(1),
        lr: None,
    }
}

fn numbers(nll: f64, n_labels: usize) -> Numbers {
    let size = BatchSize {
        n_labels,
        ..BatchSize::default()
    };
    Numbers {
        nll,
        smoothed: nll,
        size,
        ..Numbers::default()
    }
}

#[test]
fn long_batches_count_for_more() {
    let mut perplexity = Ratio::perplexity();
    for numbers in [numbers(3.0, 1), numbers(1.0, 3)] {
        perplexity
            .update(&numbers, &metadata())
            .expect("numbers are on the host");
    }
    // Four nats over four tokens.
    assert!((perplexity.final_value().current() - std::f64::consts::E).abs() < 1e-12);
}

/// On several devices the norm may come after the losses.
#[test]
fn a_norm_that_is_not_known_is_no_norm_that_is_not_a_number() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let mut norm = Ratio::gradient_norm(Arc::new(move |update, _| {
        told.lock().expect("nobody panicked with it").push(update);
    }));
    for (update, gradient_norm) in [
        (1, Some(2.0)),
        (2, None),
        (3, Some(4.0)),
        (4, Some(f64::NAN)),
    ] {
        let numbers = Numbers {
            update,
            gradient_norm,
            ..numbers(1.0, 2)
        };
        norm.update(&numbers, &metadata())
            .expect("numbers are on the host");
        if update == 3 {
            assert_eq!(norm.final_value().current(), 3.0);
        }
    }
    assert_eq!(*seen.lock().expect("nobody panicked with it"), [4]);
}

#[test]
fn a_loss_that_is_not_a_number_is_reported_with_its_update() {
    let seen = Arc::new(std::sync::Mutex::new(None));
    let told = Arc::clone(&seen);
    let mut loss = Ratio::loss(Arc::new(move |update, _| {
        *told.lock().expect("nobody panicked with it") = Some(update);
    }));
    let bad = Numbers {
        update: 7,
        ..numbers(f64::NAN, 2)
    };
    loss.update(&bad, &metadata())
        .expect("numbers are on the host");
    assert_eq!(*seen.lock().expect("nobody panicked with it"), Some(7));
}
