//! Low-rank adapters of a model: which matrices have one, and how they become part of the matrices.

use burn::module::{Module, ModuleVisitor, Param, Reparameterizer};
use burn::tensor::{Distribution, Tensor};

use super::low_rank::LowRankAdapter;
use super::transformer::Transformer;
use crate::config::{AdaptedMatrix, AdapterConfig};

impl Transformer {
    /// Adds adapters to matrices, and freezes all weights but the adapters.
    ///
    /// `A` is drawn at random, as in the authors' code, by the generator of the device (`device.seed(…)`). `B` is zero,
    /// so the model computes what it did before.
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

    /// Adds every adapter to its matrix: `W + (alpha/rank)·A·B`. The result has no adapters, and computes the same up
    /// to rounding.
    #[must_use]
    pub fn merge_adapters(self) -> Self {
        self.materialize()
    }

    /// Returns the number of parameters that training changes: all on an autodiff device that are not frozen.
    pub fn n_trained_parameters(&self) -> usize {
        let mut counter = TrainedParameters(0);
        self.visit(&mut counter);
        counter.0
    }
}

/// Freezes every parameter, and adds the adapters.
struct NewAdapters(AdapterConfig);

impl Reparameterizer for NewAdapters {
    type Reparam = LowRankAdapter;

    fn reparameterize<const D: usize>(
        &mut self,
        path: &str,
        param: Param<Tensor<D>>,
    ) -> (Param<Tensor<D>>, Option<LowRankAdapter>) {
        let param = param.set_require_grad(false);
        let config = &self.0;
        let is_adapted = matrix_of(path).is_some_and(|matrix| config.adapts(matrix));
        let shape = param.lazy_shape();
        let (&[d_in, d_out], true) = (&shape[..], is_adapted) else {
            return (param, None);
        };
        let device = param.lazy_device();
        // The bound of loralib: `kaiming_uniform_` with `a = √5`.
        let bound = (d_in as f64).powf(-0.5);
        let uniform = Distribution::Uniform(-bound, bound);
        let a = Tensor::random([d_in, config.rank], uniform, &device);
        let b = Tensor::zeros([config.rank, d_out], &device);
        (param, Some(LowRankAdapter::new(a, b, config)))
    }
}

/// Names of attentions.
const SELF: &str = "self_attention";
const CROSS: &str = "cross_attention";

