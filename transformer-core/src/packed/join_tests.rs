//! Tests of sentences that join others during decoding.

use std::sync::{Arc, Weak};

use super::state::{OwnState, SentenceMemory};
use super::tests::{configs, random_model, sentences, token};
use super::{ComputePrecision, PackedState, PackedTransformer, Workspace};
use crate::random::SplitMix64;

/// Decodes `n_steps` tokens of a sentence alone; returns the logits of each step.
fn alone(model: &PackedTransformer, sentence: &[u32], n_steps: u32) -> Vec<Vec<f32>> {
    let mut workspace = Workspace::new();
    let mut state = model.begin(&[sentence], &mut workspace);
    let steps = (0..n_steps).map(|step| {
        let last = [token(sentence, step)];
        model.step(&mut state, &last, &mut workspace).to_vec()
    });
    steps.collect()
}

/// A state with rows that come and go at random, and the sentence and length of each row.
struct Crowd<'a> {
    model: &'a PackedTransformer,
    state: PackedState,
    workspace: Workspace,
    /// For each row, the index of its sentence and the number of its tokens.
    rows: Vec<(usize, u32)>,
}

impl Crowd<'_> {
    /// Adds sentences, given by index, which are encoded together.
    fn join(&mut self, sentences: &[Vec<u32>], indices: &[usize]) {
        let new: Vec<&Vec<u32>> = indices.iter().map(|index| &sentences[*index]).collect();
        let new = self.model.begin(&new, &mut self.workspace);
        self.state.join(new);
        self.rows.extend(indices.iter().map(|index| (*index, 0)));
    }

    fn select(&mut self, rows: &[usize]) {
        self.state.select(rows);
        self.rows = rows.iter().map(|row| self.rows[*row]).collect();
    }

    /// Decodes one token of each row, and compares with the logits of the sentence alone.
    fn step(&mut self, sentences: &[Vec<u32>], expected: &[Vec<Vec<f32>>]) {
        let rows = self.rows.iter();
        let last: Vec<u32> = rows
            .map(|(index, step)| token(&sentences[*index], *step))
            .collect();
        let logits = self
            .model
            .step(&mut self.state, &last, &mut self.workspace)
            .to_vec();
        let logits = logits.chunks(self.model.config().tgt_vocab_size);
        for ((index, step), logits) in self.rows.iter_mut().zip(logits) {
            assert_eq!(logits, expected[*index][*step as usize]);
            *step += 1;
        }
    }
}

#[test]
fn a_sentence_that_joins_others_has_the_logits_it_has_alone() {
    const N_STEPS: u32 = 9;
    let sentences = sentences();
    for config in configs() {
        for precision in [ComputePrecision::F32, ComputePrecision::Int8] {
            let model = PackedTransformer::of(&random_model(&config), precision);
            let expected = sentences.iter().map(|it| alone(&model, it, N_STEPS));
            let expected: Vec<_> = expected.collect();
            let mut crowd = Crowd {
                model: &model,
                state: model.without_rows(),
                workspace: Workspace::new(),
                rows: Vec::new(),
            };
            let mut generator = SplitMix64::new(3);
            let mut below = |n: usize| (generator.uniform() * n as f64) as usize;
            for _ in 0..30 {
                let new: Vec<usize> = (0..below(3)).map(|_| below(sentences.len())).collect();
                if !new.is_empty() {
                    crowd.join(&sentences, &new);
                }
                // Rows leave, stay, and are copied, in another order.
                let n_rows = crowd.rows.len();
                let mut kept: Vec<usize> = (0..n_rows).map(|_| below(n_rows)).collect();
                kept.retain(|row| crowd.rows[*row].1 < N_STEPS);
                crowd.select(&kept);
                if !kept.is_empty() {
                    crowd.step(&sentences, &expected);
                }
            }
        }
    }
}

fn model() -> PackedTransformer {
    let config = &configs()[0];
    PackedTransformer::of(&random_model(config), ComputePrecision::F32)
}

#[test]
fn steps_that_no_row_took_part_in_are_freed() {
    let (model, mut workspace) = (model(), Workspace::new());
    let mut state = model.begin(&[[9, 3]], &mut workspace);
    for _ in 0..5 {
        model.step(&mut state, &[4], &mut workspace);
    }
    state.join(model.begin(&[[8, 7, 3]], &mut workspace));
    model.step(&mut state, &[4, 5], &mut workspace);
    assert_eq!((state.n_steps(), state.n_decoded(0)), (6, 6));
    state.select(&[1]);
    assert_eq!((state.n_steps(), state.n_decoded(0)), (1, 1));
    state.select(&[]);
    assert_eq!((state.n_steps(), state.n_rows()), (0, 0));
}

#[test]
fn a_recurrence_keeps_no_steps() {
    let config = &configs()[5];
    let model = PackedTransformer::of(&random_model(config), ComputePrecision::F32);
    let mut workspace = Workspace::new();
    let mut state = model.begin(&[[9, 3]], &mut workspace);
    for _ in 0..5 {
        model.step(&mut state, &[4], &mut workspace);
    }
    assert_eq!((state.n_steps(), state.n_decoded(0)), (0, 5));
    let OwnState::Vectors(layers) = state.own else {
        panic!("the decoder has a recurrence");
    };
    assert!(layers.iter().all(|cells| cells.len() == config.d_model));
}

#[test]
#[should_panic(expected = "both states are of the same model")]
fn a_state_of_another_kind_of_decoder_cannot_join() {
    let recurrent = random_model(&configs()[5]);
    let recurrent = PackedTransformer::of(&recurrent, ComputePrecision::F32);
    model().without_rows().join(recurrent.without_rows());
}

#[test]
fn the_memory_of_a_sentence_is_freed_with_its_last_row() {
    let (model, mut workspace) = (model(), Workspace::new());
    let mut state = model.begin(&[vec![9, 3], vec![8, 7, 3]], &mut workspace);
    let memories: Vec<Weak<SentenceMemory>> = state.memories.iter().map(Arc::downgrade).collect();
    state.select(&[1, 0, 1]);
    state.select(&[0, 2]);
    let is_stored = |index: usize| memories[index].upgrade().is_some();
    assert_eq!((is_stored(0), is_stored(1)), (false, true));
}

#[test]
#[should_panic(expected = "only a state without tokens can join")]
fn a_state_with_tokens_cannot_join() {
    let (model, mut workspace) = (model(), Workspace::new());
    let mut state = model.begin(&[[9, 3]], &mut workspace);
    model.step(&mut state, &[4], &mut workspace);
    model.without_rows().join(state);
}
