//! Mixed precision: matrix products of training in 16 bits, and everything else in 32.

use burn::tensor::{Device, FloatDType, Tensor};

use crate::cpu::bf16;
use crate::cpu::gemm::{self, Multiply};
use crate::device::is_rust_cpu;

/// The element type in which training multiplies matrices.
///
/// It applies to the products in layers, and to their two products in the backward pass. On CPUs the factors of linear
/// layers are rounded to it; elsewhere the factors and results of all products. Weights, activations between the
/// products, softmax, layer normalization and gradients stay in single precision, so that updates smaller than the
/// spacing of 16-bit floats are not lost (Micikevicius et al. 2018, <https://arxiv.org/abs/1710.03740>, §3.1). Without autodiff, every product is in single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatmulPrecision {
    /// IEEE single precision: 32 bits, 24 of them significant.
    #[default]
    F32,
    /// bfloat16: the range of single precision, with 8 significant bits. Rounding changes a value by at most a 256th.
    Bf16,
}

impl MatmulPrecision {
    /// Returns whether the device multiplies this type: GPUs if their driver says so, flex on Linux and a processor with
    /// the instructions `amx_bf16`.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_core::device::Backend;
    /// use transformer_core::model::MatmulPrecision;
    ///
    /// let device = Backend::Flex.device().expect("flex is compiled in by default");
    /// assert!(MatmulPrecision::F32.is_supported(&device));
    /// ```
    pub fn is_supported(self, device: &Device) -> bool {
        // Without these instructions, flex would convert the factors to `f32` in every product.
        self.reduced().is_none_or(|reduced| {
            device.supports_dtype(reduced) && (!is_rust_cpu(device) || bf16::is_available())
        })
    }

    /// Returns the function that multiplies matrices in CPU memory, in training if `x` is on an autodiff device.
    #[doc(hidden)]
    pub fn on_cpu<const D: usize>(self, x: &Tensor<D>) -> Multiply {
        match self {
            Self::Bf16 if x.is_autodiff() && has_tiles(&x.device()) => bf16::multiply,
            Self::Bf16 | Self::F32 => gemm::multiply,
        }
    }

    /// Returns the product of two matrices, in the element type of the first.
    ///
    /// # Shapes
    ///
    /// - `a`: `[..., n, d_in]`
    /// - `b`: `[..., d_in, d_out]`
    /// - returns: `[..., n, d_out]`
    pub(super) fn multiply<const D: usize>(self, a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
        match self.reduced_for(&a) {
            Some(reduced) => {
                let full: FloatDType = a.dtype().into();
                // The gradient of a cast is cast back, so the backward pass multiplies in the same type.
                a.cast(reduced).matmul(b.cast(reduced)).cast(full)
            }
            None => a.matmul(b),
        }
    }

    /// Returns whether Burn's products with this tensor are in 16 bits.
    pub(super) fn is_reduced_for<const D: usize>(self, x: &Tensor<D>) -> bool {
        self.reduced_for(x).is_some()
    }

    fn reduced_for<const D: usize>(self, x: &Tensor<D>) -> Option<FloatDType> {
        let by_burn = |_: &FloatDType| x.is_autodiff() && !has_tiles(&x.device());
        self.reduced().filter(by_burn)
    }

    fn reduced(self) -> Option<FloatDType> {
        match self {
            Self::F32 => None,
            Self::Bf16 => Some(FloatDType::BF16),
        }
    }
}

/// Returns whether the device is a CPU that multiplies bfloat16 in tiles.
fn has_tiles(device: &Device) -> bool {
    is_rust_cpu(device) && bf16::is_available()
}
