//! Compares a [`Scheduler`] with [`Translator::translate`]: many clients with a sentence each, and a single client.
//!
//! ```sh
//! cargo run -p examples --example shared_batches -- MODEL FILE CLIENTS RUNS
//! ```
//!
//! MODEL is a model directory. The lines of FILE are translated with one call of `translate`, and then by CLIENTS
//! threads, each of which submits one line, waits for it, and continues with the next free one. Then a single client
//! translates the first 50 lines one after the other, with both. The smallest times of RUNS are printed as JSON.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;
use transformer_core::device;
use transformer_infer::allocator;
use transformer_infer::scheduler::{Job, JobLine, Scheduler, SchedulerOptions};
use transformer_infer::{Translation, Translator};

/// Lines that a single client translates.
const N_ALONE: usize = 50;

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, file, clients, runs] = arguments.as_slice() else {
        anyhow::bail!("give MODEL FILE CLIENTS RUNS");
    };
    let text = fs::read_to_string(file).with_context(|| format!("cannot read `{file}`"))?;
    let lines: Vec<&str> = text.lines().collect();
    let (n_clients, n_runs): (usize, usize) = (clients.parse()?, runs.parse()?);
    let named = std::env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(named.as_deref())?;
    let translator = Arc::new(Translator::open(model, &device)?);
    let scheduler = Scheduler::new(Arc::clone(&translator), &SchedulerOptions::default())?;
    let alone = &lines[..lines.len().min(N_ALONE)];

    let mut seconds = [f64::INFINITY; 4];
    for _ in 0..n_runs {
        let (together, time) = timed(|| translator.translate(&lines));
        let together = together?;
        seconds[0] = seconds[0].min(time);
        let (shared, time) = timed(|| by_clients(&scheduler, &lines, n_clients));
        seconds[1] = seconds[1].min(time);
        anyhow::ensure!(shared? == together, "the scheduler translates differently");
        let (single, time) = timed(|| one_by_one(&translator, alone));
        seconds[2] = seconds[2].min(time);
        let (shared, time) = timed(|| by_clients(&scheduler, alone, 1));
        seconds[3] = seconds[3].min(time);
        anyhow::ensure!(shared? == single?, "the scheduler translates differently");
    }
    let totals = scheduler.stats().totals;
    println!(
        "{}",
        json!({
            "lines_per_second": lines.len() as f64 / seconds[0],
            "lines_per_second_of_clients": lines.len() as f64 / seconds[1],
            "speed_of_clients": seconds[0] / seconds[1],
            "seconds_alone": seconds[2] / alone.len() as f64,
            "seconds_of_single_client": seconds[3] / alone.len() as f64,
            "wait_of_single_client": seconds[3] / seconds[2],
            "rows_per_step": totals.n_row_steps as f64 / totals.n_steps as f64,
            "encoding_seconds": totals.encoding.as_secs_f64(),
            "decoding_seconds": totals.decoding.as_secs_f64(),
        })
    );
    Ok(())
}

/// Returns a result and the seconds that it took.
fn timed<R>(compute: impl FnOnce() -> R) -> (R, f64) {
    let begin = Instant::now();
    let result = compute();
    (result, begin.elapsed().as_secs_f64())
}

fn one_by_one(translator: &Translator, lines: &[&str]) -> Result<Vec<Translation>> {
    let translate = |line: &&str| -> Result<Translation> {
        let found = translator.translate(&[line])?;
        found.into_iter().next().context("there is one line")
    };
    lines.iter().map(translate).collect()
}

/// Translates lines with clients that submit one at a time.
fn by_clients(scheduler: &Scheduler, lines: &[&str], n_clients: usize) -> Result<Vec<Translation>> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for caller in 0..n_clients as u64 {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(line) = lines.get(index) else { return };
                    let result = translate(scheduler, caller, line);
                    let _ = sender.send((index, result));
                }
            });
        }
    });
    drop(sender);
    let mut results: Vec<(usize, Result<Translation>)> = results.iter().collect();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Submits a line, and waits for its translation.
fn translate(scheduler: &Scheduler, caller: u64, line: &str) -> Result<Translation> {
    let line = JobLine {
        text: line.to_owned(),
        ..JobLine::default()
    };
    let job = Job {
        caller,
        lines: vec![line],
        search: scheduler.translator().search().clone(),
    };
    let (sender, result) = mpsc::channel();
    let _ticket = scheduler.submit(job, move |_, result| drop(sender.send(result)))?;
    Ok(result.recv()??)
}
