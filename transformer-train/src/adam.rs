//! Adam (§5.3), with weight decay apart from the gradients.

use burn::optim::{AdamConfig, AdamState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

/// Updates weights by Adam (Kingma and Ba 2015, <https://arxiv.org/abs/1412.6980>), after it has shrunk
/// matrices by `learning rate · weight_decay`.
///
/// The decay is decoupled (Loshchilov and Hutter 2019, <https://arxiv.org/abs/1711.05101>, Algorithm 2), as in
/// `torch.optim.AdamW` and fairseq's `adam`: as an L2 term of the loss it would be divided by the root of
/// Adam's second moment, and so shrink least the weights that move most. Vectors, which are biases and the
/// gains of layer normalization, do not decay.
///
/// # Example
///
/// ```
/// use burn::optim::{AdamConfig, ModuleOptimizer};
/// use transformer_train::adam::Adam;
///
/// let adam = AdamConfig::new().with_beta_2(0.98).with_epsilon(1e-9);
/// let optimizer = ModuleOptimizer::from(Adam::new(&adam, 0.01));
/// assert!(!optimizer.has_gradient_clipping());
/// ```
#[derive(Clone)]
pub struct Adam {
    adam: burn::optim::Adam,
    weight_decay: f64,
}

impl std::fmt::Debug for Adam {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adam")
            .field("weight_decay", &self.weight_decay)
            .finish_non_exhaustive()
    }
}

impl Adam {
    /// Joins Adam, which must have no weight decay of its own, with the decay of matrices; 0 is none.
    pub fn new(adam: &AdamConfig, weight_decay: f64) -> Self {
        Self {
            adam: adam.build(),
            weight_decay,
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
        let weights = match D > 1 && self.weight_decay > 0.0 {
            true => weights.mul_scalar(1.0 - learning_rate * self.weight_decay),
            false => weights,
        };
        self.adam.step(learning_rate, weights, gradient, state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        burn::optim::Adam::to_device(state, device)
    }
}
