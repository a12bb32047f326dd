//! Random models of every config, and batches for them.

use std::sync::OnceLock;

use burn::tensor::{Device, Int, Tensor};
use proptest::prelude::*;
use transformer_core::config::{Activation, Mixing, NormKind, NormPlacement, Positions, Tying};
use transformer_core::device::{self, Backend};
use transformer_core::text::{BOS, N_SPECIAL};
use transformer_core::{Padded, Transformer, TransformerConfig};

use crate::tolerances::Tolerances;
use crate::weights;

/// Sizes of the vocabularies; the source's is that of the target if all matrices are tied.
const SRC_VOCAB: usize = 11;
pub(crate) const TGT_VOCAB: usize = 13;

/// Source and target sentences; targets start with BOS and have one length.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) src: Vec<Vec<u32>>,
    pub(crate) tgt: Vec<Vec<u32>>,
}

/// Returns the backend and the device under test, chosen once: the choice silences panics of all
/// threads.
fn under_test() -> &'static (Backend, Device) {
    static CHOSEN: OnceLock<(Backend, Device)> = OnceLock::new();
    // BURN_DEVICE chooses the backend, as in the programs.
    let requested = std::env::var("BURN_DEVICE").ok();
    let choose = || device::choose(requested.as_deref()).expect("tests are built with a backend");
    CHOSEN.get_or_init(choose)
}

/// Returns the backend under test.
pub(crate) fn test_backend() -> Backend {
    under_test().0
}

/// Returns the device under test.
pub(crate) fn test_device() -> Device {
    under_test().1.clone()
}

/// Returns the tolerances of the backend under test.
pub(crate) fn tolerances() -> Tolerances {
    Tolerances::of(test_backend())
}

/// Generates configs with random values of all settings.
#[expect(
    clippy::too_many_lines,
    reason = "it is a list of all settings of a config"
)]
pub(crate) fn configs() -> impl Strategy<Value = TransformerConfig> {
    let norms = (
        prop_oneof![Just(NormPlacement::Post), Just(NormPlacement::Pre)],
        prop_oneof![Just(NormKind::Layer), Just(NormKind::Rms)],
    );
    let positions = prop_oneof![
        Just(Positions::Sinusoidal),
        Just(Positions::SinusoidalHalves),
        Just(Positions::SinusoidalHalvesInclusive),
        Just(Positions::Learned),
        Just(Positions::None),
    ];
    let activations = prop_oneof![
        Just(Activation::Relu),
        Just(Activation::Gelu),
        Just(Activation::Silu),
    ];
    let tyings = prop_oneof![Just(Tying::None), Just(Tying::Decoder), Just(Tying::All)];
    let mixings = prop_oneof![2 => Just(Mixing::SelfAttention), 1 => Just(Mixing::Ssru)];
    let head_widths = prop_oneof![
        Just((None, None)),
        Just((Some(3), None)),
        Just((None, Some(5))),
        Just((Some(5), Some(3))),
    ];
    let widths = (
        prop_oneof![Just(8_usize), Just(12)],
        1_usize..5,
        head_widths,
    );
    let depths = (1_usize..3, 1_usize..3);
    let windows = [
        proptest::option::of(0_usize..5),
        proptest::option::of(0_usize..5),
    ];
    let kinds = (norms, (positions, 0_usize..3), activations, tyings, mixings);
    (widths, depths, windows, kinds, any::<[bool; 6]>()).prop_map(
        |((d_model, n_heads, (d_k, d_v)), depths, windows, kinds, switches)| {
            let heads_fit = d_model.is_multiple_of(n_heads) || (d_k.is_some() && d_v.is_some());
            let (norms, (positions, first_position), activation, tying, decoder_mixing) = kinds;
            let (norm_placement, norm_kind) = norms;
            let [encoder_window, decoder_window] = windows;
            let [
                final_norm,
                attention_bias,
                scale_embeddings,
                output_bias,
                gated_feed_forward,
                embedding_norm,
            ] = switches;
            let src_vocab = if tying == Tying::All {
                TGT_VOCAB
            } else {
                SRC_VOCAB
            };
            TransformerConfig {
                d_model,
                d_ff: 14,
                n_heads: if heads_fit { n_heads } else { 2 },
                d_k,
                d_v,
                n_encoder_layers: depths.0,
                n_decoder_layers: depths.1,
                norm_placement,
                final_norm,
                norm_kind,
                positions,
                first_position,
                max_positions: 17,
                encoder_window,
                decoder_mixing,
                decoder_window: decoder_window.filter(|_| decoder_mixing == Mixing::SelfAttention),
                activation,
                gated_feed_forward,
                attention_bias,
                tying,
                scale_embeddings,
                output_bias,
                embedding_norm,
                ..TransformerConfig::base(src_vocab, TGT_VOCAB)
            }
        },
    )
}

