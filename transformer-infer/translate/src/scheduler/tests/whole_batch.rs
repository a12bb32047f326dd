//! Tests of [`WholeBatch`](crate::scheduler::batch::WholeBatch), which is for devices other than CPUs.

use transformer_core::directory::Tokenizers;
use transformer_core::text::{Tokenizer, TokenizerConfig};
use transformer_core::{TransformerConfig, device};
use transformer_search::Search;

use super::doubles::{job, line};
use crate::TranslatorError;
use crate::scheduler::batch::{Batch, WholeBatch};
use crate::scheduler::group::Line;
use crate::scheduler::group::Workspaces;
use crate::translator::Translator;
use crate::weights::random_model;

/// An id outside of the vocabulary, on which the model panics.
const BAD: u32 = 9999;

fn translator() -> Translator {
    let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["ein Haus", "a house"]);
    let tokenizer = tokenizer.expect("the lines are not blank");
    let n = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 16,
        d_ff: 32,
        ..TransformerConfig::tiny(n, n)
    };
    let (_, device) = device::choose(None).expect("tests are built with a backend");
    let model = random_model(&config, &device, 1);
    let translator = Translator::new(model, &config, Tokenizers::Joint(tokenizer));
    translator.expect("the tokenizers are the model's")
}

/// Returns the number of the lines that ended with each step, and of those that failed.
fn steps(translator: &Translator, lines: Vec<Line>) -> Vec<(usize, usize)> {
    let mut batch = WholeBatch::new(translator);
    batch.add(lines, &mut Workspaces::new());
    let mut steps = Vec::new();
    while !batch.is_empty() {
        let ended = batch.step(&mut Workspaces::new());
        let is_panic = |result: &_| matches!(result, Err(TranslatorError::Panic { .. }));
        let n_failed = ended.iter().filter(|it| is_panic(&it.result)).count();
        steps.push((ended.len(), n_failed));
    }
    steps
}

#[test]
fn lines_of_equal_searches_are_translated_together() {
    let (greedy, beam) = (job(1, Search::greedy()), job(1, Search::default()));
    let lines = [&greedy, &beam, &greedy].map(|job| line(job, 5, 3, 4));
    assert_eq!(steps(&translator(), lines.into()), [(2, 0), (1, 0)]);
}

#[test]
fn a_panic_is_an_error_of_the_line_at_fault() {
    let job = job(1, Search::greedy());
    let lines = [5, BAD, 6].map(|first| line(&job, first, 3, 4));
    assert_eq!(steps(&translator(), lines.into()), [(3, 1)]);
}

#[test]
fn lines_of_a_cancelled_job_are_left_out() {
    let (kept, cancelled) = (job(1, Search::greedy()), job(1, Search::greedy()));
    let lines = [&kept, &cancelled].map(|job| line(job, 5, 3, 4));
    cancelled.progress.cancel();
    assert_eq!(steps(&translator(), lines.into()), [(1, 0)]);
}
