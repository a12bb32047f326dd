//! Low-rank adapters of a model: adding them to matrices, and merging them.

use burn::module::{Module, ModuleVisitor, Param, Reparameterizer};
use burn::tensor::{Distribution, Tensor};

use super::low_rank::LowRankAdapter;
use super::transformer::Transformer;
use crate::config::{AdapterConfig, Place};

impl Transformer {
    /// Adds adapters to matrices, and freezes all other weights that the config does not train.
    ///
    /// One of the two matrices of an adapter is zero (`B` in layers, `A` for embeddings, as in the authors' code), so
    /// the model's results do not change. The other is drawn from `U(−1/√d, 1/√d)` for the `d` features on its side, by
    /// the generator of the device (`device.seed(…)`).
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_core::config::AdapterConfig;
    /// use transformer_core::{TransformerConfig, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
    /// let adapters = AdapterConfig { rank: 2, ..AdapterConfig::default() };
    /// let model = config.init(&device.autodiff())?.with_adapters(&adapters);
    /// assert_eq!(model.n_trained_parameters(), adapters.parameter_count(&config));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_adapters(self, config: &AdapterConfig) -> Self {
        self.apply_reparameterization(NewAdapters(config.clone()))
    }

    /// Adds every adapter, `(alpha/rank)·A·B`, and the trained changes of single rows to their matrices. The result has
    /// no adapters, and computes the same up to rounding.
    #[must_use]
    pub fn merge_adapters(self) -> Self {
        self.materialize()
    }

    /// Returns the number of parameters that training changes: those on an autodiff device that are not frozen.
    pub fn n_trained_parameters(&self) -> usize {
        let mut counter = TrainedParameters(0);
        self.visit(&mut counter);
        counter.0
    }
}

/// Adds the adapters, and freezes every other parameter that the config does not train.
struct NewAdapters(AdapterConfig);

impl Reparameterizer for NewAdapters {
    type Reparam = LowRankAdapter;

    fn reparameterize<const D: usize>(
        &mut self,
        path: &str,
        param: Param<Tensor<D>>,
    ) -> (Param<Tensor<D>>, Option<LowRankAdapter>) {
        let config = &self.0;
        let parameter = Place::named(path);
        if parameter.is_some_and(|it| config.trains(it)) {
            return (param, None);
        }
        let param = param.set_require_grad(false);
        let adapted = parameter.filter(|it| config.adapts(*it));
        let shape = param.lazy_shape();
        let (&[n_rows, n_columns], Some(parameter)) = (&shape[..], adapted) else {
            return (param, None);
        };
        let device = param.lazy_device();
        let (a, b) = ([n_rows, config.rank], [config.rank, n_columns]);
        let random = |shape, n_features: usize| {
            // The bound of loralib's linear layers: `kaiming_uniform_` with `a = √5`. Its embeddings have `N(0, 1)`,
            // which does not suit embeddings that are multiplied by `√d_model`.
            let bound = (n_features as f64).powf(-0.5);
            #[expect(clippy::disallowed_methods, reason = "the run has seeded the device")]
            Tensor::random(shape, Distribution::Uniform(-bound, bound), &device)
        };
        let (a, b) = match parameter.is_vocabulary() {
            true => (Tensor::zeros(a, &device), random(b, n_columns)),
            false => (random(a, n_rows), Tensor::zeros(b, &device)),
        };
        (param, Some(LowRankAdapter::new(a, b, config)))
    }
}

struct TrainedParameters(usize);

impl ModuleVisitor for TrainedParameters {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.is_require_grad() {
            self.0 += param.lazy_shape().num_elements();
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Reparameterization;
    use burn::optim::GradientsParams;
    use burn::tensor::{Device, Int};

    use super::*;
    use crate::Padded;
    use crate::config::{AdapterTarget, Mixing, NormPlacement, TransformerConfig, Tying};
    use crate::model::adapted_tests::{logits, packed_logits, test_device, with_values};
    use crate::packed::tests::assert_close;
    use crate::weights::{gradients_of_used, random_model};

