//! Tests of [`FairQueue`]: the order of turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::doubles::{job, line, line_of_length, search, with_batch};
use crate::scheduler::batch::Batch;
use crate::scheduler::group::{Line, Workspaces};
use crate::scheduler::job::{JobState, for_results};
use crate::scheduler::queue::FairQueue;
use crate::scheduler::state::{Capacity, Load, State};

/// Takes lines while there are any, and returns the caller and the cost of each.
fn drain(queue: &mut FairQueue) -> Vec<(u64, usize)> {
    let mut taken = Vec::new();
    while let Some(line) = queue.pop_if(|_| true) {
        taken.push((line.job.caller, line.cost()));
    }
    taken
}

#[test]
fn the_lines_of_a_caller_are_taken_in_order() {
    let mut queue = FairQueue::default();
    let job = job(1, search(1));
    (5..30).for_each(|first| queue.push(line(&job, first, 100, 5)));
    let mut order = Vec::new();
    while let Some(line) = queue.pop_if(|_| true) {
        order.push(line.index);
    }
    assert_eq!(order, (5..30).collect::<Vec<_>>());
}

#[test]
fn callers_with_lines_of_unequal_length_get_equal_numbers_of_tokens() {
    let mut queue = FairQueue::default();
    for (caller, len, beam_size) in [(1, 9, 1), (2, 99, 1), (3, 49, 4)] {
        let job = job(caller, search(beam_size));
        (0..2000).for_each(|_| queue.push(line(&job, 5, len, 5)));
    }
    let mut tokens: BTreeMap<u64, usize> = BTreeMap::new();
    for _ in 0..1500 {
        let line = queue.pop_if(|_| true).expect("there are 6000");
        *tokens.entry(line.job.caller).or_default() += line.cost();
    }
    let (least, most) = (tokens.values().min(), tokens.values().max());
    // At most a turn and the longest line.
    assert!(
        most.zip(least)
            .is_some_and(|(most, least)| most - least <= 256 + 256),
        "{tokens:?}"
    );
}

/// Adds lines of the callers 1 to 3, each of which costs 100 tokens.
fn push_of_three(queue: &mut FairQueue, n_lines: usize) {
    for caller in 1..4 {
        let job = job(caller, search(4));
        (0..n_lines).for_each(|_| queue.push(line(&job, 5, 24, 5)));
    }
}

#[test]
fn a_caller_with_one_line_waits_for_one_turn_of_each_other() {
    let mut queue = FairQueue::default();
    push_of_three(&mut queue, 10_000);
    (0..50).for_each(|_| drop(queue.pop_if(|_| true)));
    queue.push(line(&job(4, search(4)), 5, 24, 5));
    let order = drain(&mut queue);
    let n_before = order.iter().position(|(caller, _)| *caller == 4);
    // Three callers with turns of 256 tokens, of which a line costs 100.
    assert!(n_before.is_some_and(|n| n <= 3 * 3), "{n_before:?}");
}

/// Adds a line that is translated again.
fn push_again(queue: &mut FairQueue, job: &Arc<JobState>, first: u32) {
    queue.push(Line {
        is_again: true,
        ..line(job, first, 24, 5)
    });
}

#[test]
fn a_line_that_waits_again_is_taken_before_the_others_of_its_caller() {
    let mut queue = FairQueue::default();
    let job = job(1, search(1));
    (5..8).for_each(|first| queue.push(line(&job, first, 24, 5)));
    push_again(&mut queue, &job, 8);
    let next = queue.pop_if(|_| true).map(|line| line.index);
    assert_eq!(next, Some(8));
}

#[test]
fn a_caller_that_waits_again_gets_one_turn_before_others() {
    let mut queue = FairQueue::default();
    push_of_three(&mut queue, 100);
    let again = job(4, search(4));
    (0..100).for_each(|_| push_again(&mut queue, &again, 5));
    let order: Vec<u64> = drain(&mut queue).into_iter().map(|it| it.0).collect();
    assert!(order[..2].iter().all(|caller| *caller == 4), "{order:?}");
    for caller in 1..4 {
        assert!(order[2..12].contains(&caller), "{order:?}");
    }
}

