//! A scheduler returns what its translator returns, whatever else it translates.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use proptest::prelude::*;
use transformer_core::ComputePrecision;
use transformer_core::device::is_cpu_memory;
use transformer_infer::scheduler::{Job, JobLine, Scheduler, SchedulerOptions, Ticket};
use transformer_infer::search::{LengthLimit, Sampling, Search};
use transformer_infer::{Input, OpenOptions, Translation, Translator, TranslatorError};

use crate::model::{random_model, ruined_translator, test_device, tokenizers, write_model};

type LineResult = Result<Translation, TranslatorError>;

fn translator() -> Arc<Translator> {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    let translator = Translator::new(model, &config, tokenizers);
    Arc::new(translator.expect("the tokenizers are the model's"))
}

fn open(paths: &[&Path], precision: ComputePrecision) -> Arc<Translator> {
    let options = OpenOptions {
        precision: is_cpu_memory(&test_device()).then_some(precision),
        ..OpenOptions::default()
    };
    let translator = Translator::open_ensemble(paths, &test_device(), &options);
    Arc::new(translator.expect("the models were just written"))
}

fn scheduler(translator: Arc<Translator>, n_threads: usize) -> Scheduler {
    let options = SchedulerOptions {
        n_threads: NonZeroUsize::new(n_threads),
        ..SchedulerOptions::default()
    };
    Scheduler::new(translator, &options).expect("threads can be started")
}

fn job(lines: &[&str], search: &Search) -> Job {
    let line = |(index, text): (u64, &&str)| JobLine {
        text: (*text).to_owned(),
        index,
        ..JobLine::default()
    };
    Job {
        caller: 1,
        lines: (0..).zip(lines).map(line).collect(),
        search: search.clone(),
    }
}

/// Submits a job; the receiver ends with it.
fn submit(
    scheduler: &Scheduler,
    job: Job,
) -> Result<(Ticket, mpsc::Receiver<(usize, LineResult)>), TranslatorError> {
    let (sender, results) = mpsc::channel();
    let ticket = scheduler.submit(job, move |index, result| {
        let _ = sender.send((index, result));
    })?;
    Ok((ticket, results))
}

/// Returns the results of a job in the order of its lines.
fn results(scheduler: &Scheduler, job: Job) -> Vec<LineResult> {
    let (_ticket, results) = submit(scheduler, job).expect("the job is accepted");
    let mut results: Vec<(usize, LineResult)> = results.iter().collect();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Returns what the translator returns for each line of a job, alone.
fn expected(translator: &Translator, job: &Job) -> Vec<LineResult> {
    let of_line = |(index, line): (usize, &JobLine)| {
        let terms: Vec<&str> = line.terms.iter().map(String::as_str).collect();
        let input = Input {
            text: &line.text,
            prefix: &line.prefix,
            terms: &terms,
            index: line.index,
            direction: line.direction,
        };
        let found = translator.translate_inputs(&[input], &job.search, &mut |_| ());
        let found = found.map_err(|error| error.with_line(|_| index + 1))?;
        Ok(found.into_iter().next().expect("there is one line"))
    };
    job.lines.iter().enumerate().map(of_line).collect()
}

/// Compares results to the last bit; errors by their message.
fn assert_same(found: &[LineResult], expected: &[LineResult]) {
    assert_eq!(found.len(), expected.len());
    for pair in found.iter().zip(expected) {
        match pair {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected.to_string()),
            other => unreachable!("one is an error: {other:?}"),
        }
    }
}

fn short(search: Search) -> Search {
    let max_len = LengthLimit {
        factor: 1.0,
        extra: 6,
    };
    Search { max_len, ..search }
}

fn searches() -> impl Strategy<Value = Search> {
    let beam = |beam_size, n_best| Search {
        beam_size,
        n_best,
        ..Search::default()
    };
    let covered = Search {
        coverage_penalty: 0.2,
        no_repeat_ngram: Some(2),
        ..beam(3, 3)
    };
    let sampled = Search {
        sampling: Some(Sampling::default()),
        ..beam(1, 2)
    };
    let all = [
        Search::greedy(),
        beam(4, 1),
        beam(4, 3),
        beam(2, 2),
        covered,
        sampled,
    ];
    proptest::sample::select(all.map(short).to_vec())
}

