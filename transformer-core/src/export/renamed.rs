//! [`renamed`]: the parameters of a model as tensors of another program.

use burn::tensor::TensorData;

use crate::config::{Place, TransformerConfig};
use crate::import::StateDict;
use crate::import::names::Layout;

/// Returns the parameters with the names and layouts that `target` gives them; those without a name are left out.
///
/// Linear layers with the same name become one, in the order of the parameters.
pub(super) fn renamed(
    weights: &StateDict,
    config: &TransformerConfig,
    target: impl Fn(Place) -> Option<(String, Layout)>,
) -> StateDict {
    let mut theirs = StateDict::default();
    for (parameter, _) in config.parameters() {
        let values = weights.tensor(&parameter.to_string());
        let (Some(values), Some((name, layout))) = (values, target(parameter)) else {
            continue;
        };
        let tensor = layout.tensor(values);
        let joined = match theirs.remove(&name) {
            Some(first) => joined(&first, &tensor),
            None => tensor,
        };
        theirs.insert(name, joined);
    }
    theirs
}

/// Appends the rows of a tensor to those of another.
fn joined(first: &TensorData, second: &TensorData) -> TensorData {
    let mut shape = first.shape().to_vec();
    shape[0] += second.shape()[0];
    let values = first.iter::<f32>().chain(second.iter::<f32>());
    TensorData::new(values.collect::<Vec<f32>>(), shape)
}