#[test]
fn callers_that_wait_again_get_their_turns_in_order_however_expensive() {
    let mut queue = FairQueue::default();
    queue.push(line(&job(1, search(1)), 5, 24, 5));
    for caller in 2..5 {
        let expensive = job(caller, search(40));
        push_again(&mut queue, &expensive, 5);
    }
    let order: Vec<u64> = drain(&mut queue).into_iter().map(|it| it.0).collect();
    assert_eq!(order, [2, 3, 4, 1]);
}

#[test]
fn a_line_that_does_not_pass_stays_the_next_one() {
    let mut queue = FairQueue::default();
    let job = job(1, search(1));
    for first in [5, 6] {
        queue.push(line(&job, first, 2, 5));
    }
    assert!(queue.pop_if(|_| false).is_none());
    let next = queue.pop_if(|_| true).map(|line| line.index);
    assert_eq!(next, Some(5));
}

#[test]
fn a_line_that_costs_more_than_many_turns_is_taken_at_last() {
    let mut queue = FairQueue::default();
    queue.push(line(&job(1, search(10_000)), 5, 1000, 5));
    assert_eq!(drain(&mut queue).len(), 1);
}

proptest! {
    #[test]
    fn every_line_is_taken_once_and_the_counts_are_those_of_the_rest(
        lines in proptest::collection::vec((0_u64..4, 1_usize..300, 1_usize..5), 0..60),
        removed in 0_u64..5,
    ) {
        let mut queue = FairQueue::default();
        let jobs: Vec<_> = (0..4).map(|caller| job(caller, search(1))).collect();
        for (caller, len, n_rows) in &lines {
            let n_rows = *n_rows;
            queue.push(Line { n_rows, ..line(&jobs[*caller as usize], 5, *len, 5) });
        }
        let is_removed = |caller: u64| caller == removed;
        if let Some(job) = jobs.get(removed as usize) {
            queue.remove(removed, &job.progress);
        }
        let rest = lines.iter().filter(|(caller, ..)| !is_removed(*caller));
        prop_assert_eq!(queue.sums.n_lines, rest.clone().count());
        prop_assert_eq!(queue.sums.n_tokens, rest.clone().map(|(_, len, _)| len + 1).sum::<usize>());
        prop_assert_eq!(queue.sums.n_rows, rest.clone().map(|(.., n_rows)| n_rows).sum::<usize>());
        let mut costs: Vec<_> = rest.map(|(caller, len, n_rows)| (*caller, (len + 1) * n_rows)).collect();
        let mut taken = drain(&mut queue);
        costs.sort_unstable();
        taken.sort_unstable();
        prop_assert_eq!(taken, costs);
        prop_assert!(queue.is_empty() && queue.sums.n_tokens == 0 && queue.sums.n_rows == 0);
    }
}

/// Returns the state of one thread with room for four lines of a beam, and for another one of a caller with few.
fn state() -> State {
    let capacity = Capacity {
        n_rows: 16,
        n_tokens: 1000,
        n_light_rows: 4,
    };
    State::new(1, capacity)
}

#[test]
fn a_single_line_beside_ten_thousand_is_done_within_the_time_of_five() {
    const LEN: usize = 7;
    let mut state = state();
    let many = job(1, search(4));
    (0..10_000).for_each(|_| state.queue.push(line_of_length(&many, 5, LEN)));
    with_batch(|batch| {
        let mut n_steps = None;
        let mut load = Load::default();
        for step in 0..100 {
            if step == 20 {
                state.queue.push(line_of_length(&job(2, search(4)), 6, LEN));
            }
            batch.add(state.take(0, load), &mut Workspaces::new());
            let ended = batch.step(&mut Workspaces::new());
            load = batch.load();
            if ended.iter().any(|it| it.line.job.caller == 2) {
                n_steps = Some(step - 20);
                break;
            }
        }
        // Lines of the first caller leave, one turn of it goes first, and then its own steps.
        assert!(n_steps.is_some_and(|n| n <= 5 * LEN), "{n_steps:?}");
    });
}

