//! Tasks that are learned: the default one to 99 % exact matches, and copying by a recurrent decoder.

use std::env;

use crate::workplace::{Ended, Workplace};

/// Returns the percentage of exact matches among held-out pairs.
fn exact_match(ended: &Ended) -> f64 {
    let lines = ended.lines();
    let share = lines.iter().find_map(|line| {
        let share = line.strip_prefix("exact match ")?;
        share.split('%').next()?.parse().ok()
    });
    share.expect("the report names it")
}

const RECURRENT: &str = r#"
[data]
task = "copy"

[model]
d_model = 32
d_ff = 64
n_encoder_layers = 1
n_decoder_layers = 1
decoder_mixing = "ssru"

[training]
updates = 400
"#;

#[test]
fn a_recurrent_decoder_learns_to_copy() {
    let workplace = Workplace::new();
    workplace.write("copy.toml", RECURRENT);
    let share = exact_match(&workplace.run(&["--config", "copy.toml"]));
    assert!(share >= 90.0, "{share}");
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "the log names the tests that were skipped"
)]
fn the_default_task_is_learned() {
    if env::var_os("RUN_SLOW_TESTS").is_none_or(|value| value != "1") {
        eprintln!("skipped: training takes minutes; set RUN_SLOW_TESTS=1 to run it");
        return;
    }
    let share = exact_match(&Workplace::new().run(&[]));
    assert!(share >= 99.0, "{share}");
}