/// Generates configs with self-attention in the decoder.
pub(crate) fn attention_configs() -> impl Strategy<Value = TransformerConfig> {
    configs().prop_map(|config| TransformerConfig {
        decoder_mixing: Mixing::SelfAttention,
        ..config
    })
}

/// Generates source sentences of different lengths, none of them empty.
pub(crate) fn sources(n_rows: usize) -> impl Strategy<Value = Vec<Vec<u32>>> {
    let sentence = proptest::collection::vec(N_SPECIAL as u32..SRC_VOCAB as u32, 1..8);
    proptest::collection::vec(sentence, n_rows)
}

/// Generates batches of up to three rows and up to seven target tokens.
pub(crate) fn batches() -> impl Strategy<Value = Batch> {
    (1_usize..4, 0_usize..7).prop_flat_map(|(n_rows, n_later)| {
        let later = proptest::collection::vec(0..TGT_VOCAB as u32, n_later);
        let row = later.prop_map(|later| [vec![BOS], later].concat());
        let tgt = proptest::collection::vec(row, n_rows);
        (sources(n_rows), tgt).prop_map(|(src, tgt)| Batch { src, tgt })
    })
}

/// Builds a model with random weights, including biases and gains.
pub(crate) fn random_model(config: &TransformerConfig, seed: u32) -> Transformer {
    weights::random_model(config, &test_device(), seed)
}

/// # Shapes
///
/// - returns: `[batch, tgt_len]`
pub(crate) fn tgt_ids(rows: &[Vec<u32>], device: &Device) -> Tensor<2, Int> {
    Padded::new(rows, device).ids()
}

/// Returns the logits of all target tokens.
///
/// # Shapes
///
/// - returns: `[batch, tgt_len, vocab]`
pub(crate) fn forward(model: &Transformer, src: &[Vec<u32>], tgt: &[Vec<u32>]) -> Tensor<3> {
    let device = model.device();
    model.forward(&Padded::new(src, &device), tgt_ids(tgt, &device))
}

/// Returns the tolerance for sums in the same order: 0 on CPU backends written in Rust, while
/// libtorch or a GPU may choose another kernel and gets `tolerance`.
pub(crate) fn same_sums(tolerance: f64) -> f64 {
    if device::is_rust_cpu(&test_device()) {
        0.0
    } else {
        tolerance
    }
}

/// Returns the largest difference of two tensors, relative to the largest absolute value in
/// `expected` or 1, whichever is larger. NaN if either contains NaN.
pub(crate) fn difference<const D: usize>(actual: Tensor<D>, expected: Tensor<D>) -> f64 {
    assert_eq!(actual.dims(), expected.dims());
    let actual: Vec<f64> = actual.into_data().iter::<f64>().collect();
    let expected: Vec<f64> = expected.into_data().iter::<f64>().collect();
    relative_difference(&actual, &expected, 1.0)
}

/// Returns the largest difference, relative to the largest absolute value in `expected` or `floor`,
/// whichever is larger. NaN if either contains NaN.
pub(crate) fn relative_difference(actual: &[f64], expected: &[f64], floor: f64) -> f64 {
    assert_eq!(actual.len(), expected.len());
    // `f64::max` ignores NaN.
    let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    let scale = expected.iter().map(|value| value.abs()).fold(floor, larger);
    let differences = actual.iter().zip(expected).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, larger) / scale
}
