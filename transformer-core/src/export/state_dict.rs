//! [`StateDict::from_model`]: the weights of a model by name, also with the names of another program, and the bytes of a
//! safetensors file.

use burn::tensor::TensorData;
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, TensorView};

use crate::config::{Place, TransformerConfig};
use crate::import::StateDict;
use crate::import::names::Layout;
use crate::model::{Transformer, named_parameters};

impl StateDict {
    /// Collects the parameters of a model, with the names and the layout of a model directory's record.
    ///
    /// # Example
    ///
    /// ```
    /// use transformer_core::import::StateDict;
    /// use transformer_core::{TransformerConfig, device};
    ///
    /// let (_, device) = device::choose(None)?;
    /// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
    /// let weights = StateDict::from_model(&config.init(&device)?);
    /// let src_embedding = weights.tensor("src_vocabulary.weight").expect("every model has one");
    /// assert_eq!(src_embedding.iter::<f32>().count(), 11 * 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_model(model: &Transformer) -> Self {
        let mut dict = Self::default();
        for (name, data) in named_parameters(model) {
            dict.insert(name, data);
        }
        dict
    }

    /// Returns the bytes of a safetensors file with all tensors, in single precision.
    ///
    /// # Errors
    ///
    /// Returns a [`SafeTensorError`] if a name or a shape cannot be written.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, SafeTensorError> {
        let bytes: Vec<(&str, Vec<usize>, Vec<u8>)> = self
            .names()
            .filter_map(|name| self.tensor(name).map(|tensor| (name, tensor)))
            .map(|(name, tensor)| {
                let bytes = tensor.iter::<f32>().flat_map(f32::to_le_bytes);
                (
                    name,
                    tensor.shape().iter().copied().collect(),
                    bytes.collect(),
                )
            })
            .collect();
        let views = bytes.iter().map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (*name, view))
        });
        let views = views.collect::<Result<Vec<_>, _>>()?;
        // Hugging Face's Transformers refuses a file without this entry.
        let metadata = [("format".to_owned(), "pt".to_owned())].into();
        safetensors::serialize(views, Some(metadata))
    }
}

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
