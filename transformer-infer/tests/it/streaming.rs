//! A streamed job reports each token of a greedy search, ends with what the translator returns, and is cancelled within
//! a step.

use std::sync::Arc;

use transformer_core::device::is_cpu_memory;
use transformer_infer::scheduler::{Job, JobEvent, JobLine, Scheduler, SchedulerOptions};
use transformer_infer::search::{LengthLimit, Search};
use transformer_infer::{Translation, Translator};

use crate::model::{random_model, test_device, tokenizers};

const LINES: [&str; 3] = ["a dog runs", "two men play", ""];

fn scheduler() -> Scheduler {
    let tokenizers = tokenizers();
    let (_, config, model) = random_model(tokenizers.src().vocab_size());
    let translator = Translator::new(model, &config, tokenizers);
    let translator = Arc::new(translator.expect("the tokenizers are the model's"));
    Scheduler::new(translator, &SchedulerOptions::default()).expect("threads can be started")
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

/// Returns the texts so far of each line, and its translation.
fn events(scheduler: &Scheduler, search: Search) -> Vec<(Vec<String>, Option<Translation>)> {
    let mut lines = vec![(Vec::new(), None); LINES.len()];
    for event in scheduler.stream(job(search)).expect("the job is accepted") {
        match event {
            JobEvent::Growing {
                line,
                n_tokens,
                text,
            } => {
                lines[line].0.push(text);
                assert_eq!(lines[line].0.len(), n_tokens, "no token is left out");
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
    let found = events(&scheduler, search.clone());
    let found: Option<Vec<Translation>> = found.into_iter().map(|(_, result)| result).collect();
    let expected = scheduler.translator().translate(&LINES, &search);
    assert_eq!(found, Some(expected.expect("the lines can be translated")));
}

#[test]
fn each_token_of_a_greedy_search_is_reported_as_the_text_so_far() {
    if !is_cpu_memory(&test_device()) {
        return; // Only CPUs decode in steps.
    }
    let scheduler = scheduler();
    let tokenizer = scheduler.translator().tokenizers().tgt().clone();
    for (texts, translation) in events(&scheduler, of_len(6)) {
        let translation = translation.expect("each line ends");
        let ids = &translation.candidates[0].hypothesis.ids;
        // The last token ends the line, which is reported as its translation.
        let prefixes = (1..ids.len()).map(|len| tokenizer.decode(&ids[..len]));
        assert_eq!(texts, prefixes.collect::<Vec<_>>());
    }
}

#[test]
fn a_beam_reports_only_its_ends() {
    let search = Search {
        beam_size: 3,
        ..of_len(6)
    };
    let found = events(&scheduler(), search);
    assert!(found.iter().all(|(texts, _)| texts.is_empty()));
}

#[test]
fn a_dropped_stream_leaves_its_batch_at_once() {
    if !is_cpu_memory(&test_device()) {
        return; // Only CPUs decode in steps.
    }
    let (scheduler, len) = (scheduler(), 3000);
    let mut stream = scheduler.stream(job(of_len(len))).expect("it is accepted");
    let n_read = stream.by_ref().take(4).count();
    assert_eq!(n_read, 4);
    drop(stream);
    scheduler.shut_down();
    let totals = scheduler.stats().totals;
    assert!(totals.n_steps < len as u64 / 2, "{} steps", totals.n_steps);
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
