//! Label smoothing (§5.4): the target distribution, the loss, and the gradient.
//!
//! Let `z` be the logits of one token over a vocabulary of size `V`, `p = softmax(z)`, `lse(z) = ln Σ exp(z)`, and `y`
//! the gold token. In the form [`SmoothingForm::AllTokens`] the target distribution has `1 − ε + ε/V` on `y` and `ε/V`
//! on every other token. In the form [`SmoothingForm::OtherTokens`] it has `1 − ε` on `y` and `ε/(V−1)` on every other
//! token, which is the first form with `ε·V/(V−1)` instead of `ε`. In the first form, its cross-entropy with `p` is
//!
//! ```text
//! nll      = lse(z) − z_y           −ln p of the gold token, from which perplexity is computed
//! uniform  = lse(z) − mean(z)       mean of −ln p over the vocabulary
//! loss     = (1 − ε)·nll + ε·uniform
//! ∂loss/∂z = p − (1 − ε)·onehot(y) − ε/V
//! ```
//!
//! `tensors.rs` computes this with tensor operations on any device, `cpu.rs` in one buffer of CPU memory.
//!
//! Szegedy et al. 2016, §7, <https://arxiv.org/abs/1512.00567>.

use crate::config::SmoothingForm;

/// Label smoothing: the probability that the target moves away from the gold token, and the tokens that receive it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelSmoothing {
    /// Probability that is spread over the tokens of `form`: `ε_ls` in the paper (0.1 there); 0 turns smoothing off.
    pub epsilon: f64,
    /// The tokens that it is spread over.
    pub form: SmoothingForm,
}

impl LabelSmoothing {
    /// Returns the `ε` that gives the same loss in the form [`SmoothingForm::AllTokens`], for which
    /// the formulas above are written.
    pub(super) fn all_tokens_epsilon(&self, vocab_size: usize) -> f64 {
        match self.form {
            SmoothingForm::AllTokens => self.epsilon,
            SmoothingForm::OtherTokens => {
                let vocab_size = vocab_size as f64;
                self.epsilon * vocab_size / (vocab_size - 1.0).max(1.0)
            }
        }
    }
}
