//! Initial values of parameters. The paper does not give them, and leaves them to its code.

use burn::module::{Module, ModuleVisitor, Param};
use burn::nn::{Initializer, Linear};
use burn::tensor::{Bool, Device, Int, Tensor};

use crate::config::{ConfigError, Initialization, TransformerConfig};

/// Standard deviation of BERT's matrices: its `initializer_range`.
const BERT_STD: f64 = 0.02;

impl Initialization {
    /// Creates a linear layer with a random matrix and a bias of zeros.
    ///
    /// PyTorch's `nn.Transformer` initializes the matrices of queries, keys and values as one, which
    /// makes them √2 times smaller, and the biases of its feed-forward networks at random.
    pub(super) fn linear(self, d_in: usize, d_out: usize, bias: bool, device: &Device) -> Linear {
        let initializer = match self {
            Self::Xavier => Initializer::XavierUniform { gain: 1.0 },
            Self::Bert => normal(BERT_STD),
        };
        Linear {
            weight: initializer.init_with([d_in, d_out], Some(d_in), Some(d_out), device),
            bias: bias.then(|| zeros(d_out, device)),
        }
    }

    /// Creates `n_vectors` random vectors. Xavier initialization draws them from `N(0, 1/d_model)`: multiplied by
    /// `√d_model`, their features have variance 1.
    pub(super) fn embeddings(
        self,
        n_vectors: usize,
        d_model: usize,
        device: &Device,
    ) -> Param<Tensor<2>> {
        let std = match self {
            Self::Xavier => (d_model as f64).powf(-0.5),
            Self::Bert => BERT_STD,
        };
        normal(std).init([n_vectors, d_model], device)
    }
}

fn normal(std: f64) -> Initializer {
    Initializer::Normal { mean: 0.0, std }
}

pub(super) fn zeros(len: usize, device: &Device) -> Param<Tensor<1>> {
    Initializer::Zeros.init([len], device)
}

pub(super) fn ones(len: usize, device: &Device) -> Param<Tensor<1>> {
    Initializer::Ones.init([len], device)
}

/// Draws the values of all parameters, in the order of the module's fields.
///
/// Burn draws a parameter when it is first read. A fixed order makes the device's seed determine all of them.
pub(super) fn draw_parameters(module: &impl Module) {
    module.visit(&mut ReadAll);
}

/// Checks the config, builds a layer of it, and draws its parameters.
pub(super) fn validated<M: Module>(
    config: &TransformerConfig,
    build: impl FnOnce() -> M,
) -> Result<M, ConfigError> {
    config.validate()?;
    let module = build();
    draw_parameters(&module);
    Ok(module)
}

struct ReadAll;

impl ModuleVisitor for ReadAll {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let _ = param.val();
    }

    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        let _ = param.val();
    }

    fn visit_bool<const D: usize>(&mut self, param: &Param<Tensor<D, Bool>>) {
        let _ = param.val();
    }
}
