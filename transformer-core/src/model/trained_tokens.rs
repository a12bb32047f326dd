//! Trained embeddings of single tokens, in addition to low-rank adapters of the layers.

use std::collections::HashSet;

use burn::module::{Module, Param, Reparameterizer};
use burn::tensor::Tensor;

use super::low_rank::TrainedRows;
use super::transformer::Transformer;
use crate::config::Place;

impl Transformer {
    /// Trains the vectors of some tokens, rows of the embeddings and of the pre-softmax matrix, and freezes those of
    /// all others. Call it after [`with_adapters`](Self::with_adapters) if
    /// [`AdapterConfig::trained_tokens`](crate::config::AdapterConfig::trained_tokens) is not 0.
    ///
    /// `src` and `tgt` are ids of the source and target vocabulary. If both languages share one matrix, `src` are its
    /// ids, and `tgt` is ignored.
    ///
    /// # Panics
    ///
    /// Panics if an id is not in the vocabulary, or is repeated, or if embeddings already have adapters or trained
    /// tokens.
    #[must_use]
    pub fn with_trained_tokens(self, src: &[u32], tgt: &[u32]) -> Self {
        // Burn would keep existing parts, and drop the new rows.
        let parts = self.output_parts();
        assert!(
            parts.is_none(),
            "embeddings have no adapters and no trained tokens yet"
        );
        self.apply_reparameterization(NewTrainedRows { src, tgt })
    }
}

/// Makes rows of vocabulary matrices trainable.
struct NewTrainedRows<'a> {
    src: &'a [u32],
    tgt: &'a [u32],
}

impl Reparameterizer for NewTrainedRows<'_> {
    type Reparam = TrainedRows;

    fn reparameterize<const D: usize>(
        &mut self,
        path: &str,
        param: Param<Tensor<D>>,
    ) -> (Param<Tensor<D>>, Option<TrainedRows>) {
        let ids = match Place::named(path) {
            Some(Place::SrcVocabulary) => self.src,
            Some(Place::TgtVocabulary | Place::Output) => self.tgt,
            _ => return (param, None),
        };
        let shape = param.lazy_shape();
        let outside = ids.iter().find(|id| **id as usize >= shape[0]);
        assert_eq!(outside, None, "all tokens are in the vocabulary");
        let n_different = ids.iter().collect::<HashSet<_>>().len();
        assert_eq!(n_different, ids.len(), "every token is given once");
        let rows = TrainedRows::new(ids, shape[1], &param.lazy_device());
        (param.set_require_grad(false), Some(rows))
    }
}

#[cfg(test)]
mod tests {
    use burn::optim::GradientsParams;
    use burn::tensor::{Device, Int, activation};

    use super::*;
    use crate::Padded;
    use crate::config::{Activation, AdapterConfig, TransformerConfig, Tying};
    use crate::model::adapted_tests::{logits, packed_logits, test_device, with_values};
    use crate::packed::tests::assert_close;
    use crate::weights::{gradients_of_used, random_model};

    const SRC: [u32; 3] = [6, 3, 12];
    const TGT: [u32; 3] = [9, 3, 10];

    fn config(tying: Tying) -> TransformerConfig {
        TransformerConfig {
            d_model: 10,
            d_ff: 14,
            n_heads: 2,
            n_encoder_layers: 1,
            n_decoder_layers: 1,
            dropout: 0.0,
            // Finite differences of ReLU differ from its gradients near zero.
            activation: Activation::Silu,
            tying,
            ..TransformerConfig::tiny(13, 13)
        }
    }

    fn adapters() -> AdapterConfig {
        AdapterConfig {
            rank: 2,
            trained_tokens: SRC.len(),
            ..AdapterConfig::default()
        }
    }

    /// Returns a model, and a copy with trained tokens that have moved by different amounts.
    fn models(tying: Tying, device: &Device) -> (Transformer, Transformer) {
        let model = random_model(&config(tying), device, 1);
        let adapted = model.clone().with_adapters(&adapters());
        let adapted = adapted.with_trained_tokens(&SRC, &TGT);
        let value = |index, _| (index * 7 % 11) as f32 - 4.0;
        (model, with_values(adapted, &["change"], value))
    }

