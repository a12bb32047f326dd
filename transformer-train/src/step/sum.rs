//! Data parallelism over processes: every one has computed the gradient of its own micro-batches, divided by the target
//! tokens of the whole update, so that the sum is the gradient of the update.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};

use super::loss::LossSums;
use super::ranks::Ranks;
use crate::batching::BatchSize;

/// Sums the gradients of all processes (all-reduce).
///
/// Burn hands out gradients when the backward pass is over, so that no communication can overlap it.
pub(super) fn sum_gradients<M: Module>(
    module: &M,
    gradients: GradientsParams,
    ranks: Ranks,
) -> GradientsParams {
    let mut flat = Flatten {
        gradients,
        values: Vec::with_capacity(module.num_params()),
    };
    module.visit(&mut flat);
    let Flatten {
        gradients,
        mut values,
    } = flat;
    ranks.sum(&mut values);
    let mut restore = Restore {
        gradients,
        values: &values,
    };
    module.visit(&mut restore);
    restore.gradients
}

/// Sums the losses and the sizes of all processes.
pub(super) fn sum_reports(
    losses: LossSums,
    size: BatchSize,
    ranks: Ranks,
) -> (LossSums, BatchSize) {
    let device = losses.nll.device();
    let scalar = |tensor: Tensor<1>| tensor.into_scalar::<f64>();
    let [
        smoothed,
        nll,
        n_sentences,
        n_src_tokens,
        n_labels,
        n_elements,
    ] = ranks.sum_doubles([
        scalar(losses.smoothed),
        scalar(losses.nll),
        size.n_sentences as f64,
        size.n_src_tokens as f64,
        size.n_labels as f64,
        size.n_elements as f64,
    ]);
    let losses = LossSums {
        smoothed: on(&device, smoothed),
        nll: on(&device, nll),
    };
    let size = BatchSize {
        n_sentences: n_sentences as usize,
        n_src_tokens: n_src_tokens as usize,
        n_labels: n_labels as usize,
        n_elements: n_elements as usize,
    };
    (losses, size)
}

fn on(device: &Device, value: f64) -> Tensor<1> {
    Tensor::from_data(TensorData::new(vec![value as f32], [1]), device)
}

/// Takes the gradients of all parameters to the host, in the order of the module.
struct Flatten {
    gradients: GradientsParams,
    values: Vec<f32>,
}

impl ModuleVisitor for Flatten {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let data = gradient.into_data();
            match data.as_slice::<f32>() {
                Ok(values) => self.values.extend_from_slice(values),
                Err(_) => self.values.extend(data.iter::<f32>()), // another type of floats
            }
        }
    }
}

/// Replaces the gradients by these values.
struct Restore<'a> {
    gradients: GradientsParams,
    values: &'a [f32],
}

impl ModuleVisitor for Restore<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let (values, rest) = self.values.split_at(gradient.shape().num_elements());
            self.values = rest;
            let data = TensorData::new(values.to_vec(), gradient.shape());
            let device = gradient.device();
            self.gradients
                .register(param.id, Tensor::<D>::from_data(data, &device));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::LinearConfig;
    use transformer_core::device;

    use super::*;

    #[test]
    fn a_process_alone_keeps_its_gradients() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let layer = LinearConfig::new(2, 1).with_bias(false).init(&device);
        let mut gradients = GradientsParams::new();
        let matrix = Tensor::<2>::from_data([[3.0], [-2.0]], &device);
        gradients.register(layer.weight.id, matrix);
        let summed = sum_gradients(&layer, gradients, Ranks::default());
        let found = summed.get::<2>(layer.weight.id).expect("it is registered");
        assert_eq!(
            found.into_data().iter::<f32>().collect::<Vec<_>>(),
            [3.0, -2.0]
        );
    }
}
