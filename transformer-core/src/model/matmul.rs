//! Mixed precision: matrix products of training in 16 bits, and everything else in 32.

use burn::tensor::{Device, FloatDType, Tensor};

/// The element type in which training multiplies matrices.
///
/// It applies to the products in layers, and to their two products in the backward pass: factors and results are
/// rounded to it. Weights, activations between the products, softmax, layer normalization and gradients stay in single
/// precision, so that updates smaller than the spacing of 16-bit floats are not lost (Micikevicius et al. 2018,
/// <https://arxiv.org/abs/1710.03740>, §3.1). Without autodiff, every product is in single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatmulPrecision {
    /// IEEE single precision: 32 bits, 24 of them significant.
    #[default]
    F32,
    /// bfloat16: the range of single precision, with 8 significant bits. Rounding changes a value by at most a 256th.
    Bf16,
}

impl MatmulPrecision {
    /// Returns whether the device can store and multiply this type.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_core::device::Backend;
    /// use transformer_core::model::MatmulPrecision;
    ///
    /// let device = Backend::Flex.device().expect("flex is compiled in by default");
    /// assert!(MatmulPrecision::Bf16.is_supported(&device));
    /// ```
    pub fn is_supported(self, device: &Device) -> bool {
        self.reduced()
            .is_none_or(|reduced| device.supports_dtype(reduced))
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

    /// Returns whether products with this tensor are in 16 bits.
    pub(super) fn is_reduced_for<const D: usize>(self, x: &Tensor<D>) -> bool {
        self.reduced_for(x).is_some()
    }

    fn reduced_for<const D: usize>(self, x: &Tensor<D>) -> Option<FloatDType> {
        self.reduced().filter(|_| x.is_autodiff())
    }

    fn reduced(self) -> Option<FloatDType> {
        match self {
            Self::F32 => None,
            Self::Bf16 => Some(FloatDType::BF16),
        }
    }
}
