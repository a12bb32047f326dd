//! Tests of [`State`]: which lines a thread takes.

use std::time::Duration;

use super::doubles::{job, line, search};
use crate::scheduler::group::Line;
use crate::scheduler::state::{Capacity, Load, SchedulerTotals, State};

fn state(n_threads: usize) -> State {
    let capacity = Capacity {
        n_rows: 64,
        n_tokens: 8192,
        n_light_rows: 0,
    };
    State::new(n_threads, capacity)
}

/// Adds lines of four rows each.
fn push(state: &mut State, n_lines: usize) {
    let job = job(1, search(4));
    (0..n_lines).for_each(|_| state.queue.push(line(&job, 5, 20, 9)));
}

fn n_rows(lines: &[Line]) -> usize {
    lines.iter().map(Line::n_rows).sum()
}

#[test]
fn a_lone_line_is_for_one_thread() {
    let mut state = state(2);
    push(&mut state, 1);
    assert_eq!(n_rows(&state.take(1, Load::default())), 4);
    assert!(state.is_alone(1) && !state.is_alone(0));
    assert!(state.take(0, Load::default()).is_empty());
}

#[test]
fn two_lines_of_a_beam_are_for_two_threads() {
    let mut state = state(2);
    push(&mut state, 2);
    assert_eq!(n_rows(&state.take(0, Load::default())), 4);
    assert_eq!(n_rows(&state.take(1, Load::default())), 4);
    assert!(!state.is_alone(0));
}

#[test]
fn many_lines_fill_batches_of_64_rows() {
    let mut state = state(3);
    push(&mut state, 1000);
    for thread in 0..3 {
        assert_eq!(n_rows(&state.take(thread, Load::default())), 64);
    }
}

#[test]
fn a_long_line_leaves_less_room_for_others() {
    let mut state = state(1);
    push(&mut state, 1000);
    let load = Load {
        n_lines: 1,
        n_rows: 4,
        longest: 1024,
        ..Load::default()
    };
    // 8192 tokens are 8 rows of 1024.
    assert_eq!(n_rows(&state.take(0, load)), 4);
}

#[test]
fn a_line_that_exceeds_the_budget_is_taken_by_an_idle_thread() {
    let mut state = state(1);
    state.queue.push(line(&job(1, search(4)), 5, 9000, 9));
    assert_eq!(state.take(0, Load::default()).len(), 1);
}

#[test]
fn a_full_batch_is_refilled_when_an_eighth_of_its_rows_is_free() {
    let mut state = state(1);
    push(&mut state, 1000);
    let load = |n_rows| Load {
        n_lines: n_rows / 4,
        n_rows,
        longest: 30,
        ..Load::default()
    };
    assert_eq!(n_rows(&state.take(0, load(60))), 0);
    assert_eq!(n_rows(&state.take(0, load(56))), 8);
}

#[test]
fn the_last_lines_are_taken_without_waiting_for_room() {
    let mut state = state(1);
    push(&mut state, 1);
    let load = Load {
        n_lines: 15,
        n_rows: 60,
        longest: 30,
        ..Load::default()
    };
    assert_eq!(n_rows(&state.take(0, load)), 4);
}

#[test]
fn a_line_with_a_known_result_needs_no_room() {
    let mut state = state(1);
    let known = Some(Ok(Vec::new()));
    let line = line(&job(1, search(4)), 5, 20, 9);
    state.queue.push(Line { known, ..line });
    let load = Load {
        n_lines: 16,
        n_rows: 64,
        longest: 500,
        ..Load::default()
    };
    assert_eq!(state.take(0, load).len(), 1);
}

#[test]
fn a_wait_counts_for_the_border_that_it_does_not_exceed() {
    let waits = [5, 6, 10, 121_000].map(|milliseconds| {
        let waited = Duration::from_millis(milliseconds);
        SchedulerTotals::of_wait(waited).jobs_by_wait
    });
    let index = |counts: [u64; 14]| counts.iter().position(|n| *n == 1);
    assert_eq!(waits.map(index), [0, 1, 1, 13].map(Some));
}
