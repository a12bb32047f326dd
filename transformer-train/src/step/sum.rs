//! Data parallelism over processes: each has computed the gradient of its own micro-batches, divided by the target
//! tokens of the whole update, so that the sum is the gradient of the update. Their weights are compared.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use derive_new::new;

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

/// Compares the weights of processes that train together, at every validation; clones share the result.
///
/// Each process updates its own copy of the weights with the same gradients, so the copies stay equal. On machines with
/// different processors or libraries the same update may round differently, and the copies would drift apart unnoticed.
#[derive(Clone, Debug, new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct WeightCheck {
    ranks: Ranks,
    #[new(default)]
    has_failed: Arc<AtomicBool>,
}

impl WeightCheck {
    pub(crate) fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// Compares the weights of all processes; every process calls it at the same update.
    pub(crate) fn check(&self, module: &impl Module) {
        let mut fingerprint = WeightFingerprint::default();
        module.visit(&mut fingerprint);
        if !self.ranks.agree_on(fingerprint.0) {
            self.has_failed.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }
}

/// A hash of all weights: FNV-1a (<https://www.rfc-editor.org/rfc/rfc9923>) over 32-bit words instead of bytes.
struct WeightFingerprint(u64);

impl Default for WeightFingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl ModuleVisitor for WeightFingerprint {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        for value in param.val().into_data().iter::<f32>() {
            self.0 ^= u64::from(value.to_bits());
            self.0 = self.0.wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
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

#[cfg(test)]
mod weight_check_tests {
    use burn::nn::{Initializer, Linear, LinearConfig};
    use transformer_core::device;

    use super::*;

    fn fingerprint(layer: &Linear) -> u64 {
        let mut fingerprint = WeightFingerprint::default();
        layer.visit(&mut fingerprint);
        fingerprint.0
    }

    #[test]
    fn other_weights_have_another_fingerprint() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let value = Initializer::Constant { value: 0.1 };
        let layer = LinearConfig::new(3, 2)
            .with_initializer(value)
            .init(&device);
        let same = layer.clone();
        assert_eq!(fingerprint(&layer), fingerprint(&same));
        let mut other = layer.clone();
        other.weight = other.weight.map(|weight| weight * 1.000_001);
        assert_ne!(fingerprint(&layer), fingerprint(&other));
    }
}
