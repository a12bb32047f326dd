//! [`WeightCheck`]: checks that all processes still have the same weights.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;
use derive_new::new;

use super::ranks::Ranks;

/// Compares the weights of processes that train together, at every validation; clones share the result.
///
/// Each process updates its own copy of the weights with the same gradients, so the copies stay equal. On machines with
/// different processors or libraries the same update may round differently, and the copies would drift apart unnoticed.
#[derive(Clone, Debug, new)]
#[new(visibility = "pub(crate)")]
pub(crate) struct WeightCheck {
    ranks: Ranks,
    #[new(default)]
    has_failed: Arc<AtomicBool>,
}

impl WeightCheck {
    pub(crate) fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// Compares the weights of all processes; every process calls it at the same update.
    pub(crate) fn check(&self, module: &impl Module) {
        let mut fingerprint = WeightFingerprint::default();
        module.visit(&mut fingerprint);
        if !self.ranks.agree_on(fingerprint.0) {
            self.has_failed.store(true, Ordering::SeqCst);
        }
    }

    /// Returns whether the weights have ever differed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }
}

/// A hash of all weights: FNV-1a (<https://www.rfc-editor.org/rfc/rfc9923>) over 32-bit words instead of bytes.
struct WeightFingerprint(u64);

impl Default for WeightFingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl ModuleVisitor for WeightFingerprint {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        for value in param.val().into_data().iter::<f32>() {
            self.0 ^= u64::from(value.to_bits());
            self.0 = self.0.wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Initializer, Linear, LinearConfig};
    use transformer_core::device;

    use super::*;

    fn fingerprint(layer: &Linear) -> u64 {
        let mut fingerprint = WeightFingerprint::default();
        layer.visit(&mut fingerprint);
        fingerprint.0
    }

    #[test]
    fn other_weights_have_another_fingerprint() {
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let value = Initializer::Constant { value: 0.1 };
        let layer = LinearConfig::new(3, 2)
            .with_initializer(value)
            .init(&device);
        let same = layer.clone();
        assert_eq!(fingerprint(&layer), fingerprint(&same));
        let mut other = layer.clone();
        other.weight = other.weight.map(|weight| weight * 1.000_001);
        assert_ne!(fingerprint(&layer), fingerprint(&other));
    }
}
