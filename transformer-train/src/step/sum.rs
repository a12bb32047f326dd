//! Data parallelism over processes: each has computed the gradient of its own micro-batches, divided by the target
//! tokens of the whole update, so that the sum is the gradient of the update.

use std::collections::HashSet;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use super::loss::LossSums;
use super::ranks::Ranks;
use crate::batching::BatchSize;

/// Minimum number of elements of a gradient that is summed by a separate call: a quarter of a megabyte.
const LARGE: usize = 1 << 16;

/// Sums the gradients of all processes (all-reduce): large ones one after the other, small ones together.
///
/// Burn returns gradients only after the backward pass, so communication cannot overlap it.
pub(super) fn sum_gradients<M: Module>(
    module: &M,
    gradients: GradientsParams,
    ranks: Ranks,
) -> GradientsParams {
    let mut large = SumLarge {
        gradients,
        ranks,
        summed: HashSet::new(),
        small: Vec::new(),
    };
    module.visit(&mut large);
    let values = ranks.summed(large.small);
    let mut small = ReplaceSmall {
        gradients: large.gradients,
        values: &values,
    };
    module.visit(&mut small);
    small.gradients
}

/// Sums the losses and the sizes of all processes.
pub(super) fn sum_reports(
    losses: LossSums,
    size: BatchSize,
    ranks: Ranks,
) -> (LossSums, BatchSize) {
    let device = losses.nll.device();
    let [smoothed, nll] = losses.values();
    let [
        smoothed,
        nll,
        n_sentences,
        n_src_tokens,
        n_labels,
        n_elements,
    ] = ranks.sum_doubles([
        smoothed,
        nll,
        size.n_sentences as f64,
        size.n_src_tokens as f64,
        size.n_labels as f64,
        size.n_elements as f64,
    ]);
    let losses = LossSums::on(&device, [smoothed, nll]);
    let size = BatchSize {
        n_sentences: n_sentences as usize,
        n_src_tokens: n_src_tokens as usize,
        n_labels: n_labels as usize,
        n_elements: n_elements as usize,
    };
    (losses, size)
}

/// Sums large gradients, and collects the elements of small ones, in the order of the module.
struct SumLarge {
    gradients: GradientsParams,
    ranks: Ranks,
    /// The large gradients summed so far: a parameter that occurs twice has one gradient.
    summed: HashSet<ParamId>,
    small: Vec<f32>,
}

impl ModuleVisitor for SumLarge {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        // Removed from the gradients, so that its memory can be reused.
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            return;
        };
        if gradient.shape().num_elements() < LARGE {
            self.small.extend(floats(gradient.clone()));
            self.gradients.register(param.id, gradient);
            return;
        }
        if !self.summed.insert(param.id) {
            self.gradients.register(param.id, gradient);
            return;
        }
        let (shape, device) = (gradient.shape(), gradient.device());
        let sums = TensorData::new(self.ranks.summed(floats(gradient)), shape);
        let sums = Tensor::<D>::from_data(sums, &device);
        self.gradients.register(param.id, sums);
    }
}

/// Replaces small gradients by these values.
struct ReplaceSmall<'a> {
    gradients: GradientsParams,
    values: &'a [f32],
}

impl ModuleVisitor for ReplaceSmall<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(gradient) = self.gradients.get::<D>(param.id) else {
            return;
        };
        let (shape, device) = (gradient.shape(), gradient.device());
        if shape.num_elements() < LARGE {
            let (values, rest) = self.values.split_at(shape.num_elements());
            self.values = rest;
            let sums = TensorData::new(values.to_vec(), shape);
            let sums = Tensor::<D>::from_data(sums, &device);
            self.gradients.remove::<D>(param.id);
            self.gradients.register(param.id, sums);
        }
    }
}

/// Returns the elements of a tensor, row by row, in single precision.
fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    let data = tensor.into_data().convert::<f32>();
    data.try_into_vec().expect("they are of single precision")
}

#[cfg(test)]
mod tests {
    use burn::nn::LinearConfig;
    use transformer_core::device;

    use super::*;

    #[test]
    fn a_process_alone_keeps_its_gradients_large_or_small() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let config = LinearConfig::new(LARGE, 1).with_bias(true);
        let layer = config.init(&device);
        let bias = layer.bias.as_ref().expect("it has a bias");
        let values: Vec<f32> = (0..LARGE as u32).map(|index| index as f32).collect();
        let mut gradients = GradientsParams::new();
        let large = TensorData::new(values.clone(), [LARGE, 1]);
        gradients.register(layer.weight.id, Tensor::<2>::from_data(large, &device));
        gradients.register(bias.id, Tensor::<1>::from_data([-2.0], &device));
        let summed = sum_gradients(&layer, gradients, Ranks::default());
        let found = summed.get::<2>(layer.weight.id).expect("it is registered");
        assert_eq!(found.dims(), [LARGE, 1]);
        assert_eq!(floats(found), values);
        let found = summed.get::<1>(bias.id).expect("it is registered");
        assert_eq!(floats(found), [-2.0]);
    }
}
