//! Next tokens from logits in the memory of a GPU; only the chosen tokens are copied.

use burn::tensor::{DType, Device, Int, Tensor, TensorData, Transaction, activation};
use transformer_core::cpu::LogitSummary;

use transformer_search::{NEVER_GENERATED, ScoredToken};

use super::top_k::top_k_of_row;

/// Maximum number of tokens per row that a device chooses itself. CubeCL's top-k kernel (cubek-reduce 0.3.1) keeps no
/// more in registers.
pub(super) const MAX_TOP_K: usize = 32;

/// Chooses the likeliest tokens on the device of the logits.
#[derive(Debug)]
pub(super) struct DeviceTopK {
    /// `[1, vocab]`: −∞ for [`NEVER_GENERATED`], 0 for all other tokens.
    bans: Tensor<2>,
    vocab_size: usize,
}

impl DeviceTopK {
    pub(super) fn new(vocab_size: usize, device: &Device) -> Self {
        let mut bans = vec![0.0_f32; vocab_size];
        for id in NEVER_GENERATED {
            if let Some(ban) = bans.get_mut(id as usize) {
                *ban = f32::NEG_INFINITY;
            }
        }
        let bans = TensorData::new(bans, [1, vocab_size]);
        // The bans are added to log-probabilities, which have single precision on every device.
        let bans = Tensor::from_data(bans, (device, DType::F32));
        Self { bans, vocab_size }
    }

    /// Returns the likeliest token of each row.
    ///
    /// # Shapes
    ///
    /// - `logits`: `[batch, vocab]`
    pub(super) fn best(&self, logits: Tensor<2>) -> Vec<ScoredToken> {
        let (log_probs, ids) = self.log_probs(logits).max_dim_with_indices(1);
        let best = read_pairs(log_probs, ids).into_iter();
        best.map(|(log_prob, id)| ScoredToken {
            id: id as u32,
            log_prob,
        })
        .collect()
    }

    /// Returns the `k` likeliest tokens of each row, the likeliest first.
    ///
    /// The result of the device is checked before it is used. CubeCL's kernel starts from ids that do not exist, and
    /// leaves them where it finds no finite value, or where it is wrong ([issue 422][issue]). The CPU then chooses
    /// from all log-probabilities.
    ///
    /// # Shapes
    ///
    /// - `logits`: `[batch, vocab]`
    ///
    /// [issue]: https://github.com/tracel-ai/cubek/issues/422
    pub(super) fn top_k(&self, logits: Tensor<2>, k: usize) -> Vec<Vec<ScoredToken>> {
        let [n_rows, _] = logits.dims();
        let log_probs = self.log_probs(logits);
        let n_banned = NEVER_GENERATED
            .iter()
            .filter(|id| (**id as usize) < self.vocab_size)
            .count();
        let k = k.min(self.vocab_size - n_banned);
        if k > 0 {
            let (values, ids) = log_probs.clone().topk_with_indices(k, 1);
            let chosen = read_pairs(values, ids).into_iter();
            let valid = chosen.filter(|(log_prob, id)| {
                log_prob.is_finite() && (0..self.vocab_size as i64).contains(id)
            });
            let best: Vec<ScoredToken> = valid
                .map(|(log_prob, id)| ScoredToken {
                    id: id as u32,
                    log_prob,
                })
                .collect();
            let is_in_order = |row: &[ScoredToken]| {
                row.is_sorted_by(|a, b| (b.log_prob, a.id) < (a.log_prob, b.id))
            };
            if best.len() == k * n_rows && best.chunks(k).all(is_in_order) {
                return best.chunks(k).map(<[ScoredToken]>::to_vec).collect();
            }
        }
        let log_probs = read_values(log_probs.into_data());
        let rows = log_probs.chunks(self.vocab_size);
        rows.map(|row| top_k_of_row(row, &LogitSummary::of_log_probs(row), k))
            .collect()
    }

    /// Returns the log-probabilities of the tokens that may be generated, and −∞ for the others.
    ///
    /// # Shapes
    ///
    /// - `logits` and the result: `[batch, vocab]`
    fn log_probs(&self, logits: Tensor<2>) -> Tensor<2> {
        activation::log_softmax(logits, 1) + self.bans.clone()
    }
}

/// Returns the elements of a float tensor, in single precision.
pub(super) fn read_values(data: TensorData) -> Vec<f32> {
    data.try_into_vec_as::<f32>()
        .expect("every float type converts to f32")
}

/// Reads log-probabilities and their token ids with one synchronization.
fn read_pairs(log_probs: Tensor<2>, ids: Tensor<2, Int>) -> Vec<(f32, i64)> {
    let read = Transaction::default()
        .register(log_probs)
        .register(ids)
        .execute();
    let [log_probs, ids] = read.as_slice() else {
        unreachable!("a transaction returns one result per registered tensor");
    };
    log_probs.iter::<f32>().zip(ids.iter::<i64>()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use transformer_core::random::SplitMix64;
    use transformer_core::text::EOS;
    use transformer_core::{cpu, device};

    use super::*;

    const VOCAB_SIZE: usize = 300;

    /// A GPU uses other kernels for two rows than for seventy.
    #[test]
    fn a_device_chooses_the_tokens_that_the_cpu_would_choose() {
        let named = std::env::var("BURN_DEVICE").ok();
        let (_, device) = device::choose(named.as_deref()).expect("tests are built with a backend");
        let top_k = DeviceTopK::new(VOCAB_SIZE, &device);
        // 400 are more than there are.
        for (n_rows, k) in [(2, 1), (1, 8), (2, 32), (70, 8), (2, 400)] {
            let mut generator = SplitMix64::new(k as u64);
            let logit = |_| 8.0 * generator.uniform() as f32;
            let logits: Vec<f32> = (0..n_rows * VOCAB_SIZE).map(logit).collect();
            let mut log_probs = logits.clone();
            cpu::log_softmax(&mut log_probs, VOCAB_SIZE);
            let logits = TensorData::new(logits, [n_rows, VOCAB_SIZE]);
            let found = top_k.top_k(Tensor::from_data(logits, (&device, DType::F32)), k);
            assert_eq!(found.len(), n_rows);
            for (found, row) in found.iter().zip(log_probs.chunks(VOCAB_SIZE)) {
                assert_is_best(found, row, k);
            }
        }
    }

    fn assert_is_best(found: &[ScoredToken], row: &[f32], k: usize) {
        let mut allowed: Vec<f32> = row[EOS as usize..].to_vec();
        allowed.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(found.len(), k.min(allowed.len()), "{found:?}");
        let ids: BTreeSet<u32> = found.iter().map(|best| best.id).collect();
        assert_eq!(ids.len(), found.len(), "{found:?}");
        for (best, expected) in found.iter().zip(allowed) {
            // A GPU may sum in another order each time.
            let near = |log_prob: f32| (log_prob - expected).abs() < 1e-4;
            assert!(best.id >= EOS && near(best.log_prob) && near(row[best.id as usize]));
        }
    }
}
