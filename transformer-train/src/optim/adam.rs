//! Adam (§5.3) with decoupled weight decay (AdamW).

use burn::optim::{AdamConfig, AdamState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{DType, Device, Tensor};
use pulp::NullaryFnOnce;
use rayon::prelude::*;
use transformer_core::cpu::{self, instruction_set};

/// Elements of a parameter that a thread updates at a time.
const CHUNK: usize = 1 << 14;

/// The optimizer Adam (Kingma and Ba 2015, <https://arxiv.org/abs/1412.6980>, Algorithm 1) with decoupled weight decay
/// (Loshchilov and Hutter 2019, <https://arxiv.org/abs/1711.05101>, Algorithm 2).
///
/// With gradient `g`, learning rate `lr`, weight decay `λ`, and moments `m` and `v` of update `t`:
///
/// ```text
/// m ← β₁·m + (1 − β₁)·g
/// v ← β₂·v + (1 − β₂)·g²
/// w ← (1 − lr·λ)·w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
/// ```
///
/// Decay applies to matrices only, not to vectors (biases and the gains of layer normalization). It
/// equals `torch.optim.AdamW` and fairseq's `adam`. An L2 term in the loss would instead be divided
/// by `√v`, and so shrink the weights with the largest gradients least.
///
/// In CPU memory and single precision a step is one pass over each parameter; otherwise Burn's Adam does it. Both give
/// the same bits, except for the sign of zeros; on libtorch they differ by rounding.
///
/// # Example
///
/// ```
/// use burn::optim::ModuleOptimizer;
/// use transformer_train::optim::Adam;
///
/// let adam = Adam { weight_decay: 0.01, ..Adam::default() };
/// let optimizer = ModuleOptimizer::from(adam);
/// assert!(!optimizer.has_gradient_clipping());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Decay rate of the first moment, `β₁`.
    pub beta_1: f32,
    /// Decay rate of the second moment, `β₂`.
    pub beta_2: f32,
    /// Term added to the denominator for numerical stability, `ε`.
    pub epsilon: f32,
    /// Weight decay `λ` of matrices; 0 turns it off.
    pub weight_decay: f64,
}

impl Default for Adam {
    /// The values of §5.3 of "Attention Is All You Need", without weight decay.
    fn default() -> Self {
        Self {
            beta_1: 0.9,
            beta_2: 0.98,
            epsilon: 1e-9,
            weight_decay: 0.0,
        }
    }
}

impl Optimizer for Adam {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        learning_rate: LearningRate,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let decays = D > 1 && self.weight_decay > 0.0;
        let decay_factor = decays.then_some(1.0 - learning_rate * self.weight_decay);
        let moments = state.iter().flat_map(|AdamState { momentum }| {
            [momentum.moment_1.dtype(), momentum.moment_2.dtype()]
        });
        let mut types = [weights.dtype(), gradient.dtype()]
            .into_iter()
            .chain(moments);
        if types.all(|dtype| dtype == DType::F32) && cpu::supports(&weights) {
            let n_before = state.as_ref().map_or(0, |state| state.momentum.time);
            let step = Step::new(self, learning_rate, decay_factor, n_before + 1);
            let (weights, state) = step.update(weights, gradient, state);
            return (weights, Some(state));
        }
        let weights = match decay_factor {
            Some(factor) => weights.mul_scalar(factor),
            None => weights,
        };
        let adam = AdamConfig::new()
            .with_beta_1(self.beta_1)
            .with_beta_2(self.beta_2)
            .with_epsilon(self.epsilon)
            .build();
        adam.step(learning_rate, weights, gradient, state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        burn::optim::Adam::to_device(state, device)
    }
}

/// The constants of one update, computed and rounded in the order of Burn's Adam.
struct Step {
    /// Number of the update, from 1: `t`.
    time: usize,
    beta_1: f32,
    beta_2: f32,
    /// `1 − lr·λ`.
    decay_factor: f32,
    /// `√(1 − β₂ᵗ) / (1 − β₁ᵗ)`.
    correction: f32,
    /// `ε·√(1 − β₂ᵗ)`.
    epsilon: f32,
    learning_rate: f32,
}

impl Step {
    fn new(adam: &Adam, learning_rate: f64, decay_factor: Option<f64>, time: usize) -> Self {
        let power = i32::try_from(time).unwrap_or(i32::MAX);
        let second_correction = (1.0 - adam.beta_2.powi(power)).sqrt();
        Self {
            time,
            beta_1: adam.beta_1,
            beta_2: adam.beta_2,
            decay_factor: decay_factor.unwrap_or(1.0) as f32,
            correction: second_correction / (1.0 - adam.beta_1.powi(power)),
            epsilon: adam.epsilon * second_correction,
            learning_rate: learning_rate as f32,
        }
    }

    /// Updates weights and state in one pass over CPU memory.
    fn update<const D: usize>(
        &self,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, AdamState<D>) {
        let [moment_1, moment_2] = match state {
            Some(AdamState { momentum }) => [momentum.moment_1, momentum.moment_2],
            None => [weights.zeros_like(), weights.zeros_like()],
        };
        let updated = [weights, moment_1, moment_2];
        let updated = cpu::update_in_place(updated, gradient, |[weights, m, v], gradients| {
            self.update_all(weights, m, v, gradients);
        });
        let [weights, moment_1, moment_2] = updated;
        let momentum = AdaptiveMomentumState::new(self.time, moment_1, moment_2);
        (weights, AdamState { momentum })
    }

