//! Matrix products with packed weights: by our own kernels where they are faster, else by the `rten-gemm` crate.

use std::fmt;

use super::finish::{Finish, FinishRows};
use super::instruction_set;
use super::integers::{Activations, IntegerMatrix};
use super::panel_product::{self, PanelMatrix};
use super::quantize::quantize_rows;
use super::rten::{self, ZERO_POINT};
use super::tiled::{Instructions, TiledMatrix, TiledRows};

/// The kernels of matrix products, and the activations as integers.
#[derive(Default)]
pub struct Kernels {
    rten: rten::Products,
    integers: Vec<u8>,
    scales: Vec<f32>,
    tiled: TiledRows,
    activations: Activations,
    /// The results of several threads for one product.
    parts: Vec<f32>,
    /// The largest magnitude of the input of each product, if it is recorded.
    pub largest_inputs: Option<Vec<f32>>,
}

/// A matrix `[d_in, d_out]`, laid out for products with it from the right.
pub struct PackedMatrix(Layout);

enum Layout {
    F32(rten::Matrix<f32>),
    /// Floats on processors with AVX2 or AVX-512, and in WebAssembly.
    Panels(PanelMatrix),
    Int8 {
        integers: rten::Matrix<i8>,
        /// One for each output feature.
        scales: Vec<f32>,
    },
    /// Integers in WebAssembly, and on x86 processors without AMX and VNNI.
    Pairs {
        integers: IntegerMatrix,
        /// One for each output feature.
        scales: Vec<f32>,
    },
    /// Integers on processors with AMX or VNNI.
    Tiled {
        integers: TiledMatrix,
        /// One for each output feature.
        scales: Vec<f32>,
    },
}

impl PackedMatrix {
    /// Packs a matrix of floats, given with the strides of its rows and columns.
    #[inline(never)]
    pub fn f32(values: &[f32], shape: [usize; 2], strides: [usize; 2]) -> Self {
        if panel_product::fit() {
            return Self(Layout::Panels(PanelMatrix::new(values, shape, strides)));
        }
        Self(Layout::F32(rten::Matrix::<f32>::new(
            values, shape, strides,
        )))
    }

    /// Packs a matrix of integers from −127 to 127 with a scale for each column.
    #[inline(never)]
    pub fn int8(integers: &[i8], shape: [usize; 2], strides: [usize; 2], scales: Vec<f32>) -> Self {
        match Instructions::of_processor() {
            Some(instructions) => Self(Layout::Tiled {
                integers: TiledMatrix::new(instructions, integers, shape, strides),
                scales,
            }),
            None => Self::without_tiles(integers, shape, strides, scales),
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
            return Self(Layout::Pairs { integers, scales });
        }
        let integers = rten::Matrix::<i8>::new(integers, shape, strides);
        Self(Layout::Int8 { integers, scales })
    }
}

impl fmt::Debug for PackedMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (precision, [d_in, d_out]) = match &self.0 {
            Layout::F32(matrix) => ("f32", matrix.shape()),
            Layout::Panels(matrix) => ("f32", matrix.shape()),
            Layout::Int8 { integers, .. } => ("int8", integers.shape()),
            Layout::Pairs { integers, .. } => ("int8", integers.shape()),
            Layout::Tiled { integers, .. } => ("int8", integers.shape()),
        };
        write!(f, "PackedMatrix {{ {precision}, [{d_in}, {d_out}] }}")
    }
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernels").finish_non_exhaustive()
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
    ///
    /// # Panics
    ///
    /// Panics if the slices do not hold whole rows, or `d_in` is 0.
    #[inline(never)]
    pub fn multiply(
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
        match &matrix.0 {
            Layout::F32(matrix) => {
                self.rten.multiply(x, matrix, product);
                if !finish.is_empty() {
                    instruction_set().dispatch(FinishRows {
                        finish,
                        scales: None,
                        product,
                        d_out,
                    });
                }
            }
            Layout::Panels(matrix) => {
                panel_product::multiply(x, matrix, finish, product, &mut self.parts);
            }
            Layout::Int8 { integers, scales } => {
                self.round(x, d_in, ZERO_POINT);
                let sums = bytemuck::cast_slice_mut(product);
                self.rten.sum(&self.integers, integers, sums);
                self.finish_sums(scales, finish, product);
            }
            Layout::Pairs { integers, scales } => {
                self.round(x, d_in, 0);
                let rows: &[i8] = bytemuck::cast_slice(&self.integers);
                integers.multiply(
                    rows,
                    &mut self.activations,
                    bytemuck::cast_slice_mut(product),
                );
                self.finish_sums(scales, finish, product);
            }
            Layout::Tiled { integers, scales } => {
                let matrix = (integers, &scales[..]);
                self.tiled
                    .multiply(x, matrix, finish, product, &mut self.parts);
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
}

#[cfg(test)]
mod tests {
    use super::super::tiled::tests::instructions;
    use super::*;
    use crate::finish::Activation;

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
            let Layout::Int8 {
                integers: matrix, ..
            } = &matrix.0
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
                rten::Products::default().sum(&integers, matrix, &mut sums);
                assert_eq!(sums, expected, "{n_rows} rows of {d_in}");
            }
        }
    }

    /// Asserts that a layout has the products of another, to the last bit.
    fn assert_same_bits(
        [d_in, d_out]: [usize; 2],
        pack: impl Fn(&[i8], [usize; 2], Vec<f32>) -> [PackedMatrix; 2],
    ) {
        let weights = weights(d_in * d_out);
        let scales: Vec<f32> = (1..=d_out).map(|it| 1.0 / it as f32).collect();
        let matrices = pack(&weights, [d_out, 1], scales);
        let bias: Vec<f32> = (0..d_out).map(|it| it as f32 / 7.0 - 2.0).collect();
        for n_rows in [1, 40] {
            let mut x = activations(n_rows * d_in);
            x[1] = 1e-3;
            for (bias, activation) in [(&[][..], None), (&bias[..], Some(Activation::Gelu))] {
                let finish = Finish { bias, activation };
                let products = matrices.each_ref().map(|matrix| {
                    let mut product = vec![0.0; n_rows * d_out];
                    Kernels::default().multiply(&x, [d_in, d_out], matrix, finish, &mut product);
                    product
                });
                assert_eq!(products[0], products[1], "{n_rows} rows");
            }
        }
    }

    #[test]
    fn products_by_pairs_have_the_same_bits() {
        if !rten::sums_are_exact() {
            return; // this processor has no other exact product
        }
        let shape = [301, 37];
        assert_same_bits(shape, |weights, strides, scales| {
            let plain = Layout::Int8 {
                integers: rten::Matrix::<i8>::new(weights, shape, strides),
                scales: scales.clone(),
            };
            let integers = IntegerMatrix::pack(weights, shape, strides);
            [Layout::Pairs { integers, scales }, plain].map(PackedMatrix)
        });
    }

    #[test]
    fn products_by_tiles_have_the_same_bits() {
        let shape = [300, 37];
        for instructions in instructions() {
            assert_same_bits(shape, |weights, strides, scales| {
                let tiled = Layout::Tiled {
                    integers: TiledMatrix::new(instructions, weights, shape, strides),
                    scales: scales.clone(),
                };
                let plain = PackedMatrix::without_tiles(weights, shape, strides, scales);
                [PackedMatrix(tiled), plain]
            });
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
