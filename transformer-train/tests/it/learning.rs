//! The default task reaches 99 % exact matches.

use std::env;

use crate::workplace::Workplace;

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
    let ended = Workplace::new().run(&[]);
    let lines = ended.lines();
    let shares = lines.iter().filter_map(|line| {
        let share = line.strip_prefix("exact match ")?;
        share.split('%').next()?.parse::<f64>().ok()
    });
    let shares: Vec<f64> = shares.collect();
    assert!(matches!(shares[..], [share] if share >= 99.0), "{shares:?}");
}
