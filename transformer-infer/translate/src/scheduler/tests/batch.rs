//! Tests of [`RunningBatch`](crate::scheduler::batch::RunningBatch): who joins, who leaves, who fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use transformer_search::{Hypothesis, Request, Sampling, Search};

use super::doubles::{
    BAD, alone, callback_that_panics_when_dropped, finish, job, job_with_receiver, line,
    line_of_length, search, streamed_job, with_batch,
};
use crate::TranslatorError;
use crate::scheduler::batch::Batch;
use crate::scheduler::group::{Line, Workspaces};
use crate::scheduler::job::JobState;

/// Returns jobs of every kind of search.
fn jobs() -> Vec<Arc<JobState>> {
    let sampling = Search {
        sampling: Some(Sampling::default()),
        n_best: 3,
        ..search(1)
    };
    let n_best = Search {
        n_best: 2,
        ..search(4)
    };
    let searches = [search(1), search(4), n_best, search(3), sampling];
    searches.map(|search| job(1, search)).to_vec()
}

proptest! {
    #[test]
    fn a_line_that_joins_others_gets_the_result_it_gets_alone(
        // The job, the first token, the limit of the length, whether its caller has few lines, and the steps before the
        // next arrival.
        arrivals in proptest::collection::vec(
            (0_usize..5, 5_u32..40, 0_usize..9, any::<bool>(), 0_usize..4),
            1..30,
        ),
    ) {
        let jobs = jobs();
        let mut ended = Vec::new();
        let new: Vec<Line> = arrivals
            .iter()
            .map(|(job, first, max_len, is_light, _)| Line {
                is_light: *is_light,
                ..line(&jobs[*job], *first, 2, *max_len)
            })
            .collect();
        let expected: Vec<Vec<Hypothesis>> = new.iter().map(alone).collect();
        with_batch(|batch| {
            for (index, (mut line, (.., n_steps))) in new.into_iter().zip(&arrivals).enumerate() {
                line.index = index;
                batch.add(vec![line], &mut Workspaces::new());
                for _ in 0..*n_steps {
                    ended.extend(batch.step(&mut Workspaces::new()));
                }
            }
            ended.extend(finish(batch));
        });
        prop_assert_eq!(ended.len(), expected.len());
        for it in ended {
            let found = it.result.map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&found, &expected[it.line.index]);
        }
    }
}

#[test]
fn searches_that_differ_in_the_number_of_hypotheses_share_a_model() {
    let n_models = with_batch(|batch| {
        let one = job(1, search(4));
        let four = Search {
            n_best: 4,
            ..search(4)
        };
        let lines = vec![line(&one, 9, 2, 5), line(&job(2, four), 9, 2, 5)];
        batch.add(lines, &mut Workspaces::new());
        let numbers = finish(batch)
            .into_iter()
            .map(|it| it.result.map_or(0, |found| found.len()));
        assert_eq!(numbers.max(), Some(4));
    });
    assert_eq!(n_models, 1);
}

#[test]
fn lines_of_equal_searches_join_the_model_that_runs() {
    let n_models = with_batch(|batch| {
        let job = job(1, search(1));
        for first in 5..9 {
            batch.add(vec![line_of_length(&job, first, 6)], &mut Workspaces::new());
            batch.step(&mut Workspaces::new());
        }
        assert_eq!(batch.n_rows(), 4);
        finish(batch);
    });
    assert_eq!(n_models, 1);
}

/// Returns for each line, by its first token, whether it was translated as alone; `None` if it failed.
fn outcomes(lines: Vec<Line>) -> BTreeMap<usize, Option<bool>> {
    let alone = |line: &Line| {
        (!line.ids.contains(&BAD) && line.request.prefix.is_empty()).then(|| alone(line))
    };
    let expected: BTreeMap<usize, _> = lines.iter().map(|it| (it.index, alone(it))).collect();
    let mut outcomes = BTreeMap::new();
    with_batch(|batch| {
        batch.add(lines, &mut Workspaces::new());
        for it in finish(batch) {
            let outcome = match it.result {
                Ok(found) => Some(expected[&it.line.index].as_ref() == Some(&found)),
                Err(TranslatorError::Panic { .. }) => None,
                Err(other) => unreachable!("the model only panics: {other}"),
            };
            outcomes.insert(it.line.index, outcome);
        }
    });
    outcomes
}

/// Returns four lines, the third of which is changed.
fn lines_with(change: impl FnOnce(&mut Line)) -> Vec<Line> {
    let job = job(1, search(4));
    let lines = (5..9).map(|first| line_of_length(&job, first, 7));
    let mut lines: Vec<Line> = lines.collect();
    change(&mut lines[2]);
    lines
}

