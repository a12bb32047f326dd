//! How likely a model finds translations that it did not make itself (teacher forcing).

use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData, activation};
use transformer_core::text::{BOS, EOS};
use transformer_core::{Padded, Transformer};

use crate::batch::{BatchLimits, batches_within};
use crate::scorer::{assert_in_vocabulary, without_autodiff};
use crate::translator::{Translator, TranslatorError};

/// Number of places whose logits are in memory at once.
const PLACES_AT_ONCE: usize = 512;

/// Holds how likely a model finds each token of a translation, given its source and the tokens before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairScore {
    /// The tokens scored: those of the target and EOS. Without EOS if the target was cut.
    pub ids: Vec<u32>,
    /// The log-probability of each, in nats.
    pub log_probs: Vec<f64>,
    /// Source tokens beyond the limit, which the model did not see.
    pub n_src_cut: usize,
    /// Target tokens beyond the limit, which are not scored; EOS is one of them.
    pub n_tgt_cut: usize,
}

/// Adds up the scores of many pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalScore {
    /// Pairs added.
    pub n_pairs: usize,
    /// Tokens scored, EOS included.
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
    /// Adds a pair.
    pub fn add(&mut self, score: &PairScore) {
        self.n_pairs += 1;
        self.n_tokens += score.log_probs.len();
        self.log_prob += score.log_prob();
    }

    /// Returns the perplexity per token: `exp(−log_prob / n_tokens)`; NaN of nothing.
    pub fn perplexity(&self) -> f64 {
        (-self.log_prob / self.n_tokens as f64).exp()
    }
}

/// Scores pairs of token ids, source and target, both without BOS and EOS; results in the order given.
///
/// What is beyond the limits is cut off and counted: `max_tgt_len` includes EOS, as in a search. An empty
/// side is scored as the model sees it, which is EOS alone. A model in training is taken out of training
/// for the time. A pair has the same score in any batch, up to the rounding of matrix products.
///
/// # Panics
///
/// Panics if an id is not in the vocabulary, or if learned positions run out (see
/// [`BatchLimits::within`]).
///
/// # Example
///
/// ```
/// use transformer_core::{TransformerConfig, device};
/// use transformer_infer::{BatchLimits, score_ids};
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
    let device = model.output_weight().device();
    let pairs: Vec<Pair> = pairs
        .iter()
        .map(|(src, tgt)| Pair::within(src.as_ref(), tgt.as_ref(), limits))
        .collect();
    let [src_size, tgt_size] =
        [model.src_embedding(), model.tgt_embedding()].map(|it| it.dims()[0]);
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

/// Holds what the model reads of a pair.
struct Pair {
    /// The source, and EOS.
    src: Vec<u32>,
    /// BOS, and the target: a token before each one that is scored.
    tgt: Vec<u32>,
    /// The score, as yet without numbers.
    score: PairScore,
}

impl Pair {
    fn within(src: &[u32], tgt: &[u32], limits: &BatchLimits) -> Self {
        let src_kept = &src[..src.len().min(limits.max_src_len)];
        let mut ids = [tgt, &[EOS]].concat();
        ids.truncate(limits.max_tgt_len.unwrap_or(usize::MAX).max(1));
        Self {
            src: [src_kept, &[EOS]].concat(),
            tgt: [&[BOS], &ids[..ids.len() - 1]].concat(),
            score: PairScore {
                log_probs: Vec::new(),
                n_src_cut: src.len() - src_kept.len(),
                n_tgt_cut: tgt.len() + 1 - ids.len(),
                ids,
            },
        }
    }

    /// Returns the number of cells of the longer side.
    fn width(&self) -> usize {
        self.src.len().max(self.tgt.len())
    }
}

/// Groups pairs of like length, the longest first, with at most `n_cells` cells a side in a group.
fn batches(pairs: &[Pair], n_cells: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|index| {
        let pair = &pairs[*index];
        std::cmp::Reverse((pair.width(), pair.src.len() + pair.tgt.len()))
    });
    batches_within(n_cells, order, |index| pairs[index].width())
}

