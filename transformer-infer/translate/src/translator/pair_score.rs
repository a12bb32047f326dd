//! The log-probabilities of given translations (teacher forcing).

use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
use transformer_core::text::{BOS, EOS};
use transformer_core::{Padded, Transformer, TransformerConfig};

use super::Translator;
use crate::TranslatorError;
use crate::batch::{BatchLimits, batches_within};
use crate::scorer::{assert_in_vocabulary, without_autodiff};

/// Number of target positions with logits in memory at the same time.
const POSITIONS_AT_ONCE: usize = 512;

/// The log-probability of each token of a translation, given its source and the previous tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairScore {
    /// The scored tokens: those of the target and EOS, or without EOS if the target was cut.
    pub ids: Vec<u32>,
    /// The log-probability of each token, in nats.
    pub log_probs: Vec<f64>,
    /// Number of source tokens beyond the limit; the model does not read them.
    pub n_src_cut: usize,
    /// Number of target tokens beyond the limit, including EOS; they are not scored.
    pub n_tgt_cut: usize,
}

/// The sum of the scores of many pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalScore {
    /// Number of pairs.
    pub n_pairs: usize,
    /// Number of scored tokens, EOS included.
    pub n_tokens: usize,
    /// Sum of their log-probabilities, in nats.
    pub log_prob: f64,
}

impl PairScore {
    /// Returns the log-probability of the translation, EOS included, in nats.
    pub fn log_prob(&self) -> f64 {
        self.log_probs.iter().sum()
    }
}

impl TotalScore {
    /// Adds the score of a pair.
    pub fn add(&mut self, score: &PairScore) {
        self.n_pairs += 1;
        self.n_tokens += score.log_probs.len();
        self.log_prob += score.log_prob();
    }

    /// Returns the perplexity per token: `exp(−log_prob / n_tokens)`; NaN without tokens.
    pub fn perplexity(&self) -> f64 {
        (-self.log_prob / self.n_tokens as f64).exp()
    }
}

/// Scores pairs of source and target token ids, both without BOS and EOS; returns one score per pair, in order.
///
/// Tokens beyond the limits are cut off and counted; `max_tgt_len` includes EOS, as in a search. An empty side consists
/// of EOS alone. A model in training is scored in the form that [`valid`](burn::module::Module::valid) returns. A score
/// does not depend on the batch, except for rounding: the model computes logits in single precision, and matrix
/// products of another size may add in another order. Everything after the exponentials of the logits is computed in
/// double precision.
///
/// # Panics
///
/// Panics if an id is not in the vocabulary, or if a sequence is longer than the learned positions (see
/// [`BatchLimits::within`]).
///
/// # Example
///
/// ```
/// use transformer_core::{TransformerConfig, device};
/// use transformer_translate::{BatchLimits, score_ids};
///
/// let (_, device) = device::choose(None)?;
/// let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(11, 11) };
/// let model = config.init(&device)?;
/// let limits = BatchLimits::for_model(&config);
/// let scores = score_ids(&model, &[(vec![7, 8], vec![9]), (vec![5], vec![])], &limits);
/// assert_eq!(scores[0].ids, [9, 3]); // EOS is 3
/// assert!(scores[0].log_prob() < 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn score_ids<S: AsRef<[u32]>, T: AsRef<[u32]>>(
    model: &Transformer,
    pairs: &[(S, T)],
    limits: &BatchLimits,
) -> Vec<PairScore> {
    let model = without_autodiff(model);
    let device = model.device();
    let within =
        |(src, tgt): &(S, T)| Pair::within(src.as_ref(), tgt.as_ref(), limits, model.config());
    let pairs: Vec<Pair> = pairs.iter().map(within).collect();
    let embeddings = [model.src_embedding(), model.tgt_embedding()];
    let [src_size, tgt_size] = embeddings.map(|it| it.dims()[0]);
    for pair in &pairs {
        assert_in_vocabulary("source", &pair.src, src_size);
        assert_in_vocabulary("target", &pair.score.ids, tgt_size);
    }
    let mut scores: Vec<PairScore> = pairs.iter().map(|pair| pair.score.clone()).collect();
    for batch in batches(&pairs, limits.batch_tokens) {
        let of_batch: Vec<&Pair> = batch.iter().map(|index| &pairs[*index]).collect();
        let log_probs = score_batch(&model, &of_batch, &device);
        for (index, log_probs) in batch.into_iter().zip(log_probs) {
            scores[index].log_probs = log_probs;
        }
    }
    scores
}