#[test]
fn a_panic_of_a_step_is_an_error_of_one_line() {
    let lines = lines_with(|line| line.request.prefix = vec![5, 6, BAD, 7]);
    let expected = [(5, Some(true)), (6, Some(true)), (7, None), (8, Some(true))];
    assert_eq!(outcomes(lines), BTreeMap::from(expected));
}

#[test]
fn a_panic_of_the_encoder_is_an_error_of_one_line() {
    let lines = lines_with(|line| line.ids.push(BAD));
    let expected = [(5, Some(true)), (6, Some(true)), (7, None), (8, Some(true))];
    assert_eq!(outcomes(lines), BTreeMap::from(expected));
}

#[test]
fn the_error_of_a_panic_names_the_line_and_the_message() {
    let mut message = String::new();
    with_batch(|batch| {
        let mut lines = lines_with(|line| line.ids.push(BAD));
        batch.add(vec![lines.remove(2)], &mut Workspaces::new());
        let ended = finish(batch).remove(0);
        message = ended
            .result
            .map_or_else(|error| error.to_string(), |_| String::new());
    });
    assert_eq!(
        message,
        "this program failed to translate line 8: a bad source; report this bug with the line, and leave the line \
         out"
    );
}

#[test]
fn the_rows_of_a_cancelled_job_leave_before_the_next_step() {
    with_batch(|batch| {
        let (kept, cancelled) = (job(1, search(1)), job(2, search(1)));
        let lines = (5..9).map(|first| line_of_length(&kept, first, 7));
        let others = (9..12).map(|first| line_of_length(&cancelled, first, 7));
        batch.add(lines.chain(others).collect(), &mut Workspaces::new());
        batch.step(&mut Workspaces::new());
        assert_eq!(batch.n_rows(), 7);
        cancelled.progress.cancel();
        batch.step(&mut Workspaces::new());
        assert_eq!(batch.n_rows(), 4);
        assert_eq!(finish(batch).len(), 4);
    });
}

#[test]
fn the_callback_of_a_cancelled_job_is_dropped() {
    let (job, receiver) = job_with_receiver(search(1));
    job.deliver(3, Err(TranslatorError::LongPrefix { line: 1, most: 1 }));
    job.progress.cancel();
    job.deliver(4, Err(TranslatorError::LongPrefix { line: 1, most: 1 }));
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [3]);
}

#[test]
fn a_panic_of_what_a_callback_owns_ends_with_its_last_call() {
    let job = JobState::new(1, search(1), 1, callback_that_panics_when_dropped());
    job.deliver(0, Err(TranslatorError::LongPrefix { line: 1, most: 1 }));
    assert!(job.progress.is_done());
}

#[test]
fn a_panic_of_what_the_callback_of_a_cancelled_job_owns_leaves_the_other_lines() {
    let callback = callback_that_panics_when_dropped();
    let cancelled = Arc::new(JobState::new(2, search(1), 1, callback));
    let kept = job(1, search(1));
    let lines = vec![line(&cancelled, 9, 2, 5), line(&kept, 8, 2, 5)];
    cancelled.progress.cancel();
    drop(cancelled);
    with_batch(|batch| {
        batch.add(lines, &mut Workspaces::new());
        assert_eq!(finish(batch).len(), 1);
    });
}

#[test]
fn a_line_that_begins_again_reports_no_number_of_tokens_twice() {
    let job = streamed_job(search(1));
    let mut lines: Vec<Line> = (5..9).map(|first| line_of_length(&job, first, 7)).collect();
    lines[2].request.prefix = vec![5, 6, BAD, 7];
    let mut reported: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    with_batch(|batch| {
        batch.add(lines, &mut Workspaces::new());
        while !batch.is_empty() {
            batch.step(&mut Workspaces::new());
            for grown in batch.grown() {
                let of_line = reported.entry(grown.index).or_default();
                of_line.push(grown.ids.len());
            }
        }
    });
    // The panic is at the fourth step; a seventh token ends a line, and is not reported alone.
    let all: Vec<usize> = (1..7).collect();
    let expected =
        [5, 6, 7, 8].map(|index| (index, all[..if index == 7 { 3 } else { 6 }].to_vec()));
    assert_eq!(reported, BTreeMap::from(expected));
}

#[test]
fn a_line_of_no_length_needs_no_model() {
    with_batch(|batch| {
        let job = job(1, search(4));
        let nothing = Line {
            request: Request::up_to(0),
            ..line(&job, 5, 2, 0)
        };
        batch.add(vec![nothing], &mut Workspaces::new());
        let ended = batch.step(&mut Workspaces::new()).remove(0);
        let found = ended.result.map(|found| found.len());
        assert!(found.is_ok_and(|n| n == 1) && batch.is_empty());
    });
}
