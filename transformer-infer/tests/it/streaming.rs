//! A streamed job reports each token of a greedy search, ends with what the translator returns, and is cancelled within
//! a step.

use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};

use transformer_core::device::is_cpu_memory;
use transformer_infer::scheduler::{Job, JobEvent, JobLine, Scheduler, SchedulerOptions};
use transformer_infer::search::{LengthLimit, Search};
use transformer_infer::{Translation, Translator};

use crate::model::{random_model, test_device, tokenizers};

const LINES: [&str; 3] = ["a dog runs", "two men play", ""];

fn scheduler() -> Scheduler {
    scheduler_with(&SchedulerOptions::default())
}

fn scheduler_with(options: &SchedulerOptions) -> Scheduler {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    let translator = Translator::new(model, &config, tokenizers);
    let translator = Arc::new(translator.expect("the tokenizers are the model's"));
    Scheduler::new(translator, options).expect("threads can be started")
}

fn job(search: Search) -> Job {
    let line = |(index, text): (u64, &str)| JobLine {
        text: text.to_owned(),
        index,
        ..JobLine::default()
    };
    Job {
        caller: 1,
        lines: (0..).zip(LINES).map(line).collect(),
        search,
    }
}

/// Returns a greedy search for translations of exactly so many tokens.
fn of_len(len: usize) -> Search {
    let limit = LengthLimit {
        factor: 0.0,
        extra: len,
    };
    Search {
        min_len: limit,
        max_len: limit,
        ..Search::greedy()
    }
}

/// The numbers of tokens and the texts so far of a line, and its translation.
type LineEvents = (Vec<(usize, String)>, Option<Translation>);

/// Returns what a stream reports of each line.
fn streamed(scheduler: &Scheduler, search: Search) -> Vec<LineEvents> {
    by_line(scheduler.stream(job(search)).expect("the job is accepted"))
}

/// Returns what the callback of a job is called with, for each line.
fn reported(scheduler: &Scheduler, search: Search) -> Vec<LineEvents> {
    let (sender, events) = mpsc::channel();
    let send = move |event| drop(sender.send(event));
    let ticket = scheduler.submit_streaming(job(search), send);
    let _ticket = ticket.expect("the job is accepted");
    by_line(events)
}

fn by_line(events: impl IntoIterator<Item = JobEvent>) -> Vec<LineEvents> {
    let mut lines = vec![(Vec::new(), None); LINES.len()];
    for event in events {
        match event {
            JobEvent::Growing {
                line,
                n_tokens,
                text,
            } => {
                assert_eq!(lines[line].1, None, "nothing follows the end");
                lines[line].0.push((n_tokens, text));
            }
            JobEvent::Done { line, result } => {
                let before = lines[line].1.replace(result.expect("the model has no NaN"));
                assert_eq!(before, None);
            }
            other => unreachable!("{other:?}"),
        }
    }
    lines
}

#[test]
fn a_stream_ends_each_line_with_what_the_translator_returns() {
    let (scheduler, search) = (scheduler(), of_len(6));
    let found = streamed(&scheduler, search.clone());
    let found: Option<Vec<Translation>> = found.into_iter().map(|(_, result)| result).collect();
    let expected = scheduler.translator().translate_with(&LINES, &search);
    assert_eq!(found, Some(expected.expect("the lines can be translated")));
}

#[test]
fn each_token_of_a_greedy_search_is_reported_as_the_text_so_far() {
    if !is_cpu_memory(&test_device()) {
        return; // Only CPUs decode in steps.
    }
    let scheduler = scheduler();
    let tokenizer = scheduler.translator().tokenizers().tgt().clone();
    for (texts, translation) in reported(&scheduler, of_len(6)) {
        let translation = translation.expect("each line ends");
        let ids = &translation.candidates[0].hypothesis.ids;
        // The last token ends the line, which is reported as its translation.
        let prefixes = (1..ids.len()).map(|len| (len, tokenizer.decode(&ids[..len])));
        assert_eq!(texts, prefixes.collect::<Vec<_>>());
    }
}

#[test]
fn the_texts_of_a_stream_are_texts_so_far_of_more_and_more_tokens() {
    let scheduler = scheduler();
    let tokenizer = scheduler.translator().tokenizers().tgt().clone();
    for (texts, translation) in streamed(&scheduler, of_len(50)) {
        let translation = translation.expect("each line ends");
        let ids = &translation.candidates[0].hypothesis.ids;
        assert!(texts.is_sorted_by(|(n, _), (more, _)| n < more));
        let prefixes = texts
            .iter()
            .map(|(n, _)| (*n, tokenizer.decode(&ids[..*n])));
        assert_eq!(texts, prefixes.collect::<Vec<_>>());
    }
}

#[test]
fn a_beam_reports_only_its_ends() {
    let search = Search {
        beam_size: 3,
        ..of_len(6)
    };
    let found = reported(&scheduler(), search);
    assert!(found.iter().all(|(texts, _)| texts.is_empty()));
}

#[test]
fn the_line_of_a_dropped_ticket_leaves_its_batch_before_the_next_token() {
    if !is_cpu_memory(&test_device()) {
        return; // Only CPUs decode in steps.
    }
    let scheduler = scheduler();
    let mut job = job(of_len(3000));
    job.lines.truncate(1);
    let (reached, is_reached) = mpsc::channel();
    let (dropped, is_dropped) = mpsc::channel();
    let ticket = scheduler.submit_streaming(job, move |event| {
        if matches!(event, JobEvent::Growing { n_tokens: 4, .. }) {
            reached.send(()).expect("the test waits for it");
            is_dropped.recv().expect("the test sends it");
        }
    });
    let ticket = ticket.expect("the job is accepted");
    is_reached.recv().expect("a fourth token is reported");
    drop(ticket);
    dropped.send(()).expect("the callback waits for it");
    scheduler.shut_down();
    // The step that removes the line is counted, too.
    let totals = scheduler.stats().totals;
    assert!(totals.n_steps <= 5, "{} steps", totals.n_steps);
}

#[test]
fn a_panic_of_what_a_callback_owns_leaves_the_thread_to_other_jobs() {
    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::panic_any("a panic of the test");
        }
    }

    let scheduler = scheduler_with(&SchedulerOptions {
        n_threads: Some(NonZeroUsize::MIN),
        ..SchedulerOptions::default()
    });
    for _ in 0..2 {
        let value = Panics;
        let (sender, results) = mpsc::channel();
        let ticket = scheduler.submit(job(of_len(3)), move |_, result| {
            let _ = &value;
            drop(sender.send(result));
        });
        let _ticket = ticket.expect("the job is accepted");
        assert_eq!(results.iter().filter(Result::is_ok).count(), LINES.len());
    }
}

#[test]
fn a_streaming_callback_that_panics_cancels_its_job() {
    let scheduler = scheduler();
    let ticket = scheduler.submit_streaming(job(of_len(200)), |event| {
        assert!(
            !matches!(event, JobEvent::Growing { n_tokens: 3, .. }),
            "a panic of the test"
        );
    });
    let ticket = ticket.expect("the job is accepted");
    scheduler.shut_down();
    assert!(!is_cpu_memory(&test_device()) || !ticket.is_done());
}
