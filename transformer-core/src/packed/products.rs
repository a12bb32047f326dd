//! Matrix products with packed weights: by our own kernels where they are faster, else by the `rten-gemm` crate.

use std::fmt;

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_tensor::NdTensorView;

use super::ComputePrecision;
use super::finish::{Finish, FinishRows};
use super::integers::IntegerMatrix;
use super::panel_product::{self, PanelMatrix};
use super::quantize::quantize_rows;
use super::tiled::{TiledMatrix, TiledRows};
use crate::cpu::{amx, instruction_set};

/// The integer that stands for 0 in products of `rten-gemm`, where activations are unsigned.
const ZERO_POINT: u8 = 128;

/// The reason why a product cannot fail.
const FITS: &str = "the matrix was packed for this processor, and the sizes match";
/// The reason why packing cannot fail.
const IN_SLICE: &str = "the strides address elements of the slice";

/// The buffers and kernels that one thread computes with. They grow to the largest batch.
#[derive(Default)]
pub struct Workspace {
    pub(super) kernels: Kernels,
    pub(super) x: Vec<f32>,
    pub(super) normalized: Vec<f32>,
    pub(super) projected: Vec<f32>,
    pub(super) attended: Vec<f32>,
    pub(super) inner: Vec<f32>,
    pub(super) output: Vec<f32>,
    pub(super) attention: AttentionBuffers,
    pub(super) logits: Vec<f32>,
}

/// The buffers of attention.
#[derive(Debug, Default)]
pub(super) struct AttentionBuffers {
    /// A scaled query of one head.
    pub(super) query: Vec<f32>,
    /// The keys of one head in the order of [`write_blocks`](super::attention::write_blocks).
    pub(super) keys: Vec<f32>,
    /// Scores, then weights.
    pub(super) scores: Vec<f32>,
}

/// The kernels of matrix products, and the activations as integers.
pub(super) struct Kernels {
    f32: GemmExecutor<f32, f32, f32>,
    int8: GemmExecutor<u8, i8, i32>,
    integers: Vec<u8>,
    zero_points: Vec<u8>,
    scales: Vec<f32>,
    tiled: TiledRows,
    groups: Vec<i32>,
    /// The results of several threads for one product.
    parts: Vec<f32>,
    /// The largest magnitude of the input of each product, if it is recorded.
    pub(super) largest_inputs: Option<Vec<f32>>,
}

impl Workspace {
    /// Creates empty buffers.
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}

/// A matrix `[d_in, d_out]`, laid out for products with it from the right.
pub(super) enum PackedMatrix {
    F32(PackedBMatrix<f32>),
    /// Floats on processors with AVX2 or AVX-512.
    Panels(PanelMatrix),
    Int8 {
        integers: PackedBMatrix<i8>,
        /// One for each output feature.
        scales: Vec<f32>,
    },
    /// Integers in WebAssembly, and on x86 processors without AVX-512 VNNI.
    Pairs {
        integers: IntegerMatrix,
        /// One for each output feature.
        scales: Vec<f32>,
    },
    /// Integers on processors with tile registers.
    Tiled {
        integers: TiledMatrix,
        /// One for each output feature.
        scales: Vec<f32>,
    },
}

impl PackedMatrix {
    /// Packs a matrix of floats, given with the strides of its rows and columns.
    pub(super) fn f32(values: &[f32], shape: [usize; 2], strides: [usize; 2]) -> Self {
        if panel_product::fit() {
            return Self::Panels(PanelMatrix::new(values, shape, strides));
        }
        let view = NdTensorView::from_data_with_strides(shape, values, strides);
        Self::F32(GemmExecutor::<f32>::new().prepack_b(view.expect(IN_SLICE)))
    }

