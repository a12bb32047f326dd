//! Adam (§5.3), with weight decay apart from the gradients.

use burn::optim::{AdamConfig, AdamState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{DType, Device, Tensor, TensorData};
use pulp::Arch;
use rayon::prelude::*;
use transformer_core::device;

/// Numbers of a parameter that a thread updates before it takes the next ones.
const CHUNK: usize = 1 << 14;

/// Updates weights by Adam (Kingma and Ba 2015, <https://arxiv.org/abs/1412.6980>), after it has shrunk
/// matrices by `learning rate · weight_decay`.
///
/// The decay is decoupled (Loshchilov and Hutter 2019, <https://arxiv.org/abs/1711.05101>, Algorithm 2), as in
/// `torch.optim.AdamW` and fairseq's `adam`: as an L2 term of the loss it would be divided by the root of
/// Adam's second moment, and so shrink least the weights that move most. Vectors, which are biases and the
/// gains of layer normalization, do not decay.
///
/// On flex, ndarray and libtorch's CPU a step is one pass over the tensors; elsewhere, and for other types than `f32`,
/// it is Burn's, with the same result to the last bit (but for the sign of zeros), and on libtorch to the last but one.
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
    /// Share of the gradients' mean that an update keeps, `β₁`.
    pub beta_1: f32,
    /// Share of the squared gradients' mean that an update keeps, `β₂`.
    pub beta_2: f32,
    /// What is added to the root of that mean, `ε`.
    pub epsilon: f32,
    /// Share of a matrix, in learning rates, that an update takes away; 0 is none.
    pub weight_decay: f64,
}