    fn update_all(
        &self,
        weights: &mut [f32],
        moments_1: &mut [f32],
        moments_2: &mut [f32],
        gradients: &[f32],
    ) {
        let arch = instruction_set();
        weights
            .par_chunks_mut(CHUNK)
            .zip(moments_1.par_chunks_mut(CHUNK))
            .zip(moments_2.par_chunks_mut(CHUNK))
            .zip(gradients.par_chunks(CHUNK))
            .for_each(|(((weights, moments_1), moments_2), gradients)| {
                arch.dispatch(UpdateChunk {
                    step: self,
                    weights,
                    moments_1,
                    moments_2,
                    gradients,
                });
            });
    }
}

struct UpdateChunk<'a> {
    step: &'a Step,
    weights: &'a mut [f32],
    moments_1: &'a mut [f32],
    moments_2: &'a mut [f32],
    gradients: &'a [f32],
}

impl NullaryFnOnce for UpdateChunk<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let step = self.step;
        let moments = self.moments_1.iter_mut().zip(self.moments_2);
        let elements = self.weights.iter_mut().zip(moments).zip(self.gradients);
        for ((weight, (m, v)), &gradient) in elements {
            *m = *m * step.beta_1 + gradient * (1.0 - step.beta_1);
            *v = *v * step.beta_2 + gradient * gradient * (1.0 - step.beta_2);
            let direction = *m * step.correction / (v.sqrt() + step.epsilon);
            *weight = *weight * step.decay_factor - direction * step.learning_rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::cpu::with_each_instruction_set;
    use transformer_core::device;
    use transformer_core::random::SplitMix64;

    use super::*;
    use crate::weights;

    /// Checks five updates of a parameter against Burn's Adam.
    fn assert_steps_of_burn<const D: usize>(shape: [usize; D], weight_decay: f64) {
        let requested = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(requested.as_deref()).expect("tests have a backend");
        let adam = Adam {
            weight_decay,
            ..Adam::default()
        };
        let burns = AdamConfig::new()
            .with_beta_1(adam.beta_1)
            .with_beta_2(adam.beta_2)
            .with_epsilon(adam.epsilon)
            .build();
        let mut generator = SplitMix64::new(1);
        let mut random = || weights::tensor(shape, &mut generator, &device);
        let mut ours = (random(), None);
        let mut expected = (ours.0.clone(), None);
        for update in 1..=5 {
            let learning_rate = 1e-3 * f64::from(update);
            let gradient = random();
            ours = adam.step(learning_rate, ours.0, gradient.clone(), ours.1);
            let weights = match D > 1 && weight_decay > 0.0 {
                true => expected.0.mul_scalar(1.0 - learning_rate * weight_decay),
                false => expected.0,
            };
            expected = burns.step(learning_rate, weights, gradient, expected.1);
        }
        let values = |(weights, state): (Tensor<D>, Option<AdamState<D>>)| {
            let AdamState { momentum } = state.expect("a step returns its state");
            assert_eq!(momentum.time, 5);
            let tensors = [weights, momentum.moment_1, momentum.moment_2];
            tensors.map(|tensor| tensor.into_data().iter::<f32>().collect::<Vec<_>>())
        };
        let (ours, expected) = (values(ours), values(expected));
        if device::is_rust_cpu(&device) {
            assert_eq!(ours, expected);
            return;
        }
        // Libtorch's own operations round differently.
        let mut pairs = ours.iter().flatten().zip(expected.iter().flatten());
        let is_near = |a: f32, b: f32| (a - b).abs() < 1e-6 * b.abs().max(1.0);
        let different = pairs.find(|(ours, expected)| !is_near(**ours, **expected));
        assert_eq!(different, None);
    }

    #[test]
    fn steps_equal_those_of_burn() {
        assert_steps_of_burn([7], 0.1);
        for weight_decay in [0.0, 0.1] {
            assert_steps_of_burn([150, 257], weight_decay); // two chunks and a partial one
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let adam = Adam {
            weight_decay: 0.1,
            ..Adam::default()
        };
        let step = Step::new(&adam, 0.1, Some(0.99), 3);
        let value = |index: usize| ((index * 37) % 1009) as f32 / 500.0 - 1.0;
        let update = || {
            let mut updated = [0, 7, 11].map(|it| (0..1003).map(|i| value(i + it)).collect());
            let [weights, moments_1, moments_2]: &mut [Vec<f32>; 3] = &mut updated;
            moments_2.iter_mut().for_each(|it| *it = it.abs());
            instruction_set().dispatch(UpdateChunk {
                step: &step,
                weights,
                moments_1,
                moments_2,
                gradients: &(0..1003).map(|i| value(i + 5)).collect::<Vec<_>>(),
            });
            updated.map(|values| values.into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let (scalar, vectors) = with_each_instruction_set(update);
        for (arch, found) in vectors {
            assert_eq!(found, scalar, "{arch:?}");
        }
    }
}
