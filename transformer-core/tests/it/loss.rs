//! Label-smoothed cross-entropy by its definition, with a gradient.

use burn::tensor::{Tensor, TensorData, activation};

/// Gold tokens as weights of log-probabilities in the mean loss: loss = Σ weight · log-probability.
pub(crate) struct Labels {
    weights: TensorData,
}

impl Labels {
    /// Creates the weights from the gold token of each position of each row, `None` for padding.
    ///
    /// The gold token gets `1 − ε` of the weight; all tokens, including the gold one, share `ε`.
    pub(crate) fn new(labels: &[Vec<Option<u32>>], vocab: usize, epsilon: f64) -> Self {
        let n_labels = labels.iter().flatten().flatten().count() as f64;
        let spread = epsilon / vocab as f64;
        let weight = |label: u32, id: u32| {
            let gold = if label == id { 1.0 - epsilon } else { 0.0 };
            (-(gold + spread) / n_labels) as f32
        };
        let weights: Vec<f32> = labels
            .iter()
            .flatten()
            .flat_map(|&label| {
                (0..vocab as u32).map(move |id| label.map_or(0.0, |label| weight(label, id)))
            })
            .collect();
        let shape = [labels.len(), labels[0].len(), vocab];
        Self {
            weights: TensorData::new(weights, shape),
        }
    }

    /// # Shapes
    ///
    /// - `logits`: `[batch, tgt_len, vocab]`
    /// - returns: `[1]`
    pub(crate) fn loss(&self, logits: Tensor<3>) -> Tensor<1> {
        let weights = Tensor::from_data(self.weights.clone(), &logits.device());
        (activation::log_softmax(logits, 2) * weights).sum()
    }

    /// Returns the loss, summed in double precision.
    ///
    /// # Shapes
    ///
    /// - `logits`: `[batch, tgt_len, vocab]`
    pub(crate) fn value(&self, logits: Tensor<3>) -> f64 {
        let log_probs = activation::log_softmax(logits, 2).into_data();
        let terms = log_probs.iter::<f64>().zip(self.weights.iter::<f64>());
        terms.map(|(log_prob, weight)| log_prob * weight).sum()
    }
}
