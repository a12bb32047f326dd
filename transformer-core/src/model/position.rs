//! Positional encoding (§3.5): sinusoids of any length and offset, or learned vectors.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorCreationOptions, TensorData};

use super::init::validated;
use crate::config::{ConfigError, Positions, TransformerConfig};

/// One vector for each position of a sequence.
///
/// # Example
///
/// ```
/// use transformer_core::{TransformerConfig, device, model::PositionalEncoding};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 8, ..TransformerConfig::tiny(9, 9) };
/// let positions = PositionalEncoding::init(&config, &device)?;
/// let vectors = positions.forward(2, 3, &device).expect("the config has positions");
/// assert_eq!(vectors.dims(), [3, 8]); // of the positions 2, 3 and 4
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Module, Debug)]
pub struct PositionalEncoding {
    /// `[first + max_positions, d_model]`; only for learned positions.
    learned: Option<Param<Tensor<2>>>,
    #[module(skip)]
    kind: Positions,
    /// The position of a sequence's first token.
    #[module(skip)]
    first: usize,
    d_model: usize,
}

impl PositionalEncoding {
    /// Builds the encoding of the config with random weights.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the config is not valid.
    pub fn init(config: &TransformerConfig, device: &Device) -> Result<Self, ConfigError> {
        validated(config, || Self::new(config, device))
    }

    pub(crate) fn new(config: &TransformerConfig, device: &Device) -> Self {
        let learned = (config.positions == Positions::Learned).then(|| {
            let initialization = config.initialization;
            let n_rows = config.first_position + config.max_positions;
            initialization.embeddings(n_rows, config.d_model, device)
        });
        Self {
            learned,
            kind: config.positions,
            first: config.first_position,
            d_model: config.d_model,
        }
    }

    /// Returns the vectors of the positions `offset .. offset + len`, counted from the config's `first_position`;
    /// `None` if the model has no positional encoding.
    ///
    /// `options` are the device and the element type of sinusoids; learned vectors have those of their parameter.
    ///
    /// # Shapes
    ///
    /// - returns: `[len, d_model]`
    ///
    /// # Panics
    ///
    /// Panics if positions are learned and `offset + len` exceeds their number.
    pub fn forward(
        &self,
        offset: usize,
        len: usize,
        options: impl Into<TensorCreationOptions>,
    ) -> Option<Tensor<2>> {
        match self.kind {
            Positions::None => None,
            Positions::Learned => self.learned.as_ref().map(|learned| {
                let vectors = learned.val();
                let max_positions = vectors.dims()[0] - self.first;
                assert!(
                    offset + len <= max_positions,
                    "a sequence of {} tokens exceeds the {max_positions} learned positions",
                    offset + len
                );
                vectors.narrow(0, self.first + offset, len)
            }),
            sinusoidal => Some(sinusoid_tensor(
                sinusoidal,
                self.first + offset,
                len,
                self.d_model,
                options,
            )),
        }
    }

    /// Adds the vectors of the positions from `offset` on; without a positional encoding, returns `x`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, len, d_model]`
    /// - returns: the same
    ///
    /// # Panics
    ///
    /// Panics as [`forward`](Self::forward) does.
    pub fn add_to(&self, x: Tensor<3>, offset: usize) -> Tensor<3> {
        let [_, len, _] = x.dims();
        match self.forward(offset, len, (&x.device(), x.dtype())) {
            Some(vectors) => x + vectors.unsqueeze(),
            None => x,
        }
    }
}

/// Returns the sinusoids of the positions `offset .. offset + len` (§3.5), in the device's default element type:
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
    sinusoid_tensor(Positions::Sinusoidal, offset, len, d_model, device)
}

fn sinusoid_tensor(
    kind: Positions,
    offset: usize,
    len: usize,
    d_model: usize,
    options: impl Into<TensorCreationOptions>,
) -> Tensor<2> {
    let data = TensorData::new(sinusoid_table(kind, offset, len, d_model), [len, d_model]);
    Tensor::from_data(data, options)
}

/// Computes sinusoids in double precision: in single precision, an angle of a thousand radians has few digits left.
pub(crate) fn sinusoid_table(
    kind: Positions,
    offset: usize,
    len: usize,
    d_model: usize,
) -> Vec<f32> {
    let half = d_model / 2;
    // A power takes longer than a sine, and is the same at every position.
    let divisor = |pair: usize| match kind {
        Positions::SinusoidalHalvesInclusive => {
            10_000_f64.powf(pair as f64 / (half - 1).max(1) as f64)
        }
        _ => 10_000_f64.powf(2.0 * pair as f64 / d_model as f64),
    };
    let divisors: Vec<f64> = (0..half).map(divisor).collect();
    let mut table = vec![0.0; len * d_model];
    for (row, position) in table.chunks_exact_mut(d_model).zip(offset..) {
        for (pair, divisor) in divisors.iter().enumerate() {
            let angle = position as f64 / divisor;
            let (sin_feature, cos_feature) = match kind {
                Positions::Sinusoidal => (2 * pair, 2 * pair + 1),
                _ => (pair, half + pair),
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
    fn the_first_position_alternates_zeros_and_ones() {
        let row = sinusoid_table(Positions::Sinusoidal, 0, 1, 4);
        assert_eq!(row, [0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn position_one_is_the_sine_and_cosine_of_the_frequencies() {
        let row = sinusoid_table(Positions::Sinusoidal, 1, 1, 4);
        // sin 1, cos 1, sin 0.01, cos 0.01
        let expected = [0.841_471, 0.540_302_3, 0.009_999_833, 0.999_95];
        assert!(
            row.iter()
                .zip(expected)
                .all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6)
        );
    }

    #[test]
    fn every_feature_equals_the_formula_bit_by_bit() {
        let found = sinusoid_table(Positions::Sinusoidal, 900, 3, 10);
        for (index, found) in found.into_iter().enumerate() {
            let (position, pair) = (900 + index / 10, index % 10 / 2);
            let angle = position as f64 / 10_000_f64.powf(2.0 * pair as f64 / 10.0);
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
        let whole = sinusoid_table(Positions::Sinusoidal, 0, 9, 6);
        assert_eq!(
            sinusoid_table(Positions::Sinusoidal, 4, 5, 6),
            whole[4 * 6..]
        );
    }

    /// With d_model = 4, the frequencies are 1 and 1/10000.
    #[test]
    fn inclusive_frequencies_end_at_a_ten_thousandth() {
        let row = sinusoid_table(Positions::SinusoidalHalvesInclusive, 7, 1, 4);
        let expected = [7.0_f64.sin(), 7e-4_f64.sin(), 7.0_f64.cos(), 7e-4_f64.cos()];
        assert_eq!(row, expected.map(|value| value as f32));
    }

    #[test]
    fn a_single_inclusive_frequency_is_one() {
        let row = sinusoid_table(Positions::SinusoidalHalvesInclusive, 3, 1, 2);
        assert_eq!(row, [3_f64.sin() as f32, 3_f64.cos() as f32]);
    }

    #[test]
    fn halves_are_the_interleaved_features_in_another_order() {
        let interleaved = sinusoid_table(Positions::Sinusoidal, 3, 1, 6);
        let halves = sinusoid_table(Positions::SinusoidalHalves, 3, 1, 6);
        let reordered: Vec<f32> = [0, 2, 4, 1, 3, 5].iter().map(|&i| interleaved[i]).collect();
        assert_eq!(halves, reordered);
    }
}
