//! Memory of a running batch of a Transformer: it depends on the running lines, not on earlier ones.

use transformer_core::config::Mixing;
use transformer_core::{ComputePrecision, PackedTransformer, TransformerConfig, device};

use super::doubles::{job, line, search};
use crate::scheduler::batch::{Batch, RunningBatch};
use crate::scheduler::group::{BatchModel, PackedModels, Workspaces};
use crate::scheduler::state::{Capacity, Load, State};
use crate::weights::random_model;
use transformer_search::Search;

/// The maximum length of a translation, in tokens.
const MAX_LEN: usize = 9;

#[test]
fn ten_thousand_sentences_through_one_batch_leave_no_step_behind() {
    // Of a source with EOS, and of the steps that are stored.
    assert_bounded(Mixing::SelfAttention, 10_000, 7 + MAX_LEN);
}

#[test]
fn a_recurrence_stores_no_steps() {
    assert_bounded(Mixing::Ssru, 1000, 7);
}

/// Checks that the longest row of a batch through which sentences pass never exceeds `longest` tokens.
fn assert_bounded(decoder_mixing: Mixing, n_sentences: u32, longest: usize) {
    let (_, device) = device::choose(Some("flex")).expect("flex is compiled in");
    let config = TransformerConfig {
        d_model: 8,
        d_ff: 8,
        n_heads: 2,
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        decoder_mixing,
        ..TransformerConfig::tiny(50, 50)
    };
    let model = random_model(&config, &device, 1);
    let model = PackedTransformer::of(&model, ComputePrecision::F32);
    let new_model = |search: &Search| -> Box<dyn BatchModel + '_> {
        Box::new(PackedModels::new(&[&model], search))
    };
    let mut batch = RunningBatch::new(&new_model);
    let mut state = State::new(
        1,
        Capacity {
            n_rows: 64,
            n_tokens: 8192,
            n_light_rows: 0,
        },
    );
    let job = job(1, search(1));
    for index in 0..n_sentences {
        let len = 2 + index as usize % 5;
        // Limits of 1 to 9 tokens, so that sentences come and go at every step.
        let max_len = 1 + index as usize * 7 % MAX_LEN;
        state.queue.push(line(&job, 5 + index % 40, len, max_len));
    }
    let (mut load, mut workspaces, mut n_ended) = (Load::default(), Workspaces::new(), 0);
    while n_ended < n_sentences as usize {
        batch.add(state.take(0, load), &mut workspaces);
        n_ended += batch.step(&mut workspaces).len();
        load = batch.load();
        assert!(load.longest <= longest, "{load:?}");
        assert!(load.n_rows <= 64, "{load:?}");
    }
    assert!(batch.is_empty() && load == Load::default());
}