impl Default for Adam {
    /// The values of §5.3 of "Attention Is All You Need", without decay.
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
        let kept = decays.then_some(1.0 - learning_rate * self.weight_decay);
        let moments = state.iter().flat_map(|AdamState { momentum }| {
            [momentum.moment_1.dtype(), momentum.moment_2.dtype()]
        });
        let mut types = [weights.dtype(), gradient.dtype()]
            .into_iter()
            .chain(moments);
        if types.all(|dtype| dtype == DType::F32) {
            let n_before = state.as_ref().map_or(0, |state| state.momentum.time);
            let step = Step::new(self, learning_rate, kept, n_before + 1);
            if device::is_host(&weights.device()) {
                let (weights, state) = step.on_host(weights, gradient, state);
                return (weights, Some(state));
            }
            if device::is_changeable(&weights) {
                let (weights, state) = step.in_place(weights, gradient, state);
                return (weights, Some(state));
            }
        }
        let weights = match kept {
            Some(kept) => weights.mul_scalar(kept),
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

/// Holds the factors of one update, in the order and the rounding of Burn's Adam.
struct Step {
    /// The update's number, from 1.
    time: usize,
    beta_1: f32,
    beta_2: f32,
    /// What remains of the weights before the step.
    kept: f32,
    /// `√(1 − β₂ᵗ) / (1 − β₁ᵗ)`.
    correction: f32,
    /// `ε·√(1 − β₂ᵗ)`.
    epsilon: f32,
    learning_rate: f32,
}

impl Step {
    fn new(adam: &Adam, learning_rate: f64, kept: Option<f64>, time: usize) -> Self {
        let power = i32::try_from(time).unwrap_or(i32::MAX);
        let second = (1.0 - adam.beta_2.powi(power)).sqrt();
        Self {
            time,
            beta_1: adam.beta_1,
            beta_2: adam.beta_2,
            kept: kept.unwrap_or(1.0) as f32,
            correction: second / (1.0 - adam.beta_1.powi(power)),
            epsilon: adam.epsilon * second,
            learning_rate: learning_rate as f32,
        }
    }

    /// Updates weights and state in one pass over the computer's memory.
    fn on_host<const D: usize>(
        &self,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, AdamState<D>) {
        let device = weights.device();
        let shape = weights.shape();
        let (mut moment_1, mut moment_2) = match state {
            Some(AdamState { momentum }) => {
                (momentum.moment_1.into_data(), momentum.moment_2.into_data())
            }
            None => {
                let zeros = || TensorData::new(vec![0.0_f32; shape.num_elements()], shape.clone());
                (zeros(), zeros())
            }
        };
        let mut weights = weights.into_data();
        let gradient = gradient.into_data();
        let fits = |data: &TensorData| *data.shape() == shape;
        assert!(
            [&gradient, &moment_1, &moment_2].into_iter().all(fits),
            "gradient and moments have the shape of the weights"
        );
        let single = "the type of the numbers was asked for";
        self.apply_to_all(
            weights.as_mut_slice::<f32>().expect(single),
            moment_1.as_mut_slice::<f32>().expect(single),
            moment_2.as_mut_slice::<f32>().expect(single),
            gradient.as_slice::<f32>().expect(single),
        );
        let [weights, moment_1, moment_2] = [weights, moment_1, moment_2]
            .map(|data| Tensor::from_data(data, (&device, DType::F32)));
        let momentum = AdaptiveMomentumState::new(self.time, moment_1, moment_2);
        (weights, AdamState { momentum })
    }

    /// Updates weights and state of libtorch in one pass over the computer's memory.
    fn in_place<const D: usize>(
        &self,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, AdamState<D>) {
        let [moment_1, moment_2] = match state {
            Some(AdamState { momentum }) => [momentum.moment_1, momentum.moment_2],
            None => [weights.zeros_like(), weights.zeros_like()],
        };
        let shape = weights.shape();
        assert!(
            [&gradient, &moment_1, &moment_2]
                .into_iter()
                .all(|tensor| tensor.shape() == shape),
            "gradient and moments have the shape of the weights"
        );
        let changed = [weights, moment_1, moment_2];
        let changed = device::change_in_place(changed, gradient, |[weights, m, v], gradients| {
            self.apply_to_all(weights, m, v, gradients);
        });
        let [weights, moment_1, moment_2] = changed;
        let momentum = AdaptiveMomentumState::new(self.time, moment_1, moment_2);
        (weights, AdamState { momentum })
    }

    /// Updates numbers that lie one behind the other, on all threads.
    fn apply_to_all(
        &self,
        weights: &mut [f32],
        moments_1: &mut [f32],
        moments_2: &mut [f32],
        gradients: &[f32],
    ) {
        let arch = Arch::new();
        weights
            .par_chunks_mut(CHUNK)
            .zip(moments_1.par_chunks_mut(CHUNK))
            .zip(moments_2.par_chunks_mut(CHUNK))
            .zip(gradients.par_chunks(CHUNK))
            .for_each(|(((weights, moments_1), moments_2), gradients)| {
                arch.dispatch(|| self.apply(weights, moments_1, moments_2, gradients));
            });
    }

    #[inline(always)]
    fn apply(&self, weights: &mut [f32], m: &mut [f32], v: &mut [f32], gradients: &[f32]) {
        let numbers = weights.iter_mut().zip(m).zip(v).zip(gradients);
        for (((weight, m), v), &gradient) in numbers {
            *m = *m * self.beta_1 + gradient * (1.0 - self.beta_1);
            *v = *v * self.beta_2 + gradient * gradient * (1.0 - self.beta_2);
            let direction = *m * self.correction / (v.sqrt() + self.epsilon);
            *weight = *weight * self.kept - direction * self.learning_rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Distribution;

    use super::*;

    /// Updates a parameter five times, by ours and by Burn's.
    fn assert_steps_of_burn<const D: usize>(shape: [usize; D], weight_decay: f64) {
        let named = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(named.as_deref()).expect("tests have a backend");
        let adam = Adam {
            weight_decay,
            ..Adam::default()
        };
        let burns = AdamConfig::new()
            .with_beta_1(adam.beta_1)
            .with_beta_2(adam.beta_2)
            .with_epsilon(adam.epsilon)
            .build();
        let random = || Tensor::<D>::random(shape, Distribution::Normal(0.0, 1.0), &device);
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
        let numbers = |(weights, state): (Tensor<D>, Option<AdamState<D>>)| {
            let AdamState { momentum } = state.expect("a step returns its state");
            assert_eq!(momentum.time, 5);
            let tensors = [weights, momentum.moment_1, momentum.moment_2];
            tensors.map(|tensor| tensor.into_data().iter::<f32>().collect::<Vec<_>>())
        };
        let (ours, expected) = (numbers(ours), numbers(expected));
        if device::is_host(&device) {
            assert_eq!(ours, expected);
            return;
        }
        // Libtorch's own operations round otherwise.
        let mut pairs = ours.iter().flatten().zip(expected.iter().flatten());
        let is_near = |a: f32, b: f32| (a - b).abs() < 1e-6 * b.abs().max(1.0);
        let apart = pairs.find(|(ours, expected)| !is_near(**ours, **expected));
        assert_eq!(apart, None);
    }

    #[test]
    fn steps_are_those_of_burn() {
        assert_steps_of_burn([7], 0.1);
        for weight_decay in [0.0, 0.1] {
            assert_steps_of_burn([150, 257], weight_decay); // two chunks and a part
        }
    }
}
