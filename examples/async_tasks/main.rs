//! Tasks of tokio share one [`Scheduler`]: each sees its translation grow, and one is cancelled.
//!
//! ```sh
//! cargo run -p examples --example async_tasks -- MODEL LINE…
//! ```
//!
//! Each LINE is translated by its own task; there are at least eight tasks. Only the tokenization of a line blocks the
//! threads of tokio.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::env;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use transformer_core::device;
use transformer_infer::scheduler::{Job, JobEvent, JobLine, Scheduler, SchedulerOptions};
use transformer_infer::search::{LengthLimit, Search};
use transformer_infer::{Translation, Translator};

const N_TASKS: usize = 8;
/// Maximum time that a caller waits for a translation.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let model = arguments.next().context("give MODEL and lines")?;
    let mut lines: Vec<String> = arguments.collect();
    ensure!(!lines.is_empty(), "give at least one line");
    let n_lines = lines.len();
    (n_lines..N_TASKS).for_each(|index| lines.push(lines[index % n_lines].clone()));

    let named = env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(named.as_deref())?;
    let translator = Arc::new(Translator::open(model, &device)?);
    let options = SchedulerOptions::default();
    let scheduler = Arc::new(Scheduler::new(Arc::clone(&translator), &options)?);

    let mut tasks = JoinSet::new();
    for (index, line) in lines.iter().cloned().enumerate() {
        let scheduler = Arc::clone(&scheduler);
        tasks.spawn(async move {
            let translated = timeout(PATIENCE, translate(&scheduler, index as u64, line));
            let translated = translated.await.context("it took too long")?;
            translated.map(|(translation, n_events)| (index, translation, n_events))
        });
    }
    give_up(&scheduler, &lines[0]).await?;

    let mut found = vec![None; lines.len()];
    while let Some(task) = tasks.join_next().await {
        let (index, translation, n_events) = task??;
        println!(
            "task {index}: {} → {} ({n_events} events)",
            lines[index],
            translation.text()
        );
        found[index] = Some(translation);
    }
    let expected = translator.translate_with(&lines, &Search::greedy())?;
    let same = found
        .iter()
        .zip(&expected)
        .all(|(found, one)| found.as_ref() == Some(one));
    ensure!(
        same,
        "the tasks got other translations than a single caller"
    );
    println!("{} tasks got what a single caller gets", lines.len());
    Ok(())
}

/// Translates a line, and returns the number of events about it. Dropping this future cancels the translation.
async fn translate(
    scheduler: &Scheduler,
    caller: u64,
    line: String,
) -> Result<(Translation, usize)> {
    let line = JobLine {
        text: line,
        index: caller,
        ..JobLine::default()
    };
    let job = Job {
        caller,
        lines: vec![line],
        search: Search::greedy(),
    };
    let (sender, mut events) = mpsc::unbounded_channel();
    // The callback runs on a thread of the scheduler. It only forwards the events.
    let _ticket = scheduler.submit_streaming(job, move |event| drop(sender.send(event)))?;
    let mut n_events = 0;
    while let Some(event) = events.recv().await {
        n_events += 1;
        if let JobEvent::Done { result, .. } = event {
            return Ok((result?, n_events));
        }
    }
    bail!("the scheduler ended before the line")
}

/// Begins a long translation, and drops its ticket after a few tokens: the line leaves its batch before the next step.
async fn give_up(scheduler: &Scheduler, line: &str) -> Result<()> {
    let limit = LengthLimit {
        factor: 0.0,
        extra: 500,
    };
    let job = Job {
        caller: u64::MAX,
        lines: vec![JobLine {
            text: line.to_owned(),
            ..JobLine::default()
        }],
        search: Search {
            min_len: limit,
            max_len: limit,
            ..Search::greedy()
        },
    };
    let (sender, mut events) = mpsc::unbounded_channel();
    let ticket = scheduler.submit_streaming(job, move |event| drop(sender.send(event)))?;
    let first = timeout(PATIENCE, events.recv()).await?;
    if let Some(JobEvent::Growing { text, .. }) = first {
        println!("given up at {text:?}");
    }
    drop(ticket);
    Ok(())
}
