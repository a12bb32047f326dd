//! Tests of outputs that a shortlist limits.

use std::sync::Arc;

use super::tests::{configs, random_model, sentences, token};
use super::{ComputePrecision, PackedState, PackedTransformer, Workspace};
use crate::Shortlist;
use crate::config::Tying;

/// Returns a shortlist with 6 common tokens and every seventh token in the lists of all source tokens.
fn shortlist(n_src: usize, n_tgt: usize) -> Arc<Shortlist> {
    let ids: Vec<u32> = (0..n_tgt as u32).step_by(7).collect();
    let offsets = (0..=n_src as u64).map(|token| token * ids.len() as u64);
    let sizes = [6, 50, n_src as u64 + 1, (n_src * ids.len()) as u64];
    let numbers = sizes.into_iter().chain(offsets).flat_map(u64::to_le_bytes);
    let ids = ids.repeat(n_src).into_iter().flat_map(u32::to_le_bytes);
    let body: Vec<u8> = numbers.chain(ids).collect();
    Arc::new(Shortlist::of_body(&body, n_src, n_tgt).expect("the sizes add up"))
}

/// Takes some steps, and returns the logits of each.
fn steps(
    model: &PackedTransformer,
    mut state: PackedState,
    sentences: &[Vec<u32>],
    workspace: &mut Workspace,
) -> Vec<Vec<f32>> {
    let steps = (0..5).map(|step| {
        let last: Vec<u32> = sentences.iter().map(|it| token(it, step)).collect();
        model.step(&mut state, &last, workspace).to_vec()
    });
    steps.collect()
}

#[test]
fn candidates_have_the_logits_they_have_among_all_tokens_and_others_none() {
    let sentences = sentences();
    let mut n_limited = 0;
    for config in configs() {
        for precision in [ComputePrecision::F32, ComputePrecision::Int8] {
            let (n_src, vocab) = (config.src_vocab_size, config.tgt_vocab_size);
            let model = PackedTransformer::of(&random_model(&config), precision);
            let model = model.with_shortlist(Some(shortlist(n_src, vocab)));
            let mut workspace = Workspace::new();
            let state = model.begin(&sentences, &mut workspace);
            let all = steps(&model, state, &sentences, &mut workspace);
            // Every second sentence is limited, if the output is that of the embeddings.
            let is_limited: Vec<bool> = (0..sentences.len()).map(|row| row % 2 == 0).collect();
            let state = model.begin_limited(&sentences, &is_limited, &mut workspace);
            let candidates: Vec<Option<Vec<u32>>> = (0..sentences.len())
                .map(|row| state.candidates(row).map(<[u32]>::to_vec))
                .collect();
            let limited = steps(&model, state, &sentences, &mut workspace);
            for (all, limited) in all.iter().zip(&limited) {
                let rows = all.chunks(vocab).zip(limited.chunks(vocab));
                for (row, (all, limited)) in rows.enumerate() {
                    let ids = candidates[row].as_ref();
                    assert_eq!(
                        ids.is_some(),
                        is_limited[row] && config.tying != Tying::None
                    );
                    for (id, (all, limited)) in (0..).zip(all.iter().zip(limited)) {
                        match ids.is_none_or(|ids| ids.contains(&id)) {
                            true => assert_eq!(all, limited, "{id} of row {row}, {config:?}"),
                            false => assert_eq!(*limited, f32::NEG_INFINITY),
                        }
                    }
                    n_limited += usize::from(ids.is_some());
                }
            }
        }
    }
    assert!(n_limited > 0, "some model is limited");
}