/// Lines of letters, some of which the vocabulary lacks, with prefixes and terms.
fn lines() -> impl Strategy<Value = Vec<JobLine>> {
    let terms = proptest::collection::vec("[a-f]{2,3}", 0..2);
    let line = ("[a-f ]{0,14}", "[a-fx]{0,2}", terms, 0_u64..9);
    let line = line.prop_map(|(text, prefix, terms, index)| JobLine {
        text,
        // One in ten or so.
        prefix: if index == 4 { prefix } else { String::new() },
        terms: if index == 5 { terms } else { Vec::new() },
        index,
        ..JobLine::default()
    });
    proptest::collection::vec(line, 0..6)
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let job = (0_u64..3, lines(), searches()).prop_map(|(caller, mut lines, search)| {
        if search.sampling.is_some() {
            lines.iter_mut().for_each(|line| line.terms.clear());
        }
        Job {
            caller,
            lines,
            search,
        }
    });
    proptest::collection::vec(job, 1..8)
}

/// Submits every job from a thread of its own, and compares.
fn assert_equal_to_translator(scheduler: &Scheduler, jobs: &[Job]) {
    thread::scope(|scope| {
        let start = |job: &Job| {
            let job = job.clone();
            scope.spawn(move || results(scheduler, job))
        };
        let threads: Vec<_> = jobs.iter().map(start).collect();
        for (thread, job) in threads.into_iter().zip(jobs) {
            let found = thread.join().expect("no job panics");
            assert_same(&found, &expected(scheduler.translator(), job));
        }
    });
}

#[test]
fn translations_equal_those_of_the_translator_whatever_else_runs() {
    if !is_cpu_memory(&test_device()) {
        return; // a GPU rounds differently in batches of other sizes
    }
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    write_model(folder.path());
    let translators = [
        translator(),
        open(&[folder.path()], ComputePrecision::Int8),
        open(&[folder.path(), folder.path()], ComputePrecision::F32),
    ];
    for translator in translators {
        for n_threads in [1, 3] {
            let scheduler = scheduler(Arc::clone(&translator), n_threads);
            let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(12));
            let outcome = runner.run(&jobs(), |jobs| {
                assert_equal_to_translator(&scheduler, &jobs);
                Ok(())
            });
            assert!(outcome.is_ok(), "{outcome:?}");
        }
    }
}

#[test]
fn a_line_that_is_at_fault_is_the_only_one_with_an_error() {
    let scheduler = scheduler(translator(), 2);
    let mut job = job(&["a cab", "bad", ""], &short(Search::default()));
    job.lines[1].prefix = "xyz".to_owned();
    let found = results(&scheduler, job);
    assert!(matches!(
        &found[1],
        Err(TranslatorError::Prefix { line: 2, .. })
    ));
    assert!(found[0].is_ok() && found[2].as_ref().is_ok_and(|it| it.text().is_empty()));
}

#[test]
fn a_model_that_computes_nan_is_an_error_of_every_line() {
    let scheduler = scheduler(Arc::new(ruined_translator()), 2);
    let found = results(&scheduler, job(&["a", "b"], &short(Search::default())));
    let is_nan = |(index, found): (usize, &LineResult)| matches!(found, Err(TranslatorError::NotANumber { line, .. }) if *line == index + 1);
    assert!(found.iter().enumerate().all(is_nan), "{found:?}");
}

#[test]
fn an_invalid_search_is_refused_when_it_is_submitted() {
    let scheduler = scheduler(translator(), 1);
    let invalid = Search {
        beam_size: 0,
        ..Search::default()
    };
    let refused = submit(&scheduler, job(&["a"], &invalid)).map(|_| ());
    let refused = refused.expect_err("a beam of 0 is not valid").to_string();
    assert_eq!(
        refused,
        "`beam_size` is 0; choose at least 1 (1 is greedy search)"
    );
}