    /// Packs a matrix of integers from −127 to 127 with a scale for each column.
    pub(super) fn int8(
        integers: &[i8],
        shape: [usize; 2],
        strides: [usize; 2],
        scales: Vec<f32>,
    ) -> Self {
        match amx::available() {
            true => Self::Tiled {
                integers: TiledMatrix::new(integers, shape, strides),
                scales,
            },
            false => Self::without_tiles(integers, shape, strides, scales),
        }
    }

    /// Packs a matrix like [`int8`](Self::int8), for any processor.
    fn without_tiles(
        integers: &[i8],
        shape: [usize; 2],
        strides: [usize; 2],
        scales: Vec<f32>,
    ) -> Self {
        if let Some(integers) = IntegerMatrix::new(integers, shape, strides) {
            return Self::Pairs { integers, scales };
        }
        let view = NdTensorView::from_data_with_strides(shape, integers, strides);
        let integers = GemmExecutor::<u8, i8, i32>::new().prepack_b(view.expect(IN_SLICE));
        Self::Int8 { integers, scales }
    }

    pub(super) fn precision(&self) -> ComputePrecision {
        match self {
            Self::F32(_) | Self::Panels(_) => ComputePrecision::F32,
            Self::Int8 { .. } | Self::Pairs { .. } | Self::Tiled { .. } => ComputePrecision::Int8,
        }
    }
}

impl fmt::Debug for PackedMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [d_in, d_out] = match self {
            Self::F32(matrix) => [matrix.rows(), matrix.cols()],
            Self::Panels(matrix) => matrix.shape(),
            Self::Int8 { integers, .. } => [integers.rows(), integers.cols()],
            Self::Pairs { integers, .. } => integers.shape(),
            Self::Tiled { integers, .. } => integers.shape(),
        };
        write!(
            f,
            "PackedMatrix {{ {}, [{d_in}, {d_out}] }}",
            self.precision()
        )
    }
}

impl Default for Kernels {
    fn default() -> Self {
        Self {
            f32: GemmExecutor::new(),
            int8: GemmExecutor::new(),
            integers: Vec::new(),
            zero_points: Vec::new(),
            scales: Vec::new(),
            tiled: TiledRows::default(),
            groups: Vec::new(),
            parts: Vec::new(),
            largest_inputs: None,
        }
    }
}

impl Kernels {
    /// Writes `activation(x·W + b)`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[rows, d_in]`
    /// - `matrix`: `[d_in, d_out]`
    /// - `product`: `[rows, d_out]`
    pub(super) fn multiply(
        &mut self,
        x: &[f32],
        [d_in, d_out]: [usize; 2],
        matrix: &PackedMatrix,
        finish: Finish<'_>,
        product: &mut [f32],
    ) {
        let n_rows = x.len() / d_in;
        assert_eq!(
            (n_rows * d_in, n_rows * d_out),
            (x.len(), product.len()),
            "the slices hold whole rows"
        );
        if let Some(largest) = &mut self.largest_inputs {
            largest.push(
                x.iter()
                    .fold(0.0, |largest, it| f32::max(largest, it.abs())),
            );
        }
        match matrix {
            PackedMatrix::F32(matrix) => {
                let x = NdTensorView::from_data([n_rows, d_in], x);
                let (x, matrix) = (GemmInputA::Unpacked(x), GemmInputB::Packed(matrix));
                let options = GemmOptions::default();
                self.f32.gemm(product, x, matrix, options).expect(FITS);
                if !finish.is_empty() {
                    instruction_set().dispatch(FinishRows {
                        finish,
                        scales: None,
                        product,
                        d_out,
                    });
                }
            }
            PackedMatrix::Panels(matrix) => {
                panel_product::multiply(x, matrix, finish, product, &mut self.parts);
            }
            PackedMatrix::Int8 { integers, scales } => {
                self.sum_integers(x, d_in, integers, bytemuck::cast_slice_mut(product));
                self.finish_sums(scales, finish, product);
            }
            PackedMatrix::Pairs { integers, scales } => {
                self.round(x, d_in, 0);
                let rows: &[i8] = bytemuck::cast_slice(&self.integers);
                integers.multiply(rows, &mut self.groups, bytemuck::cast_slice_mut(product));
                self.finish_sums(scales, finish, product);
            }
            PackedMatrix::Tiled { integers, scales } => {
                self.tiled.multiply(x, integers, scales, finish, product);
            }
        }
    }