/// Returns the kind of matrix that a parameter is, by its name; `None` if it has no adapter.
fn matrix_of(path: &str) -> Option<AdaptedMatrix> {
    let mut names = path.rsplit('.');
    if names.next() != Some("weight") {
        return None;
    }
    Some(match (names.next()?, names.next()?) {
        ("query", SELF | CROSS) => AdaptedMatrix::Query,
        ("key", SELF | CROSS) => AdaptedMatrix::Key,
        ("value", SELF | CROSS) => AdaptedMatrix::Value,
        ("output", SELF | CROSS) => AdaptedMatrix::Output,
        ("inner", "feed_forward") => AdaptedMatrix::Inner,
        ("outer", "feed_forward") => AdaptedMatrix::Outer,
        _ => return None,
    })
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
    use burn::module::{ModuleMapper, Reparameterization};
    use burn::optim::GradientsParams;
    use burn::tensor::{Device, Int, TensorData};

    use super::*;
    use crate::config::{AdapterTarget, TransformerConfig};
    use crate::packed::Workspace;
    use crate::{ComputePrecision, PackedTransformer, Padded, device};

    const ADAPTERS: [AdapterTarget; 3] = [
        AdapterTarget::AttentionQuery,
        AdapterTarget::AttentionOutput,
        AdapterTarget::FeedForwardInner,
    ];

    fn test_device() -> Device {
        let requested = std::env::var("BURN_DEVICE").ok();
        let chosen = device::choose(requested.as_deref());
        chosen.expect("tests are built with a backend").1
    }

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
            ..AdapterConfig::default()
        }
    }

    /// Returns a model, and a copy with adapters whose `B` is not zero.
    fn models(device: &Device) -> (Transformer, Transformer) {
        let model = config().init(device).expect("the config is valid");
        let adapted = model.clone().with_adapters(&adapters());
        let adapted = adapted.map(&mut MoveB(String::new()));
        (model, adapted)
    }

    /// Gives the matrices `B` values, as training does.
    struct MoveB(String);

    impl ModuleMapper for MoveB {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            name.clone_into(&mut self.0);
        }

        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            if self.0 != "b" {
                return param;
            }
            let moved = param.map(|b| {
                let n = b.shape().num_elements();
                let values: Vec<f32> = (0..n).map(|i| (i * 7 % 11) as f32 * 0.05 - 0.2).collect();
                let values = TensorData::new(values, b.shape());
                Tensor::from_data(values, &b.device())
            });
            moved.set_require_grad(true)
        }
    }

    fn logits(model: &Transformer) -> Vec<f32> {
        let device = model.output_weight().device();
        let src = Padded::new(&[vec![4, 5, 6, 12], vec![7]], &device);
        let tgt = Tensor::<2, Int>::from_data([[2, 8, 9], [2, 9, 4]], &device);
        let logits = model.forward(&src, tgt).into_data();
        logits.iter::<f32>().collect()
    }

    fn assert_close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        // Single precision; logits of about one, after three layers.
        let mut pairs = found.iter().zip(expected);
        let far = pairs.find(|(a, b)| (*a - *b).abs() > 2e-5);
        assert_eq!(far, None);
    }

    #[test]
    fn new_adapters_change_no_bit_of_the_output() {
        let model = config().init(&test_device()).expect("the config is valid");
        let adapted = model.clone().with_adapters(&adapters());
        assert_eq!(logits(&adapted), logits(&model));
    }

    #[test]
    fn a_merged_model_computes_what_the_adapted_one_does() {
        let (model, adapted) = models(&test_device());
        let merged = adapted.clone().merge_adapters();
        assert_eq!(merged.num_params(), model.num_params());
        assert!(logits(&adapted) != logits(&model));
        assert_close(&logits(&merged), &logits(&adapted));
    }

    #[test]
    fn a_model_packed_for_translation_has_its_adapters() {
        let (_, adapted) = models(&test_device());
        let merged = adapted.clone().merge_adapters();
        let logits = |model: &Transformer| {
            let packed = PackedTransformer::of(model, ComputePrecision::F32);
            let mut workspace = Workspace::new();
            let mut state = packed.begin(&[[4, 5, 6]], &mut workspace);
            packed.step(&mut state, &[2], &mut workspace).to_vec()
        };
        assert_eq!(logits(&adapted), logits(&merged));
    }

    #[test]
    fn only_adapters_get_gradients() {
        let (_, adapted) = models(&test_device().autodiff());
        let device = adapted.output_weight().device();
        let src = Padded::new(&[vec![4, 5, 6]], &device);
        let tgt = Tensor::<2, Int>::from_data([[2, 8, 9]], &device);
        let loss = adapted.forward(&src, tgt).powf_scalar(2.0).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &adapted);
        let mut check = CheckGradients {
            gradients,
            path: Vec::new(),
            n_adapters: 0,
        };
        adapted.visit(&mut check);
        // Two attentions a decoder layer and one in the encoder, with two adapters each; three
        // networks with one.
        assert_eq!(check.n_adapters, 2 * (5 * 2 + 3));
    }

    /// Checks that parameters of adapters have gradients, and that no others do.
    struct CheckGradients {
        gradients: GradientsParams,
        path: Vec<String>,
        n_adapters: usize,
    }

    impl ModuleVisitor for CheckGradients {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let is_adapter = self.path.iter().any(|name| name == LowRankAdapter::NAME);
            let has_gradient = self.gradients.get::<D>(param.id).is_some();
            assert_eq!(has_gradient, is_adapter, "{}", self.path.join("."));
            self.n_adapters += usize::from(is_adapter);
        }
    }

    #[test]
    fn the_formula_counts_the_parameters_of_adapters() {
        let (_, adapted) = models(&test_device().autodiff());
        let expected = adapters().parameter_count(&config());
        assert_eq!(adapted.n_trained_parameters(), expected);
        let everything = AdapterConfig {
            rank: 2,
            ..AdapterConfig::default()
        };
        let model = config().init(&test_device().autodiff());
        let model = model.expect("the config is valid");
        let adapted = model.with_adapters(&everything);
        assert_eq!(
            adapted.n_trained_parameters(),
            everything.parameter_count(&config())
        );
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
        let model = model.init(&device).expect("the config is valid");
        let adapted = model.with_adapters(&config_with_dropout);
        let adapted = adapted.map(&mut MoveB(String::new()));
        let merged = adapted.clone().valid().merge_adapters();
        assert_close(&logits(&adapted.valid()), &logits(&merged));
        assert!(logits(&adapted) != logits(&adapted));
    }
}
