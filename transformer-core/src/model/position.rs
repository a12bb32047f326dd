//! Positional encoding (§3.5): sinusoids of any length and offset, or learned vectors.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Tensor, TensorCreationOptions, TensorData};

use crate::config::{Positions, TransformerConfig};

/// Gives every place of a sequence a vector of its own.
#[derive(Module, Debug)]
pub(crate) struct PositionalEncoding {
    /// `[max_positions, d_model]`; only where positions are learned.
    learned: Option<Param<Tensor<2>>>,
    #[module(skip)]
    kind: Positions,
    d_model: usize,
}

impl PositionalEncoding {
    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        let std = (config.d_model as f64).powf(-0.5);
        let learned = (config.positions == Positions::Learned).then(|| {
            Initializer::Normal { mean: 0.0, std }
                .init([config.max_positions, config.d_model], device)
        });
        Self {
            learned,
            kind: config.positions,
            d_model: config.d_model,
        }
    }

    /// Returns the vectors of the places `offset .. offset + len`, or `None` where there are none.
    ///
    /// `options` say where sinusoids are to be, and in which precision; learned vectors are what they are.
    ///
    /// # Shapes
    ///
    /// - returns: `[len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if positions are learned and `offset + len` exceeds their number.
    pub(crate) fn forward(
        &self,
        offset: usize,
        len: usize,
        options: impl Into<TensorCreationOptions>,
    ) -> Option<Tensor<2>> {
        match self.kind {
            Positions::None => None,
            Positions::Learned => self.learned.as_ref().map(|learned| {
                let vectors = learned.val();
                let [max_positions, _] = vectors.dims();
                assert!(
                    offset + len <= max_positions,
                    "a sequence of {} tokens exceeds the {max_positions} learned positions",
                    offset + len
                );
                vectors.narrow(0, offset, len)
            }),
            Positions::Sinusoidal | Positions::SinusoidalHalves => {
                Some(tensor(self.kind, offset, len, self.d_model, options))
            }
        }
    }
}

/// Returns the positional encoding of the places `offset .. offset + len` (§3.5), in the device's default precision:
///
/// ```text
/// PE(pos, 2i)   = sin(pos / 10000^(2i / d_model))
/// PE(pos, 2i+1) = cos(pos / 10000^(2i / d_model))
/// ```
///
/// # Shapes
///
/// - returns: `[len, d_model]`
///
/// # Panics
///
/// Panics if `d_model` is odd or zero: sines and cosines come in pairs.
///
/// # Example
///
/// ```
/// use transformer_core::{device, model::sinusoids};
///
/// let (_, device) = device::choose(None)?;
/// let vectors = sinusoids(0, 3, 4, &device);
/// assert_eq!(vectors.dims(), [3, 4]);
/// let first: Vec<f32> = vectors.narrow(0, 0, 1).into_data().iter::<f32>().collect();
/// assert_eq!(first, [0.0, 1.0, 0.0, 1.0]); // sin 0 and cos 0 in turn
/// # Ok::<(), device::DeviceError>(())
/// ```
pub fn sinusoids(offset: usize, len: usize, d_model: usize, device: &Device) -> Tensor<2> {
    assert!(
        d_model > 0 && d_model.is_multiple_of(2),
        "`d_model` is {d_model}; sinusoids come in pairs, choose an even number"
    );
    tensor(Positions::Sinusoidal, offset, len, d_model, device)
}

fn tensor(
    kind: Positions,
    offset: usize,
    len: usize,
    d_model: usize,
    options: impl Into<TensorCreationOptions>,
) -> Tensor<2> {
    let data = TensorData::new(table(kind, offset, len, d_model), [len, d_model]);
    Tensor::from_data(data, options)
}

/// Computes in double precision: an angle of a thousand radians has few digits left in single precision.
pub(crate) fn table(kind: Positions, offset: usize, len: usize, d_model: usize) -> Vec<f32> {
    let half = d_model / 2;
    // A power takes longer than a sine, and is the same at every place.
    let divisor = |pair: usize| 10_000_f64.powf(2.0 * pair as f64 / d_model as f64);
    let divisors: Vec<f64> = (0..half).map(divisor).collect();
    let mut table = vec![0.0; len * d_model];
    for (row, place) in table.chunks_exact_mut(d_model).zip(offset..) {
        for (pair, divisor) in divisors.iter().enumerate() {
            let angle = place as f64 / divisor;
            let (sin_feature, cos_feature) = match kind {
                Positions::SinusoidalHalves => (pair, half + pair),
                _ => (2 * pair, 2 * pair + 1),
            };
            row[sin_feature] = angle.sin() as f32;
            row[cos_feature] = angle.cos() as f32;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_zeros_and_ones_in_turn() {
        let row = table(Positions::Sinusoidal, 0, 1, 4);
        assert_eq!(row, [0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn place_one_is_the_sine_and_cosine_of_the_frequencies() {
        let row = table(Positions::Sinusoidal, 1, 1, 4);
        // sin 1, cos 1, sin 0.01, cos 0.01
        let expected = [0.841_471, 0.540_302_3, 0.009_999_833, 0.999_95];
        assert!(
            row.iter()
                .zip(expected)
                .all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6)
        );
    }

    #[test]
    fn every_feature_is_that_of_the_formula_to_the_bit() {
        let found = table(Positions::Sinusoidal, 900, 3, 10);
        for (index, found) in found.into_iter().enumerate() {
            let (place, pair) = (900 + index / 10, index % 10 / 2);
            let angle = place as f64 / 10_000_f64.powf(2.0 * pair as f64 / 10.0);
            let feature = if index % 2 == 0 {
                angle.sin()
            } else {
                angle.cos()
            };
            assert_eq!(found.to_bits(), (feature as f32).to_bits());
        }
    }

    #[test]
    fn an_offset_continues_the_table() {
        let whole = table(Positions::Sinusoidal, 0, 9, 6);
        assert_eq!(table(Positions::Sinusoidal, 4, 5, 6), whole[4 * 6..]);
    }

    #[test]
    fn halves_are_the_interleaved_features_in_another_order() {
        let interleaved = table(Positions::Sinusoidal, 3, 1, 6);
        let halves = table(Positions::SinusoidalHalves, 3, 1, 6);
        let reordered: Vec<f32> = [0, 2, 4, 1, 3, 5].iter().map(|&i| interleaved[i]).collect();
        assert_eq!(halves, reordered);
    }
}
