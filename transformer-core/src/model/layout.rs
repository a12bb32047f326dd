//! Where the numbers of matrices lie in memory, as decoding reads them fastest.

use super::transformer::Transformer;
use crate::device;

impl Transformer {
    /// Lays out the matrices in memory as products of few rows, which decoding is made of, read them fastest
    /// on the model's device.
    ///
    /// That is by columns on libtorch, and as they are on all other backends. Weights and records stay the
    /// same, and outputs but for rounding; the memory for one more matrix is held meanwhile, and given back.
    /// [`ModelDirectory::load`](crate::ModelDirectory::load) does this by itself. A model that records
    /// gradients stays as it is.
    #[must_use]
    pub fn laid_out_for_decoding(self) -> Self {
        let device = self.output_weight().device();
        if device.is_autodiff() || !device::reads_columns(&device) {
            return self;
        }
        self.laid_by_columns()
    }

    fn laid_by_columns(mut self) -> Self {
        self.encoder.lay_by_columns();
        self.decoder.lay_by_columns();
        self
    }
}

#[cfg(test)]
mod tests {
    use burn::module::{Module, ModuleVisitor, Param};
    use burn::tensor::Tensor;

    use super::*;
    use crate::config::TransformerConfig;
    use crate::padded::Padded;

    /// Collects every number of every parameter, in the order of the record.
    struct Numbers(Vec<f32>);

    impl ModuleVisitor for Numbers {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.extend(param.val().into_data().iter::<f32>());
        }
    }

    fn model() -> Transformer {
        let named = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(named.as_deref()).expect("tests have a backend");
        let config = TransformerConfig {
            d_model: 8,
            d_ff: 12,
            n_heads: 2,
            ..TransformerConfig::tiny(11, 11)
        };
        config.init(&device).expect("the config describes a model")
    }

    #[test]
    fn weights_stay_the_same_wherever_their_numbers_lie() {
        let model = model();
        let (mut before, mut after) = (Numbers(Vec::new()), Numbers(Vec::new()));
        model.visit(&mut before);
        model.laid_by_columns().visit(&mut after);
        assert_eq!(before.0, after.0);
    }

    #[test]
    fn outputs_stay_the_same_wherever_the_numbers_of_weights_lie() {
        let model = model();
        let src = Padded::new(&[vec![4, 5, 6], vec![7]], &model.output_weight().device());
        let log_probs = |model: &Transformer| {
            let tgt = Tensor::from_data([[2, 8, 4], [2, 9, 5]], &model.output_weight().device());
            let log_probs = model.log_probs(&src, tgt).into_data();
            log_probs.iter::<f32>().collect::<Vec<f32>>()
        };
        let expected = log_probs(&model);
        let found = log_probs(&model.laid_by_columns());
        assert_eq!(found.len(), expected.len());
        // Of float32 sums of at most 12 products in another order.
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
        assert!(
            found.iter().zip(&expected).all(close),
            "{found:?} {expected:?}"
        );
    }
}