/// Occupies the only thread of a scheduler until the sender is dropped.
fn occupy(scheduler: &Scheduler) -> (Ticket, mpsc::Sender<()>) {
    let (release, wait) = mpsc::channel::<()>();
    let (entered, is_entered) = mpsc::channel();
    let blank = job(&[""], &Search::greedy());
    let ticket = scheduler.submit(blank, move |_, _| {
        let _ = entered.send(());
        let _ = wait.recv();
    });
    let _ = is_entered.recv();
    (ticket.expect("the job is accepted"), release)
}

#[test]
fn more_tokens_than_may_wait_are_refused_until_some_are_translated() {
    let options = SchedulerOptions {
        n_threads: NonZeroUsize::new(1),
        max_queue_tokens: 10,
        ..SchedulerOptions::default()
    };
    let scheduler = Scheduler::new(translator(), &options).expect("threads can be started");
    let search = short(Search::greedy());
    let (_busy, release) = occupy(&scheduler);
    let first = submit(&scheduler, job(&["cab", "d"], &search));
    assert_eq!(scheduler.stats().n_queued_tokens, 6);
    let refused = submit(&scheduler, job(&["a cab"], &search)).map(|_| ());
    let message = refused.expect_err("6 and 6 are 12").to_string();
    assert_eq!(
        message,
        "6 tokens are waiting, and 6 more would exceed the limit of 10; try again when some are translated"
    );
    drop(release);
    let (_ticket, translated) = first.expect("6 tokens are within the limit");
    assert_eq!(translated.iter().count(), 2);
    assert!(submit(&scheduler, job(&["a cab"], &search)).is_ok());
    let too_large = submit(&scheduler, job(&["a bad cab faded"], &search)).map(|_| ());
    let message = too_large.expect_err("it has 16 tokens").to_string();
    assert_eq!(
        message,
        "the job has 16 tokens, more than the limit of 10 tokens that may wait; split it"
    );
}

#[test]
fn a_job_without_a_limit_is_neither_refused_nor_counted() {
    let options = SchedulerOptions {
        n_threads: NonZeroUsize::new(1),
        max_queue_tokens: 10,
        ..SchedulerOptions::default()
    };
    let scheduler = Scheduler::new(translator(), &options).expect("threads can be started");
    let search = short(Search::greedy());
    let (_busy, release) = occupy(&scheduler);
    let (sender, results) = mpsc::channel();
    let unlimited = scheduler.submit_unlimited(job(&["a bad cab faded"], &search), move |_, _| {
        let _ = sender.send(());
    });
    assert_eq!(scheduler.stats().n_queued_tokens, 16);
    assert!(scheduler.has_room(1, 10) && scheduler.has_room(1, 11));
    let limited = submit(&scheduler, job(&["a cab"], &search));
    assert!(scheduler.has_room(1, 4) && !scheduler.has_room(1, 5));
    drop(release);
    let (_limited, limited) = limited.expect("6 tokens are within the limit");
    assert_eq!(limited.iter().count(), 1);
    let _unlimited = unlimited.expect("no limit holds");
    assert_eq!(results.iter().count(), 1);
    assert!(scheduler.has_room(1, 10));
}

#[test]
fn a_full_queue_refuses_only_callers_with_more_than_their_share() {
    let options = SchedulerOptions {
        n_threads: NonZeroUsize::new(1),
        max_queue_tokens: 12,
        ..SchedulerOptions::default()
    };
    let scheduler = Scheduler::new(translator(), &options).expect("threads can be started");
    let search = short(Search::greedy());
    let (_busy, release) = occupy(&scheduler);
    let first = submit(&scheduler, job(&["a cab", "a bad"], &search));
    assert!(first.is_ok() && !scheduler.has_room(1, 1));
    assert!(scheduler.has_room(2, 6) && !scheduler.has_room(2, 7));
    // All tokens of the caller itself, and as many of the other.
    assert_eq!(scheduler.n_tokens_before(2, 2), 4);
    assert_eq!(scheduler.n_tokens_before(2, 100), 112);
    let other = Job {
        caller: 2,
        ..job(&["cab"], &search)
    };
    let second = submit(&scheduler, other);
    assert!(second.is_ok());
    assert!(scheduler.has_room(2, 2) && !scheduler.has_room(2, 3));
    assert!(scheduler.has_room(3, 4));
    drop(release);
}

