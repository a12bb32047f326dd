//! The likeliest tokens of rows of logits, in CPU memory or in that of a GPU, from which only the chosen ones are copied.

use burn::tensor::{DType, Device, Int, Tensor, TensorData, Transaction, activation};
use transformer_core::cpu::{LogitSummary, summarize_logits};
use transformer_search::{NEVER_GENERATED, ScoredToken, log_prob_without};

/// Returns the `k` likeliest tokens of a row in the order of `NextToken::top_k`, given its logits and their summary.
pub(crate) fn top_k_of_row(logits: &[f32], summary: &LogitSummary, k: usize) -> Vec<ScoredToken> {
    let mut best: Vec<ScoredToken> = Vec::with_capacity(k.min(logits.len()) + 1);
    if k == 0 {
        return best;
    }
    // The log-probability that a token has to exceed.
    let mut threshold = f32::NEG_INFINITY;
    let n_largest = k.saturating_add(NEVER_GENERATED.len());
    for (first, chunk) in summary.chunks_with_largest(logits, n_largest) {
        for (id, logit) in (first as u32..).zip(chunk) {
            let log_prob = summary.log_prob(*logit);
            if log_prob > threshold && log_prob.is_finite() && !NEVER_GENERATED.contains(&id) {
                let index = best.partition_point(|other| other.log_prob >= log_prob);
                best.insert(index, ScoredToken { id, log_prob });
                best.truncate(k);
                if best.len() == k {
                    threshold = best.last().map_or(f32::INFINITY, |last| last.log_prob);
                }
            }
        }
    }
    best
}

/// Returns the `k` likeliest tokens of each row, and the last element of `NextToken::top_k`.
pub(super) fn top_k_of_rows(
    logits: &[f32],
    vocab_size: usize,
    k: usize,
    without: Option<&[u32]>,
) -> Vec<Vec<ScoredToken>> {
    let summaries = summarize_logits(logits, vocab_size);
    let rows = logits.chunks(vocab_size).zip(&summaries);
    let rows = rows.map(|(row, summary)| {
        let log_probs = row.iter().map(|logit| summary.log_prob(*logit));
        let allowed = without.map(|without| ScoredToken {
            id: 0,
            log_prob: log_prob_without(&log_probs, without),
        });
        let mut best = top_k_of_row(row, summary, k);
        best.extend(allowed);
        best
    });
    rows.collect()
}

/// Maximum number of tokens per row that a device chooses: CubeCL's kernel (cubek-reduce 0.3.1) keeps no more.
pub(super) const MAX_TOP_K: usize = 32;

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

    /// Returns the `k` likeliest tokens of each row of `logits`, `[batch, vocab]`, the likeliest first. If `k` is more
    /// than 1, the result of the device is checked before it is used. CubeCL's kernel starts from ids that do not exist,
    /// and leaves them where it finds no finite value, or where it is wrong
    /// (<https://github.com/tracel-ai/cubek/issues/422>). The CPU then chooses from all log-probabilities.
    pub(super) fn top_k(&self, logits: Tensor<2>, k: usize) -> Vec<Vec<ScoredToken>> {
        let [n_rows, _] = logits.dims();
        let log_probs = self.log_probs(logits);
        let is_in_vocabulary = |id: &&u32| (**id as usize) < self.vocab_size;
        let n_banned = NEVER_GENERATED.iter().filter(is_in_vocabulary).count();
        let k = k.min(self.vocab_size - n_banned);
        if k == 1 {
            let (values, ids) = log_probs.max_dim_with_indices(1);
            let best = read_pairs(values, ids).into_iter().map(scored);
            return best
                .map(|best| Vec::from_iter(best.log_prob.is_finite().then_some(best)))
                .collect();
        }
        if k > 0 {
            let (values, ids) = log_probs.clone().topk_with_indices(k, 1);
            let chosen = read_pairs(values, ids).into_iter();
            let valid = chosen.filter(|(log_prob, id)| {
                log_prob.is_finite() && (0..self.vocab_size as i64).contains(id)
            });
            let best: Vec<ScoredToken> = valid.map(scored).collect();
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

    /// Returns the log-probabilities, `[batch, vocab]`, of the tokens that may be generated, and −∞ for the others.
    fn log_probs(&self, logits: Tensor<2>) -> Tensor<2> {
        activation::log_softmax(logits, 1) + self.bans.clone()
    }
}

fn scored((log_prob, id): (f32, i64)) -> ScoredToken {
    let id = id as u32;
    ScoredToken { id, log_prob }
}

/// Returns the elements of a float tensor, in single precision.
pub(super) fn read_values(data: TensorData) -> Vec<f32> {
    data.try_into_vec_as::<f32>()
        .expect("every float type converts to f32")
}

/// Reads log-probabilities and their token ids with one synchronization.
fn read_pairs(log_probs: Tensor<2>, ids: Tensor<2, Int>) -> Vec<(f32, i64)> {
    let [log_probs, ids] = read_two(Transaction::default().register(log_probs).register(ids));
    log_probs.iter::<f32>().zip(ids.iter::<i64>()).collect()
}

/// Reads two tensors at once.
pub(super) fn read_two(tensors: Transaction) -> [TensorData; 2] {
    let read: Result<[TensorData; 2], _> = tensors.execute().try_into();
    read.expect("a transaction returns one result per registered tensor")
}

#[cfg(test)]
mod tests {
    use transformer_core::text::EOS;

    use super::*;

    #[test]
    fn the_likeliest_tokens_are_in_order_and_finite() {
        let row = [
            0.0,
            0.0,
            0.0,
            -3.0,
            -2.0,
            f32::NAN,
            -1.0,
            -2.0,
            f32::NEG_INFINITY,
        ];
        let ids = |k: usize| -> Vec<u32> {
            let best = top_k_of_row(&row, &LogitSummary::of_log_probs(&row), k);
            best.iter().map(|best| best.id).collect()
        };
        assert!(ids(0).is_empty());
        assert_eq!(ids(2), [6, 4]);
        assert_eq!(ids(9), [6, 4, 7, 3]);
    }

    proptest::proptest! {
        #[test]
        fn the_likeliest_tokens_are_the_first_of_the_sorted_vocabulary(
            // Few values, so that some are equal.
            row in proptest::collection::vec(-40_i8..0, 1..1000), k in 0_usize..12,
        ) {
            let logits: Vec<f32> = row.iter().copied().map(f32::from).collect();
            let mut ids: Vec<u32> = (EOS..row.len() as u32).collect();
            ids.sort_by_key(|id| -row[*id as usize]);
            ids.truncate(k);
            let found = top_k_of_row(&logits, &LogitSummary::of_log_probs(&logits), k);
            proptest::prop_assert_eq!(found.iter().map(|best| best.id).collect::<Vec<_>>(), ids);
            let of = |id: u32| f32::from(row[id as usize]);
            proptest::prop_assert!(found.iter().all(|best| best.log_prob == of(best.id)));
        }
    }
}

#[cfg(test)]
mod device_tests {
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