    #[test]
    fn tokens_that_have_not_moved_change_no_bit_of_the_output() {
        for tying in [Tying::All, Tying::Decoder, Tying::None] {
            let model = random_model(&config(tying), &test_device(), 1);
            let adapted = model.clone().with_trained_tokens(&SRC, &TGT);
            assert_eq!(logits(&adapted), logits(&model));
        }
    }

    #[test]
    fn a_merged_model_computes_what_the_trained_one_does() {
        for tying in [Tying::All, Tying::Decoder, Tying::None] {
            let (model, adapted) = models(tying, &test_device());
            let merged = adapted.clone().merge_adapters();
            assert_eq!(merged.num_params(), model.num_params());
            assert!(logits(&adapted) != logits(&model));
            assert_close(&logits(&merged), &logits(&adapted));
            assert_eq!(packed_logits(&adapted), packed_logits(&merged));
        }
    }

    #[test]
    fn only_the_rows_of_these_tokens_change() {
        let (model, adapted) = models(Tying::None, &test_device());
        let merged = adapted.merge_adapters();
        let [before, after] = [model.output_weight(), merged.output_weight()].map(|weight| {
            let values: Vec<f32> = weight.into_data().iter::<f32>().collect();
            values.chunks(10).map(<[f32]>::to_vec).collect::<Vec<_>>()
        });
        let rows = before.iter().zip(&after).enumerate();
        let changed = rows.filter(|(_, (before, after))| before != after);
        let changed: Vec<usize> = changed.map(|(row, _)| row).collect();
        assert_eq!(changed, [3, 9, 10]);
    }

    #[test]
    fn the_formula_counts_the_trained_parameters() {
        for tying in [Tying::All, Tying::Decoder, Tying::None] {
            let (_, adapted) = models(tying, &test_device().autodiff());
            let expected = adapters().parameter_count(&config(tying));
            assert_eq!(adapted.n_trained_parameters(), expected);
        }
    }

    /// Central differences of a loss in each trained value.
    #[test]
    fn gradients_are_those_of_finite_differences() {
        let device = test_device().autodiff();
        let (_, adapted) = models(Tying::All, &device);
        let loss = |model: &Transformer| {
            let src = Padded::new(&[vec![4, 6, 12]], &device);
            let tgt = Tensor::<2, Int>::from_data([[2, 3, 9]], &device);
            let log_probs = activation::log_softmax(model.forward(&src, tgt), 2);
            log_probs.slice([0..1, 0..3, 6..7]).sum()
        };
        let gradients = GradientsParams::from_grads(loss(&adapted).backward(), &adapted);
        let mut gradients = gradients_of_used(&adapted, &gradients);
        gradients.retain(|name, _| name.ends_with(".change"));
        assert_eq!(gradients.len(), 1, "one matrix for all");
        let found = gradients
            .into_values()
            .next()
            .expect("it is trained")
            .values;
        for index in [0, 7, 13, 29] {
            let shifted = |by: f32| {
                let value = |i, old| if i == index { old + by } else { old };
                let shifted = with_values(adapted.clone(), &["change"], value);
                loss(&shifted).into_scalar::<f32>()
            };
            let step = 0.02;
            let expected = (shifted(step) - shifted(-step)) / (2.0 * step);
            // In single precision, the loss is about ten, and known to 1e-6, which is divided by 0.04. The error of the
            // formula is about 0.02² (4e-4) times the third derivative.
            assert!((found[index] - expected).abs() < 1e-3, "{index}");
        }
        assert!(found.iter().any(|gradient| gradient.abs() > 0.01));
    }

    #[test]
    #[should_panic(expected = "embeddings have no adapters and no trained tokens yet")]
    fn tokens_of_embeddings_that_have_adapters_panic() {
        let model = random_model(&config(Tying::All), &test_device(), 1);
        let low_rank = AdapterConfig {
            trained_tokens: 0,
            ..adapters()
        };
        let model = model.with_adapters(&low_rank);
        let _ = model.with_trained_tokens(&SRC, &TGT);
    }

    #[test]
    #[should_panic(expected = "every token is given once")]
    fn a_repeated_token_panics() {
        let model = random_model(&config(Tying::All), &test_device(), 1);
        let _ = model.with_trained_tokens(&[3, 3], &[]);
    }

    #[test]
    #[should_panic(expected = "all tokens are in the vocabulary")]
    fn a_token_outside_the_vocabulary_panics() {
        let model = random_model(&config(Tying::All), &test_device(), 1);
        let _ = model.with_trained_tokens(&[13], &[]);
    }
}