/// Translates lines of one caller, and from step 20 on `n_light` single lines of others, one after the other. Returns
/// the steps that these took, and the number of lines of the first caller that ended meanwhile.
fn beside_many(n_light: usize, len: usize) -> (Vec<usize>, usize) {
    let mut state = state();
    let many = counted(&mut state, 0, 10_000);
    (0..10_000).for_each(|_| state.queue.push(line_of_length(&many, 5, len)));
    let (mut steps, mut n_others) = (Vec::new(), 0);
    with_batch(|batch| {
        let (mut load, mut begin) = (Load::default(), None);
        for step in 0.. {
            let caller = 1 + steps.len() as u64;
            if step >= 20 && begin.is_none() {
                begin = Some(step);
                let few = counted(&mut state, caller, 1);
                state.queue.push(line_of_length(&few, 6, len));
            }
            batch.add(state.take(0, load), &mut Workspaces::new());
            let ended = batch.step(&mut Workspaces::new());
            load = batch.load();
            n_others += match begin {
                Some(_) => ended.iter().filter(|it| it.line.job.caller == 0).count(),
                None => 0,
            };
            if ended.iter().any(|it| it.line.job.caller == caller) {
                steps.extend(begin.take().map(|begin| step + 1 - begin));
            }
            if steps.len() == n_light {
                break;
            }
        }
    });
    (steps, n_others)
}

#[test]
fn a_line_of_a_caller_with_few_need_not_share_steps_with_many() {
    const LEN: usize = 12;
    let (steps, n_others) = beside_many(1, LEN);
    // It needs no room. The others, of four lines, take one or two of its steps.
    assert!(steps == [LEN] && n_others <= 4, "{steps:?}, {n_others}");
}

#[test]
fn callers_with_few_lines_leave_a_quarter_of_the_time_to_one_with_many() {
    const LEN: usize = 12;
    let (steps, n_others) = beside_many(70, LEN);
    let n_steps: usize = steps.iter().sum();
    // A step of four rows costs 12, and one of 16 others 24: they take one step after six.
    let n_expected = n_steps / 7 / LEN * 4;
    assert!(
        n_others.abs_diff(n_expected) <= 8,
        "{n_others}, not {n_expected}"
    );
}

#[test]
fn many_callers_with_few_lines_leave_turns_to_one_with_many() {
    const LEN: usize = 12;
    let mut state = state();
    let many = counted(&mut state, 0, 10_000);
    (0..10_000).for_each(|_| state.queue.push(line_of_length(&many, 5, LEN)));
    let mut waiting: Vec<u64> = (1..=40).collect();
    let mut n_ended = [0, 0];
    with_batch(|batch| {
        let mut load = Load::default();
        for _ in 0..600 {
            for caller in waiting.drain(..) {
                let few = counted(&mut state, caller, 1);
                state.queue.push(line_of_length(&few, 6, LEN));
            }
            batch.add(state.take(0, load), &mut Workspaces::new());
            for it in batch.step(&mut Workspaces::new()) {
                let caller = it.line.job.caller;
                n_ended[usize::from(caller > 0)] += 1;
                waiting.extend(Some(caller).filter(|caller| *caller > 0));
            }
            load = batch.load();
        }
    });
    let [n_many, n_few] = n_ended;
    assert!(n_many >= 20 && n_few > 2 * n_many, "{n_ended:?}");
}

#[test]
fn a_few_rows_of_callers_with_few_lines_need_no_room() {
    let mut state = State::new(
        1,
        Capacity {
            n_rows: 16,
            n_tokens: 1600,
            n_light_rows: 8,
        },
    );
    let full = Load {
        n_lines: 4,
        n_rows: 16,
        longest: 50,
        ..Load::default()
    };
    let many = counted(&mut state, 1, 100);
    (0..100).for_each(|_| state.queue.push(line(&many, 5, 9, 9)));
    assert!(state.take(0, full).is_empty());
    // The first is too long, and does not keep others waiting.
    for (caller, len) in [(2, 99), (3, 9), (4, 9), (5, 9)] {
        let few = counted(&mut state, caller, 1);
        state.queue.push(line(&few, 5, len, 9));
    }
    let taken = state.take(0, full);
    let callers: Vec<u64> = taken.iter().map(|line| line.job.caller).collect();
    assert_eq!(callers, [3, 4]);
    assert!(taken.iter().all(|line| line.is_light));
    let full = Load {
        n_rows: 24,
        n_light_rows: 8,
        ..full
    };
    assert!(state.take(0, full).is_empty());
}

/// Returns a job of a number of lines, counted among those of its caller.
fn counted(state: &mut State, caller: u64, n_lines: usize) -> Arc<JobState> {
    let callback = for_results(|_, _| ());
    let mut job = JobState::new(caller, search(4), n_lines, callback);
    job.count(n_lines, state.lines_of(caller));
    Arc::new(job)
}