    const ADAPTERS: [AdapterTarget; 3] = [
        AdapterTarget::AttentionQuery,
        AdapterTarget::AttentionOutput,
        AdapterTarget::FeedForwardInner,
    ];

    fn config() -> TransformerConfig {
        TransformerConfig {
            d_model: 10,
            d_ff: 14,
            n_heads: 2,
            d_k: Some(3),
            d_v: Some(4),
            n_encoder_layers: 1,
            n_decoder_layers: 2,
            ..TransformerConfig::tiny(13, 13)
        }
    }

    fn adapters() -> AdapterConfig {
        AdapterConfig {
            rank: 3,
            alpha: 6.0,
            targets: ADAPTERS.to_vec(),
            train_biases: false,
            train_norms: false,
            ..AdapterConfig::default()
        }
    }

    /// Adapters of all matrices, with trained biases and normalizations.
    fn everything() -> AdapterConfig {
        AdapterConfig {
            rank: 2,
            ..AdapterConfig::default()
        }
    }

    /// Configs that differ in the vocabulary matrices and the biases.
    fn configs() -> [TransformerConfig; 3] {
        let decoder = TransformerConfig {
            tgt_vocab_size: 15,
            tying: Tying::Decoder,
            output_bias: true,
            ..config()
        };
        let none = TransformerConfig {
            tgt_vocab_size: 15,
            tying: Tying::None,
            attention_bias: false,
            norm_placement: NormPlacement::Pre,
            final_norm: true,
            ..config()
        };
        [config(), decoder, none]
    }

    /// Returns a model, and a copy with adapters in which neither matrix is zero.
    fn models(
        config: &TransformerConfig,
        adapters: &AdapterConfig,
        device: &Device,
    ) -> (Transformer, Transformer) {
        let model = random_model(config, device, 1);
        let adapted = model.clone().with_adapters(adapters);
        let adapted = with_values(adapted, &["a", "b"], moved);
        (model, adapted)
    }

    /// Returns a value for an element of an adapter, as if trained.
    fn moved(index: usize, _: f32) -> f32 {
        (index * 7 % 11) as f32 * 0.05 - 0.2
    }

    #[test]
    fn new_adapters_change_no_bit_of_the_output() {
        for adapters in [adapters(), everything()] {
            let model = random_model(&config(), &test_device(), 1);
            let adapted = model.clone().with_adapters(&adapters);
            assert_eq!(logits(&adapted), logits(&model));
        }
    }

    #[test]
    fn a_merged_model_computes_what_the_adapted_one_does() {
        for config in configs() {
            for adapters in [adapters(), everything()] {
                let (model, adapted) = models(&config, &adapters, &test_device());
                let merged = adapted.clone().merge_adapters();
                assert_eq!(merged.num_params(), model.num_params());
                assert!(logits(&adapted) != logits(&model));
                assert_close(&logits(&merged), &logits(&adapted));
            }
        }
    }

    #[test]
    fn a_model_packed_for_translation_has_its_adapters() {
        for config in configs() {
            let (_, adapted) = models(&config, &everything(), &test_device());
            let merged = adapted.clone().merge_adapters();
            assert_eq!(packed_logits(&adapted), packed_logits(&merged));
        }
    }

    #[test]
    fn a_recurrence_is_adapted_as_attention_is() {
        let config = TransformerConfig {
            decoder_mixing: Mixing::Ssru,
            ..config()
        };
        let (_, adapted) = models(&config, &everything(), &test_device().autodiff());
        let expected = everything().parameter_count(&config);
        assert_eq!(adapted.n_trained_parameters(), expected);
        let mut paths = paths_with_gradients(&adapted);
        paths.retain(|path| path.contains(".recurrence."));
        // Two matrices with adapters and a bias, in two layers.
        assert_eq!(paths.len(), 2 * (2 * 2 + 1));
        let merged = adapted.clone().merge_adapters();
        assert_close(&logits(&merged.valid()), &logits(&adapted.valid()));
    }