struct Pair {
    /// The source, and EOS if the model reads it.
    src: Vec<u32>,
    /// The decoder's input: BOS and all scored tokens except the last.
    tgt: Vec<u32>,
    /// The score, still without log-probabilities.
    score: PairScore,
}

impl Pair {
    fn within(src: &[u32], tgt: &[u32], limits: &BatchLimits, config: &TransformerConfig) -> Self {
        let mut src_kept = src[..src.len().min(limits.max_src_len)].to_vec();
        let n_src_cut = src.len() - src_kept.len();
        config.end_source(&mut src_kept);
        let mut ids = [tgt, &[EOS]].concat();
        ids.truncate(limits.max_tgt_len.unwrap_or(usize::MAX).max(1));
        Self {
            src: src_kept,
            tgt: [&[BOS], &ids[..ids.len() - 1]].concat(),
            score: PairScore {
                log_probs: Vec::new(),
                n_src_cut,
                n_tgt_cut: tgt.len() + 1 - ids.len(),
                ids,
            },
        }
    }

    fn width(&self) -> usize {
        self.src.len().max(self.tgt.len())
    }
}

/// Batches pairs of similar length, longest first, with at most `n_cells` cells per side.
fn batches(pairs: &[Pair], n_cells: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|index| {
        let pair = &pairs[*index];
        std::cmp::Reverse((pair.width(), pair.src.len() + pair.tgt.len()))
    });
    batches_within(n_cells, order, |index| pairs[index].width())
}

/// Returns the log-probabilities of the tokens of each pair; reads from the device once.
fn score_batch(model: &Transformer, batch: &[&Pair], device: &Device) -> Vec<Vec<f64>> {
    let sources: Vec<&[u32]> = batch.iter().map(|pair| pair.src.as_slice()).collect();
    let targets: Vec<&[u32]> = batch.iter().map(|pair| pair.tgt.as_slice()).collect();
    let targets = Padded::new(&targets, device);
    let [_, tgt_len] = targets.ids().dims();
    // Indices into `[batch * tgt_len]`, without padding.
    let mut positions = Vec::new();
    let mut labels = Vec::new();
    for (row, pair) in batch.iter().enumerate() {
        positions.extend((0..pair.tgt.len()).map(|position| (row * tgt_len + position) as i64));
        labels.extend(pair.score.ids.iter().map(|id| i64::from(*id)));
    }
    let features = model.forward_features(&Padded::new(&sources, device), targets.ids());
    let features: Tensor<2> = features.flatten(0, 1); // [batch * tgt_len, d_model]
    let [_, d_model] = features.dims();
    let to_tensor = |ids: &[i64]| {
        Tensor::<1, Int>::from_data(TensorData::new(ids.to_vec(), [ids.len()]), device)
    };
    let mut parts = Vec::new();
    let labels = labels.chunks(POSITIONS_AT_ONCE);
    for (positions, labels) in positions.chunks(POSITIONS_AT_ONCE).zip(labels) {
        let n_positions = positions.len();
        let features = features.clone().select(0, to_tensor(positions));
        let logits = model.project(features.reshape([1, n_positions, d_model]));
        let [_, _, vocab_size] = logits.dims();
        let logits = logits.reshape([n_positions, vocab_size]);
        let logits = logits.cast(FloatDType::F32);
        let max = logits.clone().max_dim(1); // [positions, 1]
        let sum = (logits.clone() - max.clone()).exp().sum_dim(1);
        let of_labels = logits.gather(1, to_tensor(labels).reshape([n_positions, 1]));
        parts.push(Tensor::cat(vec![of_labels, max, sum], 1)); // [positions, 3]
    }
    let parts: Vec<f64> = Tensor::cat(parts, 0).into_data().iter::<f64>().collect();
    let mut log_probs = parts.as_chunks().0.iter().map(log_prob);
    let of_pair = |pair: &&Pair| log_probs.by_ref().take(pair.score.ids.len()).collect();
    batch.iter().map(of_pair).collect()
}

/// Returns the log-probability of a label from its logit, the maximum of the logits, and `Σ exp(logit − max)`. It is
/// computed in double precision: single precision would round the result once more for each token.
fn log_prob([logit, max, sum]: &[f64; 3]) -> f64 {
    (logit - max) - sum.ln()
}