    /// Turns sums of integers into the output of the layer; `scales` are those of the columns.
    fn finish_sums(&self, scales: &[f32], finish: Finish<'_>, product: &mut [f32]) {
        instruction_set().dispatch(FinishRows {
            finish,
            scales: Some((&self.scales, scales)),
            product,
            d_out: scales.len(),
        });
    }

    fn round(&mut self, x: &[f32], d_in: usize, zero_point: u8) {
        self.integers.resize(x.len(), 0);
        self.scales.resize(x.len() / d_in, 0.0);
        let (rows, scales) = (&mut self.integers, &mut self.scales);
        quantize_rows(x, [d_in; 2], zero_point, rows, scales);
    }

    /// Rounds `x` to integers, and writes the sums of their products with the matrix.
    fn sum_integers(
        &mut self,
        x: &[f32],
        d_in: usize,
        matrix: &PackedBMatrix<i8>,
        sums: &mut [i32],
    ) {
        let n_rows = x.len() / d_in;
        self.round(x, d_in, ZERO_POINT);
        self.zero_points.clear();
        self.zero_points.resize(n_rows, ZERO_POINT);
        let integers = NdTensorView::from_data([n_rows, d_in], &self.integers[..]);
        let (x, matrix) = (GemmInputA::Unpacked(integers), GemmInputB::Packed(matrix));
        let zero_point = &self.zero_points[..];
        let options = GemmOptions {
            a_quant: Some(QuantParams { zero_point }),
            ..GemmOptions::default()
        };
        self.int8.gemm(sums, x, matrix, options).expect(FITS);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiled::tests::tiles_exist;
    use super::*;
    use crate::config::Activation;

    /// Integers of −127 to 127 with their largest magnitudes in neighboring places, where sums of 16 bits overflow.
    fn weights(n: usize) -> Vec<i8> {
        let weight = |index: usize| match index % 5 {
            0 | 1 => 127,
            2 => -127,
            _ => ((index * 37) % 255) as i32 as i8 as i32,
        };
        (0..n)
            .map(|index| weight(index).clamp(-127, 127) as i8)
            .collect()
    }

    /// Shapes with part of a kernel's tile at every edge, and more inputs than one block of a product.
    const SHAPES: [[usize; 2]; 3] = [[300, 37], [1027, 37], [2050, 65]];

    /// Returns rows with largest magnitudes that become 255 and 1.
    fn activations(n: usize) -> Vec<f32> {
        let value = |index: usize| match index % 3 {
            0 => 1.0,
            _ => ((index * 31) % 41) as f32 / 20.0 - 1.0,
        };
        (0..n).map(value).collect()
    }

    #[test]
    fn sums_of_integers_are_exact() {
        for [d_in, d_out] in SHAPES {
            let weights = weights(d_in * d_out);
            let matrix =
                PackedMatrix::without_tiles(&weights, [d_in, d_out], [d_out, 1], vec![1.0; d_out]);
            let PackedMatrix::Int8 {
                integers: matrix, ..
            } = &matrix
            else {
                return; // the tests of `IntegerMatrix` have its sums
            };
            for n_rows in [1, 3, 8, 40] {
                let x = activations(n_rows * d_in);
                let mut integers = vec![0; x.len()];
                let mut scales = vec![0.0; n_rows];
                quantize_rows(&x, [d_in; 2], ZERO_POINT, &mut integers, &mut scales);
                let sum = |index: usize| -> i32 {
                    let (row, column) = (index / d_out, index % d_out);
                    let terms = (0..d_in).map(|k| {
                        let x = i32::from(integers[row * d_in + k]) - 128;
                        x * i32::from(weights[k * d_out + column])
                    });
                    terms.sum()
                };
                let expected: Vec<i32> = (0..n_rows * d_out).map(sum).collect();
                let mut sums = vec![7; n_rows * d_out];
                Kernels::default().sum_integers(&x, d_in, matrix, &mut sums);
                assert_eq!(sums, expected, "{n_rows} rows of {d_in}");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn products_by_pairs_have_the_same_bits() {
        let [d_in, d_out] = [301, 37];
        let weights = weights(d_in * d_out);
        let scales: Vec<f32> = (1..=d_out).map(|it| 1.0 / it as f32).collect();
        let (shape, strides) = ([d_in, d_out], [d_out, 1]);
        let pairs = PackedMatrix::Pairs {
            integers: IntegerMatrix::pack(&weights, shape, strides),
            scales: scales.clone(),
        };
        let view = NdTensorView::from_data_with_strides(shape, &weights[..], strides);
        let kernel = GemmExecutor::<u8, i8, i32>::new();
        if kernel.may_saturate() {
            return; // this processor has no other exact product
        }
        let integers = kernel.prepack_b(view.expect(IN_SLICE));
        let plain = PackedMatrix::Int8 { integers, scales };
        let bias: Vec<f32> = (0..d_out).map(|it| it as f32 / 7.0 - 2.0).collect();
        for n_rows in [1, 40] {
            let mut x = activations(n_rows * d_in);
            x[1] = 1e-3;
            let activation = Some(Activation::Gelu);
            let finish = Finish {
                bias: &bias,
                activation,
            };
            let products = [&pairs, &plain].map(|matrix| {
                let mut product = vec![0.0; n_rows * d_out];
                Kernels::default().multiply(&x, shape, matrix, finish, &mut product);
                product
            });
            assert_eq!(products[0], products[1], "{n_rows} rows");
        }
    }

    #[test]
    fn products_by_tiles_have_the_same_bits() {
        if !tiles_exist() {
            return;
        }
        let [d_in, d_out] = [300, 37];
        let weights = weights(d_in * d_out);
        let scales: Vec<f32> = (1..=d_out).map(|it| 1.0 / it as f32).collect();
        let (shape, strides) = ([d_in, d_out], [d_out, 1]);
        let tiled = PackedMatrix::int8(&weights, shape, strides, scales.clone());
        let plain = PackedMatrix::without_tiles(&weights, shape, strides, scales);
        let bias: Vec<f32> = (0..d_out).map(|it| it as f32 / 7.0 - 2.0).collect();
        for n_rows in [1, 40] {
            let mut x = activations(n_rows * d_in);
            x[1] = 1e-3;
            for (bias, activation) in [(&[][..], None), (&bias[..], Some(Activation::Gelu))] {
                let finish = Finish { bias, activation };
                let products = [&tiled, &plain].map(|matrix| {
                    let mut product = vec![0.0; n_rows * d_out];
                    Kernels::default().multiply(&x, shape, matrix, finish, &mut product);
                    product
                });
                assert_eq!(products[0], products[1], "{n_rows} rows");
            }
        }
    }

    #[test]
    fn products_with_nan_are_nan_in_any_layout() {
        let (shape, strides) = ([3, 2], [2, 1]);
        for pack in [PackedMatrix::int8, PackedMatrix::without_tiles] {
            let matrix = pack(&[1; 6], shape, strides, vec![1.0; 2]);
            let finish = Finish {
                bias: &[],
                activation: None,
            };
            let x = [1.0, f32::NAN, 1.0, 1.0, 1.0, 1.0];
            let mut product = [0.0; 4];
            Kernels::default().multiply(&x, shape, &matrix, finish, &mut product);
            assert!(product[0].is_nan() && product[1].is_nan());
            assert_eq!(product[2..], [3.0, 3.0]);
        }
    }
}
