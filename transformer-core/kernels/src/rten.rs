//! Products by the `rten-gemm` crate, on processors without a kernel of our own.

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_tensor::NdTensorView;

/// The integer that stands for 0 in activations, which are unsigned.
pub(crate) const ZERO_POINT: u8 = 128;

/// The reason why a product cannot fail.
const FITS: &str = "the matrix was packed for this processor, and the sizes match";
/// The reason why packing cannot fail.
const IN_SLICE: &str = "the strides address elements of the slice";

/// A matrix `[d_in, d_out]` of floats or 8-bit integers.
pub(crate) struct Matrix<T>(PackedBMatrix<T>);

/// The kernels for this processor.
#[derive(Default)]
pub(crate) struct Products {
    f32: GemmExecutor<f32, f32, f32>,
    int8: GemmExecutor<u8, i8, i32>,
    zero_points: Vec<u8>,
}

/// Returns whether sums of integers are exact.
pub(crate) fn sums_are_exact() -> bool {
    !GemmExecutor::<u8, i8, i32>::new().may_saturate()
}

impl<T> Matrix<T> {
    pub(crate) fn shape(&self) -> [usize; 2] {
        [self.0.rows(), self.0.cols()]
    }
}

impl Matrix<f32> {
    /// Packs a matrix, given with the strides of its rows and columns.
    pub(crate) fn new(values: &[f32], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let view = NdTensorView::from_data_with_strides(shape, values, strides);
        Self(GemmExecutor::<f32>::new().prepack_b(view.expect(IN_SLICE)))
    }
}

impl Matrix<i8> {
    /// Packs a matrix, given with the strides of its rows and columns.
    pub(crate) fn new(values: &[i8], shape: [usize; 2], strides: [usize; 2]) -> Self {
        let view = NdTensorView::from_data_with_strides(shape, values, strides);
        Self(GemmExecutor::<u8, i8, i32>::new().prepack_b(view.expect(IN_SLICE)))
    }
}

impl Products {
    pub(crate) fn multiply(&self, x: &[f32], matrix: &Matrix<f32>, product: &mut [f32]) {
        let d_in = matrix.0.rows();
        let x = NdTensorView::from_data([x.len() / d_in, d_in], x);
        let (x, matrix) = (GemmInputA::Unpacked(x), GemmInputB::Packed(&matrix.0));
        let options = GemmOptions::default();
        self.f32.gemm(product, x, matrix, options).expect(FITS);
    }

    /// Writes the sums of the products of rows of integers, to which [`ZERO_POINT`] was added.
    pub(crate) fn sum(&mut self, rows: &[u8], matrix: &Matrix<i8>, sums: &mut [i32]) {
        let d_in = matrix.0.rows();
        let n_rows = rows.len() / d_in;
        self.zero_points.clear();
        self.zero_points.resize(n_rows, ZERO_POINT);
        let rows = NdTensorView::from_data([n_rows, d_in], rows);
        let (rows, matrix) = (GemmInputA::Unpacked(rows), GemmInputB::Packed(&matrix.0));
        let zero_point = &self.zero_points[..];
        let options = GemmOptions {
            a_quant: Some(QuantParams { zero_point }),
            ..GemmOptions::default()
        };
        self.int8.gemm(sums, rows, matrix, options).expect(FITS);
    }
}