    #[test]
    fn embeddings_with_adapters_keep_what_they_learned_when_they_are_frozen() {
        for config in configs() {
            let (_, adapted) = models(&config, &everything(), &test_device().autodiff());
            let frozen = adapted.clone().freeze_src_embedding();
            let frozen = frozen.freeze_tgt_embedding();
            assert_close(&logits(&frozen.clone().valid()), &logits(&adapted.valid()));
            let mut paths = paths_with_gradients(&frozen).into_iter();
            assert_eq!(paths.find(|path| path.contains("vocabulary")), None);
        }
    }

    /// Returns the paths of the parameters that have gradients.
    fn paths_with_gradients(model: &Transformer) -> Vec<String> {
        let device = model.device();
        let src = Padded::new(&[vec![4, 5, 6]], &device);
        let tgt = Tensor::<2, Int>::from_data([[2, 8, 9]], &device);
        let loss = model.forward(&src, tgt).powf_scalar(2.0).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), model);
        gradients_of_used(model, &gradients).into_keys().collect()
    }

    #[test]
    fn only_adapters_get_gradients() {
        let (_, adapted) = models(&config(), &adapters(), &test_device().autodiff());
        let paths = paths_with_gradients(&adapted);
        let others = paths
            .iter()
            .find(|path| !path.contains(LowRankAdapter::NAME));
        assert_eq!(others, None);
        // Two attentions per decoder layer and one in the encoder, with two adapters each; three networks with one.
        assert_eq!(paths.len(), 2 * (5 * 2 + 3));
    }

    #[test]
    fn biases_and_normalizations_are_trained_beside_adapters() {
        for config in configs() {
            let (_, adapted) = models(&config, &everything(), &test_device().autodiff());
            let paths = paths_with_gradients(&adapted);
            let count = |is_it: &dyn Fn(&str) -> bool| paths.iter().filter(|it| is_it(it)).count();
            let final_norms = if config.final_norm { 2 } else { 0 };
            // Two norms in the layer of the encoder, three in each of the decoder.
            let n_norms = 2 + 2 * 3 + final_norms;
            assert_eq!(count(&|path| path.ends_with("gamma")), n_norms);
            assert_eq!(count(&|path| path.ends_with("beta")), n_norms);
            // Five attentions with four matrices, three networks with two.
            let attention = if config.attention_bias { 4 } else { 0 };
            let n_biases = 5 * attention + 3 * 2 + usize::from(config.output_bias);
            assert_eq!(count(&|path| path.ends_with("bias")), n_biases);
            let n_vocabularies = match config.tying {
                Tying::All => 1,
                Tying::Decoder => 2,
                Tying::None => 3,
            };
            let n_adapters = 5 * 4 + 3 * 2 + n_vocabularies;
            assert_eq!(count(&|path| path.contains("adapter")), 2 * n_adapters);
            assert_eq!(paths.len(), 2 * n_norms + n_biases + 2 * n_adapters);
        }
    }

    #[test]
    fn the_formula_counts_the_trained_parameters() {
        let biases_alone = AdapterConfig {
            train_norms: false,
            ..everything()
        };
        for config in configs() {
            for adapters in [adapters(), everything(), biases_alone.clone()] {
                let model = random_model(&config, &test_device().autodiff(), 1);
                let adapted = model.with_adapters(&adapters);
                let expected = adapters.parameter_count(&config);
                assert_eq!(adapted.n_trained_parameters(), expected);
            }
        }
    }

    #[test]
    fn dropout_of_adapters_is_off_outside_of_training() {
        let config_with_dropout = AdapterConfig {
            dropout: 0.5,
            ..adapters()
        };
        let device = test_device().autodiff();
        let model = TransformerConfig {
            dropout: 0.0,
            ..config()
        };
        let adapted = random_model(&model, &device, 1).with_adapters(&config_with_dropout);
        let adapted = with_values(adapted, &["a", "b"], moved);
        let merged = adapted.clone().valid().merge_adapters();
        assert_close(&logits(&adapted.valid()), &logits(&merged));
        assert!(logits(&adapted) != logits(&adapted));
    }
}
