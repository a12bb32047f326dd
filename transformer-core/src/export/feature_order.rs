//! [`with_halves`]: models with interleaved sinusoids, for formats that have all sines before all cosines.

use burn::tensor::TensorData;

use crate::config::{Linear, Place};
use crate::import::StateDict;

/// Reorders the features of the residual stream, so that a model with interleaved sinusoids computes the same with all
/// sines before all cosines.
///
/// Only the sinusoids depend on the order of the features; all weights that read or write the stream are reordered
/// accordingly. Sums over features change their order, so results are equal up to rounding.
pub(super) fn with_halves(weights: &StateDict) -> StateDict {
    let mut reordered = weights.clone();
    for name in weights.names() {
        let axis = Place::named(name).and_then(stream_axis);
        if let (Some(axis), Some(data)) = (axis, weights.tensor(name)) {
            reordered.insert(name, in_halves(data, axis));
        }
    }
    reordered
}

/// Returns the axis of a parameter that counts the features of the residual stream.
fn stream_axis(parameter: Place) -> Option<usize> {
    use Linear::{Inner, Key, Outer, Output, Query, Value};
    match parameter {
        _ if parameter.is_vocabulary() => Some(1),
        Place::Matrix(_, Output | Outer) => Some(1),
        Place::Matrix(_, Query | Key | Value | Inner) => Some(0),
        Place::Bias(_, Output | Outer) | Place::Norm(..) | Place::FinalNorm(..) => Some(0),
        _ => None,
    }
}

/// Moves the even indices of an axis before the odd ones.
fn in_halves(data: &TensorData, axis: usize) -> TensorData {
    let shape = data.shape().to_vec();
    let values: Vec<f32> = data.iter::<f32>().collect();
    let len = shape[axis];
    let order = (0..len).step_by(2).chain((1..len).step_by(2));
    let width: usize = shape[axis + 1..].iter().product();
    let slices = values.chunks_exact(len * width);
    let reordered = slices.flat_map(|slice| {
        let rows = order.clone();
        rows.flat_map(move |row| slice[row * width..][..width].iter().copied())
    });
    TensorData::new(reordered.collect::<Vec<f32>>(), shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_features_come_before_odd_ones_along_either_axis() {
        let values: Vec<f32> = (0..8_u8).map(f32::from).collect();
        let rows = in_halves(&TensorData::new(values.clone(), [4, 2]), 0);
        let expected = [0.0_f32, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0];
        assert_eq!(rows, TensorData::new(expected.to_vec(), [4, 2]));
        let columns = in_halves(&TensorData::new(values, [2, 4]), 1);
        let expected = [0.0_f32, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0];
        assert_eq!(columns, TensorData::new(expected.to_vec(), [2, 4]));
    }
}