#[test]
fn dropping_a_ticket_removes_its_lines_from_the_queue() {
    let scheduler = scheduler(translator(), 1);
    let search = short(Search::default());
    let (_busy, release) = occupy(&scheduler);
    let (cancelled, no_results) = submit(&scheduler, job(&["a", "b"], &search)).expect("accepted");
    let (_kept, kept_results) = submit(&scheduler, job(&["c"], &search)).expect("accepted");
    assert_eq!(scheduler.stats().n_queued_lines, 3);
    drop(cancelled);
    assert_eq!(scheduler.stats().n_queued_lines, 1);
    drop(release);
    assert_eq!(
        (no_results.iter().count(), kept_results.iter().count()),
        (0, 1)
    );
}

#[test]
fn the_time_until_the_first_line_is_taken_is_counted_for_each_job() {
    let scheduler = scheduler(translator(), 1);
    let (_busy, release) = occupy(&scheduler);
    let lines = job(&["a", "b", "c"], &short(Search::default()));
    let (_ticket, results) = submit(&scheduler, lines).expect("it is accepted");
    let submitted = Instant::now();
    assert_eq!(scheduler.stats().n_queued_lines, 3);
    let waited = submitted.elapsed();
    drop(release);
    assert_eq!(results.iter().count(), 3);
    let totals = scheduler.stats().totals;
    assert_eq!(totals.jobs_by_wait.iter().sum::<u64>(), 2);
    assert!(totals.waited >= waited, "{totals:?}");
}

#[test]
fn shutting_down_finishes_what_was_accepted_and_refuses_the_rest() {
    let scheduler = scheduler(translator(), 2);
    let lines = ["a cab", "", "bad", "feed a cab"].repeat(50);
    let (_ticket, translated) =
        submit(&scheduler, job(&lines, &short(Search::default()))).expect("it is accepted");
    scheduler.shut_down();
    assert_eq!(translated.try_iter().count(), 200);
    assert_eq!(scheduler.stats().totals.n_translated, 200);
    let refused = submit(&scheduler, job(&["a"], &Search::greedy())).map(|_| ());
    assert!(matches!(refused, Err(TranslatorError::ShutDown)));
}

#[test]
fn dropping_the_scheduler_ends_every_job() {
    let scheduler = scheduler(translator(), 2);
    let lines = ["a bad cab faded"; 500];
    let (_ticket, translated) =
        submit(&scheduler, job(&lines, &Search::default())).expect("it is accepted");
    drop(scheduler);
    // The callback is dropped, so the receiver ends.
    assert!(translated.iter().count() <= 500);
}

#[test]
fn a_callback_may_own_the_scheduler() {
    let scheduler = Arc::new(scheduler(translator(), 1));
    let owned = Arc::clone(&scheduler);
    let (sender, done) = mpsc::channel();
    let job = job(&["a"], &Search::greedy());
    let ticket = scheduler.submit(job, move |_, _| {
        let _ = sender.send(owned.stats());
    });
    drop(scheduler);
    assert!(ticket.is_ok() && done.recv().is_ok());
}

#[test]
fn a_callback_that_panics_ends_its_job_only() {
    let scheduler = scheduler(translator(), 1);
    let search = short(Search::greedy());
    let panics = scheduler.submit(job(&["a", "b"], &search), |_, _| {
        std::panic::resume_unwind(Box::new("the callback"));
    });
    let found = results(&scheduler, job(&["a cab", "bad"], &search));
    assert!(panics.is_ok() && found.iter().all(Result::is_ok));
}
