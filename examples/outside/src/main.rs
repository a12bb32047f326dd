//! A program outside of the workspace: makes a model directory, and translates with it from two threads.

use std::error::Error;
use std::sync::Arc;
use std::{env, fs, process, thread};

use burn::module::Module;
use transformer_core::directory::{ModelDirectory, ModelParts, Tokenizers};
use transformer_core::text::{Tokenizer, TokenizerConfig};
use transformer_core::{TransformerConfig, device};
use transformer_infer::Translator;
use transformer_infer::scheduler::{Job, JobEvent, JobLine, Scheduler, SchedulerOptions};
use transformer_infer::search::Search;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::temp_dir().join(format!("outside-{}", process::id()));
    let translated = translate(&folder);
    let removed = fs::remove_dir_all(&folder);
    translated?;
    Ok(removed?)
}

fn translate(folder: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let (_, device) = device::choose(None)?;
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"])?;
    let n_tokens = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 16,
        d_ff: 32,
        ..TransformerConfig::tiny(n_tokens, n_tokens)
    };
    let parts = ModelParts {
        config: &config,
        tokenizers: &Tokenizers::Joint(tokenizer),
        weights: &config.init(&device)?.into_record().into_bytes()?,
        training: Default::default(),
    };
    ModelDirectory::write(folder, &parts)?;

    let translator = Arc::new(Translator::open(folder, &device)?);
    let scheduler = Scheduler::new(Arc::clone(&translator), &SchedulerOptions::default())?;
    let expected = translator.translate_with(&["ein Haus"], &Search::greedy())?;
    thread::scope(|scope| {
        let callers: Vec<_> = (0..2)
            .map(|caller| {
                let scheduler = &scheduler;
                scope.spawn(move || stream(scheduler, caller))
            })
            .collect();
        for caller in callers {
            let found = caller.join().map_err(|_| "a caller panicked")?;
            assert_eq!(found.as_deref(), Ok(expected[0].text()));
        }
        Ok(())
    })
}

/// Returns the translation that a stream ends with.
fn stream(scheduler: &Scheduler, caller: u64) -> Result<String, String> {
    let line = JobLine {
        text: "ein Haus".to_owned(),
        ..JobLine::default()
    };
    let job = Job {
        caller,
        lines: vec![line],
        search: Search::greedy(),
    };
    let events = scheduler.stream(job).map_err(|error| error.to_string())?;
    for event in events {
        if let JobEvent::Done { result, .. } = event {
            let translation = result.map_err(|error| error.to_string())?;
            return Ok(translation.text().to_owned());
        }
    }
    Err("the scheduler ended early".to_owned())
}