impl Translator {
    /// Scores pairs of a line and its translation, and returns one score per pair, in order.
    ///
    /// Lines are tokenized as for training; a blank line becomes EOS alone. Tokens beyond the limits are cut off, and
    /// counted in the score. The first model of an ensemble scores. The token of the target language is not scored.
    ///
    /// # Errors
    ///
    /// Returns [`TranslatorError::NotANumber`] if the model computes NaN, and [`TranslatorError::Direction`] if a
    /// multilingual model was given no languages.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use transformer_core::device;
    /// use transformer_translate::Translator;
    ///
    /// let (_, device) = device::choose(None)?;
    /// let translator = Translator::open("runs/numbers", &device)?;
    /// let scores = translator.score(&[("one million and seven", "1000007")])?;
    /// println!("{:.4} nats", scores[0].log_prob());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn score<S: AsRef<str>, T: AsRef<str>>(
        &self,
        pairs: &[(S, T)],
    ) -> Result<Vec<PairScore>, TranslatorError> {
        let texts = pairs.iter().map(|(src, tgt)| (src.as_ref(), tgt.as_ref()));
        let texts = texts.map(|(src, tgt)| (without_blank(src), without_blank(tgt)));
        let (sources, targets): (Vec<&str>, Vec<&str>) = texts.unzip();
        let direction = self.direction_of(None)?;
        let sources = self.tokenizers.src().encode_all(&sources);
        let targets = self.tokenizers.tgt().encode_all(&targets);
        let ids = sources.into_iter().zip(targets).map(|(mut src, mut tgt)| {
            direction.mark(&mut src, self.limits.max_src_len);
            tgt.splice(0..0, direction.first());
            (src, tgt)
        });
        let ids: Vec<_> = ids.collect();
        let mut scores = score_ids(self.model()?, &ids, &self.limits);
        if direction.first().is_some() {
            for score in &mut scores {
                score.ids.remove(0);
                score.log_probs.remove(0);
            }
        }
        let is_broken = |score: &PairScore| score.log_probs.iter().any(|it| it.is_nan());
        match scores.iter().position(is_broken) {
            Some(index) => Err(TranslatorError::NotANumber {
                line: index + 1,
                origin: self.origin,
            }),
            None => Ok(scores),
        }
    }
}

/// Returns the line, or `""` if it is blank: a tokenizer may have tokens for spaces.
fn without_blank(line: &str) -> &str {
    if line.trim().is_empty() { "" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_beyond_the_limits_are_counted_and_a_cut_target_has_no_eos() {
        let limits = BatchLimits {
            max_src_len: 2,
            max_tgt_len: Some(3),
            ..BatchLimits::default()
        };
        let config = TransformerConfig::tiny(20, 20);
        let cut = Pair::within(&[5, 6, 7], &[8, 9, 10, 11], &limits, &config);
        assert_eq!((cut.src, cut.tgt), (vec![5, 6, EOS], vec![BOS, 8, 9]));
        assert_eq!(cut.score.ids, [8, 9, 10]);
        assert_eq!((cut.score.n_src_cut, cut.score.n_tgt_cut), (1, 2));
        let whole = Pair::within(&[5, 6], &[8, 9], &limits, &config);
        assert_eq!(whole.score.ids, [8, 9, EOS]);
        assert_eq!((whole.score.n_src_cut, whole.score.n_tgt_cut), (0, 0));
    }

    #[test]
    fn a_model_that_reads_no_eos_gets_one_only_for_an_empty_source() {
        let config = TransformerConfig {
            src_without_eos: true,
            ..TransformerConfig::tiny(20, 20)
        };
        let src = |ids: &[u32]| Pair::within(ids, &[8], &BatchLimits::default(), &config).src;
        assert_eq!((src(&[5, 6]), src(&[])), (vec![5, 6], vec![EOS]));
    }

    #[test]
    fn a_log_probability_is_computed_in_double_precision() {
        let logits = [0.123_456_7_f32, 1000.25, -3.5].map(f64::from);
        let sum: f64 = logits.iter().map(|it| (it - logits[1]).exp()).sum();
        let expected = logits[0] - logits[1] - sum.ln();
        let found = log_prob(&[logits[0], logits[1], sum]);
        assert!((found - expected).abs() < 1e-12);
        // Single precision would lose the part that the rounding of the difference leaves out.
        assert_ne!(found, f64::from(found as f32));
    }

    #[test]
    fn perplexity_is_per_token_and_not_per_pair() {
        let mut total = TotalScore::default();
        for log_probs in [vec![-1.0], vec![-2.0, -3.0, -6.0]] {
            total.add(&PairScore {
                log_probs,
                ..PairScore::default()
            });
        }
        // Twelve nats over four tokens.
        assert!((total.perplexity() - 3.0_f64.exp()).abs() < 1e-12);
        assert_eq!((total.n_pairs, total.n_tokens), (2, 4));
    }
}
