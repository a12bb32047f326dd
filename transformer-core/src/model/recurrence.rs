//! The simpler simple recurrent unit, in place of the decoder's self-attention (not in the paper).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, activation};

use super::linear::apply;
use super::matmul::MatmulPrecision;
use crate::config::TransformerConfig;

/// Replaces tokens by what a cell has kept of them and those before: `u = x·W`, `f = σ(x·W_f + b_f)`,
/// `c ← f∘c + (1 − f)∘u`, output `max(0, c)` (Kim et al. 2019, <https://aclanthology.org/D19-5632>).
#[derive(Module, Debug)]
pub(super) struct Recurrence {
    candidate: Linear,
    forget: Linear,
    #[module(skip)]
    matmul: MatmulPrecision,
}

impl Recurrence {
    pub(super) fn new(config: &TransformerConfig, device: &Device) -> Self {
        let d_model = config.d_model;
        let linear = |bias| {
            let initialization = config.initialization;
            initialization.linear(d_model, d_model, bias, device)
        };
        Self {
            candidate: linear(false),
            forget: linear(true),
            matmul: MatmulPrecision::default(),
        }
    }

    pub(super) fn set_matmul_precision(&mut self, matmul: MatmulPrecision) {
        self.matmul = matmul;
    }

    /// Computes tokens that follow those in the cell, and leaves the last one's cell there.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - `cell`: `[batch, d_model]`
    /// - returns: `[batch, len, d_model]`
    pub(super) fn forward(&self, x: Tensor<3>, cell: &mut Tensor<2>) -> Tensor<3> {
        let [batch, len, d_model] = x.dims();
        let forget = activation::sigmoid(apply(&self.forget, x.clone(), self.matmul));
        let candidate = apply(&self.candidate, x, self.matmul);
        let added = (-forget.clone() + 1.0) * candidate;
        let cells = scan(forget, added, cell.clone().reshape([batch, 1, d_model]));
        *cell = cells
            .clone()
            .narrow(1, len - 1, 1)
            .reshape([batch, d_model]);
        activation::relu(cells)
    }
}

/// Computes `c_t = factor_t∘c_{t−1} + added_t` for all `t`, where `start` is the cell before the first.
///
/// Two steps are one step with the product of their factors, so the cells at odd places are a scan of half the length,
/// and those between follow from them. That takes a number of operations that grows with the logarithm of the length,
/// on about twice the elements; a step at a time would start `len` kernels, and scans by doubling shifts would compute
/// every element once per doubling. Factors are at most 1 and only multiplied, so nothing overflows, as quotients of
/// their running products would. A cell is computed in the same way whatever follows it.
///
/// # Shapes
///
/// - `factors`, `added`: `[batch, len, d]`
/// - `start`: `[batch, 1, d]`
/// - returns: `[batch, len, d]`
fn scan(factors: Tensor<3>, added: Tensor<3>, start: Tensor<3>) -> Tensor<3> {
    let [batch, len, d] = factors.dims();
    if len == 1 {
        return factors * start + added;
    }
    let n_pairs = len.div_ceil(2);
    let halves = |x: Tensor<3>| {
        let x = match len.is_multiple_of(2) {
            true => x,
            false => Tensor::cat(vec![x, start.zeros_like()], 1),
        };
        let pairs = x.reshape([batch, n_pairs, 2, d]);
        [0, 1].map(|place| {
            let half = pairs.clone().narrow(2, place, 1);
            half.reshape([batch, n_pairs, d])
        })
    };
    let [even_factors, odd_factors] = halves(factors);
    let [even_added, odd_added] = halves(added);
    let odd = scan(
        odd_factors.clone() * even_factors.clone(),
        odd_factors * even_added.clone() + odd_added,
        start.clone(),
    );
    let before = Tensor::cat(vec![start, odd.clone()], 1).narrow(1, 0, n_pairs);
    let even = even_factors * before + even_added;
    let pairs: Tensor<4> = Tensor::stack(vec![even, odd], 2);
    pairs.reshape([batch, 2 * n_pairs, d]).narrow(1, 0, len)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::device;

    fn values(shape: [usize; 3], factor: usize, device: &Device) -> Tensor<3> {
        let value = |index: usize| ((index * factor) % 211) as f32 / 211.0;
        let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
        Tensor::from_data(TensorData::new(values, shape), device)
    }

    fn elements(tensor: Tensor<3>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    #[test]
    fn a_scan_of_any_length_equals_a_step_at_a_time() {
        let requested = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(requested.as_deref()).expect("tests have a backend");
        for len in 1..=17 {
            let [factors, added] = [7, 11].map(|it| values([2, len, 3], it, &device));
            let start = values([2, 1, 3], 13, &device);
            let found = scan(factors.clone(), added.clone(), start.clone());
            let mut cell = start;
            for step in 0..len {
                let at = |x: &Tensor<3>| x.clone().narrow(1, step, 1);
                cell = at(&factors) * cell + at(&added);
                let found = elements(at(&found)).into_iter();
                for (found, expected) in found.zip(elements(cell.clone())) {
                    // Rounding of a few sums and products of about 1.
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{len} {step}: {found} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_cell_does_not_depend_on_later_ones() {
        let (_, device) = device::choose(Some("flex")).expect("flex is compiled in");
        let [factors, added] = [7, 11].map(|it| values([1, 17, 3], it, &device));
        let start = values([1, 1, 3], 13, &device);
        let all = elements(scan(factors.clone(), added.clone(), start.clone()));
        for len in 1..17 {
            let first = |x: &Tensor<3>| x.clone().narrow(1, 0, len);
            let found = elements(scan(first(&factors), first(&added), start.clone()));
            assert_eq!(found, all[..3 * len]);
        }
    }
}