/// Returns the log-probabilities of the tokens of each pair, with one read from the device.
fn score_batch(model: &Transformer, batch: &[&Pair], device: &Device) -> Vec<Vec<f64>> {
    let sources: Vec<&[u32]> = batch.iter().map(|pair| pair.src.as_slice()).collect();
    let targets: Vec<&[u32]> = batch.iter().map(|pair| pair.tgt.as_slice()).collect();
    let targets = Padded::new(&targets, device);
    let [_, tgt_len] = targets.ids().dims();
    let mut places = Vec::new();
    let mut labels = Vec::new();
    for (row, pair) in batch.iter().enumerate() {
        places.extend((0..pair.tgt.len()).map(|place| (row * tgt_len + place) as i64));
        labels.extend(pair.score.ids.iter().map(|id| i64::from(*id)));
    }
    let features = model.forward_features(&Padded::new(&sources, device), targets.ids());
    let features: Tensor<2> = features.flatten(0, 1); // [batch * tgt_len, d_model]
    let [_, d_model] = features.dims();
    let some = |ids: &[i64]| {
        Tensor::<1, Int>::from_data(TensorData::new(ids.to_vec(), [ids.len()]), device)
    };
    let mut log_probs = Vec::new();
    for (places, labels) in places
        .chunks(PLACES_AT_ONCE)
        .zip(labels.chunks(PLACES_AT_ONCE))
    {
        let n_places = places.len();
        let features = features.clone().select(0, some(places));
        let logits = model.project(features.reshape([1, n_places, d_model]));
        let [_, _, vocab_size] = logits.dims();
        let logits = logits.reshape([n_places, vocab_size]).cast(FloatDType::F32);
        let of_all = activation::log_softmax(logits, 1);
        let of_labels = of_all.gather(1, some(labels).reshape([n_places, 1]));
        log_probs.push(of_labels.reshape([n_places]));
    }
    let log_probs = Tensor::cat(log_probs, 0).into_data();
    let mut log_probs = log_probs.iter::<f64>();
    let of_pair = |pair: &&Pair| log_probs.by_ref().take(pair.score.ids.len()).collect();
    batch.iter().map(of_pair).collect()
}

impl Translator {
    /// Scores pairs of a line and its translation, and returns as many scores in the same order.
    ///
    /// Lines are tokenized as for training; of a line of whitespace the model sees EOS alone. What is
    /// beyond the limits is cut off, and counted in the score. Of several models the first one scores.
    ///
    /// # Errors
    ///
    /// Returns [`TranslatorError::NotANumber`] if the model computes NaN.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use transformer_core::device;
    /// use transformer_infer::Translator;
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
        let sources: Vec<&str> = pairs.iter().map(|(src, _)| visible(src.as_ref())).collect();
        let targets: Vec<&str> = pairs.iter().map(|(_, tgt)| visible(tgt.as_ref())).collect();
        let sources = self.tokenizers.src().encode_all(&sources);
        let targets = self.tokenizers.tgt().encode_all(&targets);
        let ids: Vec<_> = sources.into_iter().zip(targets).collect();
        let scores = score_ids(&self.model, &ids, &self.limits);
        let broken = scores
            .iter()
            .position(|score| score.log_probs.iter().any(|it| it.is_nan()));
        match broken {
            Some(index) => Err(TranslatorError::NotANumber { line: index + 1 }),
            None => Ok(scores),
        }
    }
}

/// Returns the line, or nothing if it is blank: a tokenizer may spell spaces.
fn visible(line: &str) -> &str {
    if line.trim().is_empty() { "" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limits_is_counted_and_a_cut_target_has_no_eos() {
        let limits = BatchLimits {
            max_src_len: 2,
            max_tgt_len: Some(3),
            ..BatchLimits::default()
        };
        let cut = Pair::within(&[5, 6, 7], &[8, 9, 10, 11], &limits);
        assert_eq!((cut.src, cut.tgt), (vec![5, 6, EOS], vec![BOS, 8, 9]));
        assert_eq!(cut.score.ids, [8, 9, 10]);
        assert_eq!((cut.score.n_src_cut, cut.score.n_tgt_cut), (1, 2));
        let whole = Pair::within(&[5, 6], &[8, 9], &limits);
        assert_eq!(whole.score.ids, [8, 9, EOS]);
        assert_eq!((whole.score.n_src_cut, whole.score.n_tgt_cut), (0, 0));
    }

    #[test]
    fn perplexity_is_of_tokens_and_not_of_pairs() {
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
